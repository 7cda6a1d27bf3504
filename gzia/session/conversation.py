"""A live session: it gives turns to an agent, writes down everything in order, and answers the agent's questions.

Nothing here waits for a reader.  What the agent does goes into the journal as it arrives; editors, terminals and
scripts read the journal by cursor.  Lines are written before the frames that they announce leave.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from gzia.driver.agent import Agent, AgentFacts, Listener
from gzia.driver.observation import (
    Heard,
    Lost,
    Notice,
    PromptObservation,
    Question,
    QuestionWithdrawn,
    Sequencer,
    UpdateObservation,
)
from gzia.driver.turn import Block, PermissionLevel, Turn
from gzia.errors import GziaError
from gzia.session import lines, policy
from gzia.session.books import Books
from gzia.session.journal import Draft, Journal, draft
from gzia.session.permissions import Permissions
from gzia.session.turns import Running, TurnEnd

INTERRUPT = 10.0  # seconds that an agent has to answer a cancel before it is ended
METHOD_NOT_FOUND, INVALID_REQUEST = -32601, -32600

Start = Callable[[Listener, str], Awaitable[Agent]]  # (who hears it, agent conversation to go on with) -> started agent


class ClientCall:
    """A call of the agent that a client of the session may take: a file, a terminal.  Answer it once."""

    def __init__(self, agent: Agent | None, question: Question) -> None:
        self.method = question.method
        self.params = question.params
        self._agent = agent
        self._key = question.key

    def give(self, result: Any) -> None:
        """The result."""
        if self._agent:
            self._agent.reply(self._key, result)

    def deny(self, code: int, message: str) -> None:
        """A JSON-RPC error."""
        if self._agent:
            self._agent.refuse(self._key, code, message)


class Conversation:
    """One session's agent, its turns and its journal.  Use :meth:`open` first and :meth:`close` last."""

    def __init__(self, journal: Journal, books: Books, level: PermissionLevel, start: Start) -> None:
        self.journal = journal
        self.facts = AgentFacts("")
        self.permissions = Permissions(level, self._reply, books.permission)
        self.forward: Callable[[ClientCall], bool] | None = None  # takes the agent's file and terminal calls
        self._books = books
        self._start = start
        self._agent: Agent | None = None
        self._queue: deque[Running] = deque()
        self._current: Running | None = None
        self._worker: asyncio.Task[None] | None = None
        self._sequencer = Sequencer()
        self._connection = 0
        self._turns = books.turns
        self.closed = False

    # -- opening and closing -----------------------------------------------------------------------------------------

    async def open(self, resume: str = "") -> AgentFacts:
        """Start the agent; with ``resume``, on its own conversation of that id.  Raises GziaError."""
        self._connection += 1
        self._sequencer = Sequencer()
        self._agent = await self._start(self, resume)
        self.facts = self._agent.facts
        # The record's essentials stand in the journal too, so that a damaged record can be made from it again.
        self._write(
            [draft("session", None, {"state": "agent-started", "record": self._books.agent_started(self.facts)})]
        )
        return self.facts

    async def close(self) -> None:
        """End the agent and everything it started, and finish the record.  May be called twice."""
        if self.closed:
            return
        self.closed = True
        for turn in self._unended():
            turn.cancelled = True
        self._write(self.permissions.all_settled("closed"))
        self.permissions.deliver()
        if self._agent:
            await self._agent.close()
        if self._worker:
            await self._worker
        self._write([draft("session", None, {"state": "closed", "record": self._books.closed()})])
        self.journal.close()

    # -- what a client does ------------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """Whether a turn is running or waiting."""
        return self._current is not None or bool(self._queue)

    def _unended(self) -> list[Running]:
        return [*([self._current] if self._current else []), *self._queue]

    def prompt(self, blocks: Sequence[Block]) -> asyncio.Future[TurnEnd]:
        """Accept a turn.  It runs after those accepted before; the future holds its end, also when it failed."""
        self._turns += 1
        turn = Running(self._turns, tuple(blocks), asyncio.get_running_loop().create_future())
        self._write([draft("input", turn.number, {"input": "prompt", "blocks": list(blocks)})])
        self._queue.append(turn)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return turn.ended

    def cancel(self) -> None:
        """Stop the running turn and drop those that wait; each of them ends ``cancelled``.  Harmless when idle."""
        turns = self._unended()
        if not turns:
            return
        for turn in turns:
            turn.cancelled = True
        self._write([draft("input", turns[0].number, {"input": "cancel"}), *self.permissions.all_settled("cancel")])
        self.permissions.deliver()
        if self._current and self._agent:
            self._agent.cancel()
            asyncio.get_running_loop().call_later(INTERRUPT, self._insist, self._current)

    def answer(self, permission_id: str, outcome: dict[str, Any], by: str) -> None:
        """A person's answer to an open permission (an ACP outcome).  An answer that comes too late is dropped."""
        one = self.permissions.open.get(permission_id)
        if one is None:
            return
        offered = [option.get("optionId") for option in one.options if isinstance(option, dict)]
        if outcome.get("outcome") == "selected" and outcome.get("optionId") not in offered:
            outcome = policy.CANCELLED
        self._write(self.permissions.settled(permission_id, outcome, by))
        self.permissions.deliver()

    def nobody_left(self) -> None:
        """The last client that could answer questions is gone: the open ones are answered with ``cancelled``."""
        self._write(self.permissions.all_settled("no client"))
        self.permissions.deliver()

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """Pass a request of the agent's protocol on, for example ``session/set_mode``."""
        if self._agent is None:
            raise GziaError("agent-gone", "The agent of this session is not running.")
        return await self._agent.call(method, {**params, "sessionId": self.facts.agent_session_id})

    def agent_options(self, config_options: Sequence[dict[str, Any]]) -> None:
        """The agent's config options changed to these."""
        self.facts = replace(self.facts, config_options=tuple(config_options))

    # -- the turns ---------------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while self._queue:
            turn = self._current = self._queue.popleft()
            try:
                await self._run(turn)
            except GziaError as error:
                self._end(turn, PromptObservation("", {}, False, 0, self._sequencer.local(), error))
            await asyncio.wait([turn.ended])

    async def _run(self, turn: Running) -> None:
        if self.closed:
            raise GziaError("session-closed", "The session was closed before this turn began.")
        if turn.cancelled:
            self._end(turn, PromptObservation("cancelled", {}, False, 0, self._sequencer.local()))
            return
        if self._agent is None:
            await self.open(self._resumable())
        self._books.turn_started(turn.number)
        assert self._agent
        self.permissions.refused = []
        self._agent.prompt(Turn(turn.number, turn.blocks))

    def _resumable(self) -> str:
        if not self.facts.agent_session_id:
            return ""
        if not (self.facts.capabilities.get("loadSession") or can_resume(self.facts.capabilities)):
            raise GziaError(
                "agent-gone", "The agent ended, and it cannot go on with a conversation of an earlier process.",
                "start a new session",
            )  # fmt: skip
        return self.facts.agent_session_id

    def _insist(self, turn: Running) -> None:
        if self._current is turn and self._agent and not turn.ended.done():
            task = asyncio.create_task(self._agent.close())
            turn.ended.add_done_callback(lambda _: task)  # holds the task until the turn is over

    # -- what the agent does -----------------------------------------------------------------------------------------

    def heard(self, batch: Sequence[Heard]) -> None:
        """Take what the agent did, in order (see gzia.driver.agent.Listener)."""
        drafts: list[Draft] = []
        endings: list[tuple[Running, PromptObservation]] = []
        turn = self._current
        for item in batch:
            if type(item) is UpdateObservation:
                drafts.append(lines.update(item, turn.number if turn else None, self._connection))
                if turn:
                    turn.saw(item.event)
                self._books.saw(item)
            elif isinstance(item, PromptObservation):
                if turn:
                    drafts += self._ending(turn, item)
                    endings.append((turn, item))
                    turn = None
            elif isinstance(item, Question):
                drafts += self._asked(item, turn)
            elif isinstance(item, QuestionWithdrawn):
                drafts += self.permissions.withdrawn(item.key)
            elif isinstance(item, Notice):
                drafts.append(lines.notice(item, turn.number if turn else None, self._connection))
            else:
                endings += self._lost(item, turn, drafts)
                turn = None
        if self._write(drafts):
            self.permissions.deliver()
        for ended, observation in endings:
            self._settle(ended, observation)

    def _asked(self, question: Question, turn: Running | None) -> list[Draft]:
        if question.method == "session/request_permission":
            call = question.params.get("toolCall", {})
            known = turn.open_tools.get(call.get("toolCallId"), {}) if turn else {}
            kind = call.get("kind") or known.get("tool_kind")
            return self.permissions.asked(question, turn.number if turn else None, kind)
        call = ClientCall(self._agent, question)
        if self.permissions.level is PermissionLevel.READONLY and question.method in policy.WRITES:
            self.permissions.refused.append(question.method)
            call.deny(INVALID_REQUEST, "this session is read-only")
        elif self.forward is None or not self.forward(call):
            call.deny(METHOD_NOT_FOUND, f"this client does not offer {question.method}")
        return []

    def _lost(self, lost: Lost, turn: Running | None, drafts: list[Draft]) -> list[tuple[Running, PromptObservation]]:
        self._agent = None
        drafts += self.permissions.all_settled("agent gone")
        if not self.closed:
            number = turn.number if turn else None
            drafts.append(draft("session", number, {"state": "agent-gone", **lines.problem(lost.error)}))
        if turn is None:
            return []
        stop, error = ("cancelled", None) if turn.cancelled else ("", lost.error)
        observation = PromptObservation(stop, {}, True, 0, self._sequencer.local(), error)
        drafts += self._ending(turn, observation)
        return [(turn, observation)]

    # -- the end of a turn -------------------------------------------------------------------------------------------

    def _ending(self, turn: Running, observation: PromptObservation) -> list[Draft]:
        """The lines that close a turn: its open questions, the tool calls it left open, then the prompt line."""
        drafts = self.permissions.all_settled("turn ended")
        if observation.stop_reason == "cancelled" or turn.cancelled or observation.error:
            drafts += [lines.tool_closed(id, turn.number, self._sequencer) for id in turn.open_tools]
            turn.open_tools.clear()
        return [*drafts, lines.prompt(turn, observation, stop_reason_of(turn, observation))]

    def _end(self, turn: Running, observation: PromptObservation) -> None:
        self._write(self._ending(turn, observation))
        self._settle(turn, observation)

    def _settle(self, turn: Running, observation: PromptObservation) -> None:
        self._current = None
        reason = stop_reason_of(turn, observation)
        error = None if reason == "cancelled" else observation.error
        end = TurnEnd(turn.number, reason, turn.message, tuple(self.permissions.refused), error, observation.result)
        self._books.turn_ended(end)
        if self._books.problem and not error:
            end = end._replace(error=self._books.problem)
        if not turn.ended.done():
            turn.ended.set_result(end)

    # -- writing -----------------------------------------------------------------------------------------------------

    def _reply(self, key: Any, result: Any) -> None:
        if self._agent:
            self._agent.reply(key, result)

    def _write(self, drafts: list[Draft]) -> bool:
        """Append to the journal.  When the disk refuses, the turn is cancelled and its end tells the reason."""
        try:
            self.journal.write(drafts)
        except GziaError as error:
            self._journal_lost(error)
            return False
        return True

    def _journal_lost(self, error: GziaError) -> None:
        turn = self._current
        if self._agent:
            self._agent.cancel()
            self._agent.stop_reading()
        if turn and not turn.ended.done():
            turn.ended.set_result(TurnEnd(turn.number, "", turn.message, tuple(self.permissions.refused), error))
        self._current = None


def stop_reason_of(turn: Running, observation: PromptObservation) -> str:
    """What is told: some agents answer ``end_turn`` or an error to a turn that was stopped before its answer came."""
    return "cancelled" if turn.cancelled else observation.stop_reason


def can_resume(capabilities: dict[str, Any]) -> bool:
    """Whether the agent offers ``session/resume``."""
    offered = capabilities.get("sessionCapabilities")
    return isinstance(offered, dict) and offered.get("resume") is not None
