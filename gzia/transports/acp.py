"""An agent program that speaks ACP on its pipes: one process, one conversation, one turn after another.

Everything the agent does is handed to the listener in the order of its lines, many lines at a time.  The rules of the
protocol are gzia.acp's; this module moves bytes and keeps what is in flight.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from gzia.acp import methods, updates
from gzia.acp.client import ClientSide
from gzia.acp.errors import INVALID_REQUEST, METHOD_NOT_FOUND, REQUEST_CANCELLED
from gzia.acp.events import AgentNotification, AgentRequest, Answer, Mistake, Refused, Update
from gzia.driver.agent import AgentFacts, Listener
from gzia.driver.observation import (
    Heard,
    Lost,
    Notice,
    PromptAnswered,
    PromptObservation,
    Question,
    QuestionWithdrawn,
    Sequencer,
    Unreadable,
    UpdateObservation,
)
from gzia.driver.steer import SteerRequest
from gzia.driver.turn import Turn
from gzia.jsonrpc.messages import Noise, RequestId
from gzia.system.process import Process
from gzia.system.tasks import told
from gzia.transports import failures
from gzia.transports.steering import DRAINS, Steering

TOLD = 100  # lost lines that are told of one process; one that sends nothing else must not fill the journal
LAST_WORDS = 1.0  # seconds between the end of the output and that of the process, in either order


class AcpAgent:
    """A started agent (see :class:`gzia.driver.agent.Agent`).  Made by :func:`gzia.transports.handshake.start`."""

    def __init__(self, process: Process, listener: Listener, name: str) -> None:
        self.facts = AgentFacts("", name=name, pid=process.pid, identity=process.identity)
        self.process = process
        self.stray = failures.Stray()  # what the agent wrote that was no message
        self.replaying = False  # while a conversation is loaded, its old updates are not new ones
        self._client = ClientSide(handles=DRAINS, extensions=True)
        self._listener = listener
        self._sequencer = Sequencer()
        self._steering = Steering(self._client, process.stdin, self._sequencer, self._steered)
        self._calls: dict[Any, asyncio.Future[Any]] = {}
        self._prompt: int | None = None  # id of the open session/prompt
        self._is_written = False  # the pipe has taken all of it
        self._answer: Answer | Refused | None = None  # the prompt's, while something of its turn is still open
        self._answered_told = False  # the lane knows that the turn is answered
        self._gone = False
        self._told = 0  # lines that were told as lost
        self._leaving: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        process.read(self._received)
        self._watch = asyncio.create_task(self._watched())
        self._watch.add_done_callback(told)

    # -- towards the agent -------------------------------------------------------------------------------------------

    def prompt(self, turn: Turn) -> None:
        """Send a turn; its PromptObservation, or Lost, follows through the listener."""
        self._is_written = False
        if self.process.stdin.is_closed:
            self._leave()  # it cannot be told anything any more
        if self._client.closed or self._leaving.done():
            return  # Lost follows
        self._prompt = self._client.prompt(self.facts.agent_session_id, list(turn.blocks))
        self._flush()
        self.process.stdin.when_written(self._written)
        self._steering.turn_began()

    def _written(self) -> None:
        self._is_written = True

    def cancel(self) -> None:
        """Ask for the end of the running turn, or of one that the agent began by itself."""
        if self._gone:
            return
        if self._prompt is not None or self._steering.has_prompts or self._steering.has_untracked_turn:
            self._client.cancel(self.facts.agent_session_id)
            self._flush()
            self._steering.turn_stopping()

    def opened(self, facts: AgentFacts, hello: dict[str, Any]) -> None:
        """The conversation is open; ``hello`` is the agent's answer to ``initialize``."""
        self.facts = replace(facts, steering=self._steering.begin(facts.agent_session_id, hello))

    def steer(self, steer_id: str, request: SteerRequest) -> None:
        """See gzia.driver.agent.Steerer."""
        self._steering.steer(steer_id, request)

    def withdraw(self, steer_id: str) -> bool:
        """See gzia.driver.agent.Steerer."""
        return self._steering.withdraw(steer_id)

    def reply(self, key: Any, result: Any) -> None:
        """Answer a question; dropped when the agent is gone or took the question back."""
        if self._settles(key):
            self._client.reply(key, result)
            self._flush()

    def refuse(self, key: Any, code: int, message: str) -> None:
        """Answer a question with an error."""
        if self._settles(key):
            self._client.reply_error(key, code, message)
            self._flush()

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """Any other request; the result, or GziaError ``agent-refused`` with the JSON-RPC error in its data."""
        if self._client.closed:
            await asyncio.wait([self._watch])
            raise self._problem
        id = self._client.request(method, params)
        future = self._calls[id] = asyncio.get_running_loop().create_future()
        self._flush()
        return await future

    async def close(self) -> int:
        """End the agent and its whole process tree; its exit status."""
        exit = await self.process.end()
        await asyncio.wait([self._watch])
        return exit.status

    def _settles(self, key: RequestId) -> bool:
        """Whether the agent still waits for this answer."""
        return not self._gone and self._client.owes(key)

    def _flush(self) -> None:
        data = self._client.data_to_send()
        if data:
            self.process.stdin.write(data)

    # -- from the agent ----------------------------------------------------------------------------------------------

    def _received(self, data: bytes) -> None:
        heard: list[Heard] = [*self._steering.take()]
        for event in self._client.receive_data(data):
            if type(event) is Update:
                if not self.replaying:
                    self._update(event, heard)
            elif isinstance(event, Answer | Refused):
                self._answered(event, heard)
            elif isinstance(event, AgentRequest):
                if self.facts.agent_session_id:
                    if not self._steering.drained(event.id, event.method):
                        heard.append(Question(event.id, event.method, event.params))
                else:
                    code = METHOD_NOT_FOUND if methods.is_extension(event.method) else INVALID_REQUEST
                    self._client.reply_error(event.id, code, "no session is open yet")
            elif isinstance(event, AgentNotification):
                self._notified(event, heard)
            elif isinstance(event, Noise):
                self.stray.keep(event.line.decode("utf-8", "replace"))
            elif isinstance(event, Mistake):
                self.stray.keep(event.why)
                if self.facts.agent_session_id and self._told < TOLD:
                    self._told += 1
                    heard.append(Unreadable(event.why))
        self._flush()
        self._steering.go_on()
        if heard:
            self._listener.heard(heard)
        if not data:
            self._leave()

    def _update(self, event: Update, heard: list[Heard]) -> None:
        if self._steering.is_watching and event.session_id == self.facts.agent_session_id:
            self._steering.saw(event.update, event.seq)
            heard += self._steering.take()
        order = self._sequencer.received(event.seq)
        short = updates.describe(event.update)
        heard.append(tuple.__new__(UpdateObservation, (short, event.text, event.seq, order)))  # on the hot path

    def _answered(self, event: Answer | Refused, heard: list[Heard]) -> None:
        if event.id == self._prompt:
            self._prompt = None
            self._answer = event
            self._close_turn(heard)
        elif self._steering.answered(event):
            heard += self._steering.take()
            if self._answer and self._steering.ends_turn(event):
                self._answer = event  # the turn ends with the last of its prompts, and its usage is that one's
            self._close_turn(heard)
        elif (future := self._calls.pop(event.id, None)) and not future.done():
            if isinstance(event, Answer):
                future.set_result(event.result)
            else:
                future.set_exception(failures.refused(self.facts.name, event.method, event.error))

    def _close_turn(self, heard: list[Heard]) -> None:
        """End the turn once every prompt of it is answered; a steer that is still open has the grace of its lane."""
        if self._answer is None or self._prompt is not None or self._steering.has_prompts:
            return
        if not self._answered_told:
            self._answered_told = True
            self._steering.turn_ended()
            heard += self._steering.take()
            if not self._steering.is_settled:
                heard.append(PromptAnswered())
        if self._steering.is_settled:
            heard.append(self._prompt_observation(self._answer))
            self._answer, self._answered_told = None, False

    def _prompt_observation(self, event: Answer | Refused) -> PromptObservation:
        order = self._sequencer.received(event.seq)
        if isinstance(event, Answer):
            return PromptObservation(event.result.get("stopReason", ""), event.result, True, event.seq, order)
        error = failures.refused(self.facts.name, event.method, event.error)
        return PromptObservation("", {}, True, event.seq, order, error)

    def _steered(self) -> None:
        """Something became of a steer between two reads."""
        heard: list[Heard] = [*self._steering.take()]
        self._close_turn(heard)
        if heard and not self._gone:
            self._listener.heard(heard)

    def _notified(self, event: AgentNotification, heard: list[Heard]) -> None:
        if event.method == methods.CANCEL_REQUEST:
            key = event.params["requestId"]
            if self._settles(key):
                self._client.reply_error(key, REQUEST_CANCELLED, "cancelled")
                heard.append(QuestionWithdrawn(key))
        else:
            params = event.params if isinstance(event.params, dict) else {}
            if self._steering.is_watching and params.get("sessionId") == self.facts.agent_session_id:
                self._steering.saw(params.get("update"), event.seq)
                heard += self._steering.take()
            heard.append(Notice(event.method, event.params, event.seq))

    # -- the end -----------------------------------------------------------------------------------------------------

    def _leave(self) -> None:
        if not self._leaving.done():
            self._leaving.set_result(None)

    async def _watched(self) -> None:
        """Wait for the end of the process or of its output, whichever comes first, and tell it once."""
        both: list[asyncio.Future[Any]] = [self.process.exited, self._leaving]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait(both, timeout=LAST_WORDS)
        exit = await self.process.end()
        self._gone = True
        self._prompt = None
        self._problem = failures.gone(self.facts.name, exit, self.process.stderr_tail(), self.stray)
        for future in self._calls.values():
            if not future.done():
                future.set_exception(self._problem)
        self._calls.clear()
        self._steering.gone()
        heard: list[Heard] = [*self._steering.take()]
        if self._answer:
            heard.append(self._prompt_observation(self._answer))
        self._listener.heard([*heard, Lost(self._problem, self._is_written)])
