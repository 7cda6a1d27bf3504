"""A live session: it gives turns to an agent, writes down everything in order, and answers the agent's questions.

Nothing here waits for a reader.  What the agent does goes into the journal as it arrives; editors, terminals and
scripts read the journal by cursor.  Lines are written before the frames that they announce leave; where a line cannot
be written, its frame does not leave.
"""

from __future__ import annotations

import asyncio
import json
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
    Unreadable,
    UpdateObservation,
)
from gzia.driver.turn import Block, PermissionLevel, Turn
from gzia.errors import GziaError
from gzia.session import lines, policy
from gzia.session.books import GIVEN_UP, Books
from gzia.session.calls import Calls
from gzia.session.journal import Draft, Journal, draft
from gzia.session.permissions import Permissions
from gzia.session.turns import Running, TurnEnd
from gzia.system.tasks import told

INTERRUPT = 10.0  # seconds that an agent has to answer a cancel before it is ended

Start = Callable[[Listener, str], Awaitable[Agent]]  # (who hears it, agent conversation to go on with) -> started agent


class Ear:
    """Listens to one process of the agent; what an earlier one still says is not heard any more."""

    def __init__(self, conversation: Conversation, connection: int) -> None:
        self._conversation = conversation
        self._connection = connection

    def heard(self, batch: Sequence[Heard]) -> None:
        """See gzia.driver.agent.Listener."""
        if self._connection == self._conversation.connection:
            self._conversation.heard(batch)


