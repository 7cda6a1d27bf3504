"""An agent program that speaks ACP on its pipes: one process, one conversation, one turn after another.

Everything the agent does is handed to the listener in the order of its lines, many lines at a time.  The rules of the
protocol are gzia.acp's; this module moves bytes and keeps what is in flight.
"""

from __future__ import annotations

import asyncio
from typing import Any

from gzia.acp import methods, updates
from gzia.acp.client import ClientSide
from gzia.acp.errors import INVALID_REQUEST, REQUEST_CANCELLED
from gzia.acp.events import AgentNotification, AgentRequest, Answer, Mistake, Refused, Update
from gzia.driver.agent import AgentFacts, Listener
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
from gzia.driver.turn import Turn
from gzia.jsonrpc.messages import Noise, RequestId
from gzia.system.process import Process
from gzia.system.tasks import told
from gzia.transports import failures

TOLD = 100  # lost lines that are told of one process; one that sends nothing else must not fill the journal
LAST_WORDS = 1.0  # seconds between the end of the output and that of the process, in either order


class AcpAgent:
    """A started agent (see :class:`gzia.driver.agent.Agent`).  Made by :func:`gzia.transports.handshake.start`."""

    def __init__(self, process: Process, listener: Listener, name: str) -> None:
        self.facts = AgentFacts("", name=name, pid=process.pid, identity=process.identity)
        self.process = process
        self.stray = failures.Stray()  # what the agent wrote that was no message
        self.replaying = False  # while a conversation is loaded, its old updates are not new ones
        self._client = ClientSide()
        self._listener = listener
        self._sequencer = Sequencer()
        self._calls: dict[Any, asyncio.Future[Any]] = {}
        self._prompt: int | None = None  # id of the open session/prompt
        self._gone = False
        self._told = 0  # lines that were told as lost
        self._output_ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        process.read(self._received)
        self._watch = asyncio.create_task(self._watched())
        self._watch.add_done_callback(told)

    # -- towards the agent -------------------------------------------------------------------------------------------

    def prompt(self, turn: Turn) -> None:
        """Send a turn; its PromptObservation, or Lost, follows through the listener."""
        if self._client.closed:
            return  # Lost follows
        self._prompt = self._client.prompt(self.facts.agent_session_id, list(turn.blocks))
        self._flush()

    def cancel(self) -> None:
        """Ask for the end of the running turn."""
        if self._prompt is not None and not self._gone:
            self._client.cancel(self.facts.agent_session_id)
            self._flush()

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
        heard: list[Heard] = []
        for event in self._client.receive_data(data):
            if type(event) is Update:
                if not self.replaying:
                    self._update(event, heard)
            elif isinstance(event, Answer | Refused):
                self._answered(event, heard)
            elif isinstance(event, AgentRequest):
                if self.facts.agent_session_id:
                    heard.append(Question(event.id, event.method, event.params))
                else:
                    self._client.reply_error(event.id, INVALID_REQUEST, "no session is open yet")
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
        if heard:
            self._listener.heard(heard)
        if not data and not self._output_ended.done():
            self._output_ended.set_result(None)

    def _update(self, event: Update, heard: list[Heard]) -> None:
        order = self._sequencer.received(event.seq)
        short = updates.describe(event.update)
        heard.append(tuple.__new__(UpdateObservation, (short, event.text, event.seq, order)))  # on the hot path

    def _answered(self, event: Answer | Refused, heard: list[Heard]) -> None:
        error = None if isinstance(event, Answer) else failures.refused(self.facts.name, event.method, event.error)
        if event.id == self._prompt:
            self._prompt = None
            result = event.result if isinstance(event, Answer) else {}
            order = self._sequencer.received(event.seq)
            heard.append(PromptObservation(result.get("stopReason", ""), result, True, event.seq, order, error))
        elif (future := self._calls.pop(event.id, None)) and not future.done():
            if error:
                future.set_exception(error)
            elif isinstance(event, Answer):
                future.set_result(event.result)

    def _notified(self, event: AgentNotification, heard: list[Heard]) -> None:
        if event.method == methods.CANCEL_REQUEST:
            key = event.params["requestId"]
            if self._settles(key):
                self._client.reply_error(key, REQUEST_CANCELLED, "cancelled")
                heard.append(QuestionWithdrawn(key))
        else:
            heard.append(Notice(event.method, event.params, event.seq))

    # -- the end -----------------------------------------------------------------------------------------------------

    async def _watched(self) -> None:
        """Wait for the end of the process or of its output, whichever comes first, and tell it once."""
        both: list[asyncio.Future[Any]] = [self.process.exited, self._output_ended]
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
        self._listener.heard([Lost(self._problem)])
