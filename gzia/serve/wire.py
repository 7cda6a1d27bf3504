"""An editor's connection: the agent side of ACP over two pumps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gzia.acp.agent import AgentSide
from gzia.acp.events import Answer, Refused
from gzia.jsonrpc.messages import RequestId
from gzia.system.pump import Writer

Settled = Callable[[Answer | Refused], None]


class Wire:
    """Writes frames, and remembers what was asked of the editor."""

    def __init__(self, side: AgentSide, writer: Writer) -> None:
        self.side = side
        self._writer = writer
        self._asked: dict[int, Settled] = {}

    def flush(self) -> None:
        """Hand everything that was said to the writer."""
        data = self.side.data_to_send()
        if data:
            self._writer.write(data)

    async def drained(self, below: int) -> None:
        """Wait while more than ``below`` bytes wait for the editor."""
        if self._writer.pending > below:
            await self._writer.drained(below)

    def reply(self, id: RequestId, result: Any) -> None:
        """Answer a request of the editor."""
        self.side.reply(id, result)
        self.flush()

    def reply_error(self, id: RequestId, code: int, message: str, data: Any = None) -> None:
        """Answer a request of the editor with an error."""
        self.side.reply_error(id, code, message, data)
        self.flush()

    def notify(self, method: str, params: Any) -> None:
        """Tell the editor something."""
        self.side.notify(method, params)
        self.flush()

    def ask(self, method: str, params: Any, settled: Settled) -> int:
        """Ask the editor; ``settled`` gets its answer."""
        id = self.side.request(method, params)
        self._asked[id] = settled
        self.flush()
        return id

    def settle(self, event: Answer | Refused) -> None:
        """An answer of the editor arrived."""
        settled = self._asked.pop(event.id, None)
        if settled:
            settled(event)

    def withdraw(self, id: int) -> None:
        """Nobody needs the editor's answer any more."""
        if self._asked.pop(id, None):
            self.side.cancel_request(id)
            self.flush()