class Conversation:
    """One session's agent, its turns and its journal.  Use :meth:`open` first and :meth:`close` last."""

    def __init__(self, journal: Journal, books: Books, level: PermissionLevel, start: Start) -> None:
        self.journal = journal
        self.facts = AgentFacts("")
        self.permissions = Permissions(level, self._reply, books.permission)
        self.calls = Calls(level)
        self.connection = 0  # counts the agent's processes
        self._books = books
        self._start = start
        self._agent: Agent | None = None
        self._gone = GziaError("agent-gone", "The agent of this session is not running.", "open a new session")
        self._queue: deque[Running] = deque()
        self._current: Running | None = None
        self._worker: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[AgentFacts] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._given_up: set[asyncio.Task[int]] = set()  # agents that are being ended
        self._sequencer = Sequencer()
        self._turns = books.turns

    @property
    def was_prompted(self) -> bool:
        """Whether the session has ever had a turn."""
        return self._turns > 0

    # -- opening and closing -----------------------------------------------------------------------------------------

    async def open(self, resume: str = "") -> AgentFacts:
        """Start the agent; with ``resume``, on its own conversation of that id.  Raises GziaError."""
        self.connection += 1
        self._sequencer = Sequencer()
        agent = await self._start(Ear(self, self.connection), resume)
        self._agent, self.facts = agent, agent.facts
        # The record's essentials stand in the journal too, so that a damaged record can be made from it again.
        record = self._books.agent_started(self.facts)
        self._write([draft("session", None, {"state": "agent-started", "record": record})])
        return self.facts

    def failed(self, error: BaseException) -> None:
        """The agent could not be started."""
        self._books.failed(error.message if isinstance(error, GziaError) else GIVEN_UP)

    async def close(self) -> None:
        """End the agent and everything it started, and finish the record.  May be called twice."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._stop_turns()
        self._write(self.permissions.all_settled("closed"))
        if self._agent:
            await self._agent.close()
        if self._worker:
            await asyncio.wait([self._worker])
        await asyncio.gather(*self._given_up)
        self._write([draft("session", None, {"state": "closed", "record": self._books.closed()})])
        self.journal.close()

    # -- what a client does ------------------------------------------------------------------------------------------

    def prompt(self, blocks: Sequence[Block]) -> asyncio.Future[TurnEnd]:
        """Accept a turn; GziaError when it cannot be written down.

        It runs after those accepted before.  The future holds its end, also when it failed; it may be cancelled.
        """
        if self._closing:
            raise GziaError("session-closed", "This session is being closed.", "open a new session")
        number = self._turns + 1
        asked = draft("input", number, {"input": "prompt", "blocks": list(blocks)})
        self.journal.write([asked], durable=True)
        self._turns = number
        turn = Running(number, tuple(blocks), asyncio.get_running_loop().create_future())
        self._queue.append(turn)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
            self._worker.add_done_callback(told)
        return asyncio.shield(turn.ended)

    def cancel(self, why: str = "cancelled") -> None:
        """Stop the running turn and drop those that wait; each of them ends ``cancelled``.  Harmless when idle.

        The record keeps ``why``.
        """
        turns = self._stop_turns()
        for turn in turns:
            turn.why = why
        if not turns:
            return
        cancelled = draft("input", turns[0].number, {"input": "cancel"})
        if self._write([cancelled, *self.permissions.all_settled("cancel")]) or not self._agent:
            return
        if self._current and self._current.was_sent:
            self._agent.cancel()
            asyncio.get_running_loop().call_later(INTERRUPT, self._insist, self._current)

    def answer(self, permission_id: str, outcome: dict[str, Any], by: str) -> None:
        """A person's answer to an open permission (an ACP outcome).  An answer that comes too late is dropped."""
        self._write(self.permissions.answered(permission_id, outcome, by))

    def nobody_left(self) -> None:
        """The last client that could answer questions is gone: the open ones are answered with ``cancelled``."""
        self.permissions.answerers = 0
        self._write(self.permissions.all_settled(policy.NOBODY))

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """Pass a request of the agent's protocol on, for example ``session/set_mode``."""
        if self._agent is None:
            raise self._gone
        return await self._agent.call(method, {**params, "sessionId": self.facts.agent_session_id})

    def changed(self, told: dict[str, Any]) -> None:
        """The agent said that its config options or its mode are now these (an answer or an update)."""
        if isinstance(told.get("configOptions"), list):
            self.facts = replace(self.facts, config_options=tuple(told["configOptions"]))
        if self.facts.modes and isinstance(told.get("currentModeId"), str):
            self.facts = replace(self.facts, modes={**self.facts.modes, "currentModeId": told["currentModeId"]})

    # -- the turns ---------------------------------------------------------------------------------------------------

    def _stop_turns(self) -> list[Running]:
        turns = [*([self._current] if self._current else []), *self._queue]
        for turn in turns:
            turn.cancelled = True
        if self._opening:
            self._opening.cancel()
        return turns

    async def _work(self) -> None:
        while self._queue:
            turn = self._current = self._queue.popleft()
            try:
                await self._run(turn)
            except GziaError as error:
                self._end(turn, PromptObservation("", {}, False, 0, self._sequencer.local(), error))
            await asyncio.wait([turn.ended])

    async def _run(self, turn: Running) -> None:
        if self._agent is None and not turn.cancelled:
            await self._reopen(turn)
        if turn.cancelled:
            self._end(turn, PromptObservation("cancelled", {}, False, 0, self._sequencer.local()))
            return
        if self._agent is None:
            raise self._gone
        self._books.turn_started(turn.number)
        self.permissions.begin_turn()
        turn.was_sent = True
        self._agent.prompt(Turn(turn.number, turn.blocks))

    async def _reopen(self, turn: Running) -> None:
        """Start the agent again on its conversation; given up when the turn is cancelled meanwhile."""
        self._opening = asyncio.create_task(self.open(self.facts.agent_session_id))
        try:
            await self._opening
        except asyncio.CancelledError:
            if not turn.cancelled:
                raise
        finally:
            self._opening = None

    def _insist(self, turn: Running) -> None:
        if self._current is turn and self._agent and not turn.ended.done():
            self._give_up(self._agent)

    def _give_up(self, agent: Agent) -> None:
        task = asyncio.create_task(agent.close())
        self._given_up.add(task)
        task.add_done_callback(self._given_up.discard)

    # -- what the agent does -----------------------------------------------------------------------------------------

    def heard(self, batch: Sequence[Heard]) -> None:
        """Take what the agent did, in order (see gzia.driver.agent.Listener)."""
        drafts: list[Draft] = []
        endings: list[tuple[Running, PromptObservation]] = []
        turn = self._current if self._current and self._current.was_sent else None
        for item in batch:
            if type(item) is UpdateObservation:
                drafts.append(lines.update(item, turn.number if turn else None, self.connection))
                kind = item.event["kind"]
                if turn:
                    turn.saw(item.event)
                if kind != "text_delta" and kind != "thinking_delta":
                    self._saw(item)
            elif isinstance(item, PromptObservation | Lost):
                ending = item if isinstance(item, PromptObservation) else self._lost(item, turn, drafts)
                if turn:
                    drafts += self._ending(turn, ending)
                    endings.append((turn, ending))
                    turn = None
            elif isinstance(item, Question):
                drafts += self._asked(item, turn)
            elif isinstance(item, QuestionWithdrawn):
                self.calls.withdrawn(item.key)
                drafts += self.permissions.withdrawn(item.key)
            elif isinstance(item, Unreadable):
                unread = {"state": "unreadable", "reason": item.why}
                drafts.append(draft("session", turn.number if turn else None, unread))
            elif isinstance(item, Notice):
                drafts.append(lines.notice(item, turn.number if turn else None, self.connection))
        if self._write(drafts, durable=bool(endings)):
            return
        for ended, observation in endings:
            self._settle(ended, observation)

    def _saw(self, item: UpdateObservation) -> None:
        self._books.saw(item)
        if item.event.get("update") in ("config_option_update", "current_mode_update"):
            self.changed(json.loads(item.text))

    def _asked(self, question: Question, turn: Running | None) -> list[Draft]:
        if question.method == "session/request_permission":
            call = question.params.get("toolCall", {})
            known = turn.open_tools.get(call.get("toolCallId"), {}) if turn else {}
            kind = call.get("kind") or known.get("tool_kind")
            return self.permissions.asked(question, turn.number if turn else None, kind)
        if self._agent and self.calls.asked(self._agent, question):
            self.permissions.refuse(question.method)
        return []

    def _lost(self, lost: Lost, turn: Running | None, drafts: list[Draft]) -> PromptObservation:
        """The agent is gone; how that ends a running turn."""
        self._agent, self._gone = None, lost.error
        drafts += self.permissions.all_settled("agent gone")
        if not self._closing:
            number = turn.number if turn else None
            drafts.append(draft("session", number, {"state": "agent-gone", **lost.error.document()}))
        return PromptObservation("", {}, True, 0, self._sequencer.local(), lost.error)

    # -- the end of a turn -------------------------------------------------------------------------------------------

    def _ending(self, turn: Running, observation: PromptObservation) -> list[Draft]:
        """The lines that close a turn: its open questions, the tool calls it left open, then the prompt line."""
        drafts = self.permissions.all_settled("turn ended")
        if observation.stop_reason == "cancelled" or turn.cancelled or observation.error:
            for id in turn.open_tools:
                closed = lines.tool_closed(id, self._sequencer)
                self._books.saw(closed)
                drafts.append(lines.update(closed, turn.number, self.connection))
            turn.open_tools.clear()
        return [*drafts, lines.prompt(turn, observation, stop_reason_of(turn, observation))]

    def _end(self, turn: Running, observation: PromptObservation) -> None:
        """End a turn that the agent never got."""
        error = self._write(self._ending(turn, observation), durable=True)
        self._settle(turn, observation._replace(error=error) if error else observation)

    def _settle(self, turn: Running, observation: PromptObservation) -> None:
        self._current = None
        reason = stop_reason_of(turn, observation)
        error = None if reason == "cancelled" else observation.error
        refused = tuple(self.permissions.refused)
        end = TurnEnd(turn.number, reason, turn.message, refused, error, observation.result, turn.why)
        self._books.turn_ended(end)
        unkept = self._books.take_problem()
        if unkept and not error and reason != "cancelled":
            end = end._replace(error=unkept)
        if not turn.ended.done():
            turn.ended.set_result(end)

    # -- writing -----------------------------------------------------------------------------------------------------

    def _reply(self, key: Any, result: Any) -> None:
        if self._agent:
            self._agent.reply(key, result)

    def _write(self, drafts: list[Draft], *, durable: bool = False) -> GziaError | None:
        """Append to the journal and send the answers that waited for that; else give up, and return why."""
        try:
            self.journal.write(drafts, durable=durable)
        except GziaError as error:
            self._cannot_keep(error)
            return error
        self.permissions.deliver()
        return None

    def _cannot_keep(self, error: GziaError) -> None:
        """What happens cannot be written down any more: the agent is ended, and the turn fails with the reason."""
        self.permissions.drop()
        agent, self._agent, self._gone = self._agent, None, error
        self.connection += 1  # nothing more is heard of that process
        if agent:
            self._give_up(agent)
        turn = self._current
        if turn and turn.was_sent and not turn.ended.done():
            self._settle(turn, PromptObservation("", {}, True, 0, self._sequencer.local(), error))


def stop_reason_of(turn: Running, observation: PromptObservation) -> str:
    """What is told: some agents answer ``end_turn`` or an error to a turn that was stopped before its answer came."""
    return "cancelled" if turn.cancelled else observation.stop_reason
