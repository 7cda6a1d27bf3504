"""A client's connection: the agent side of ACP over two pumps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gzia.acp.agent import AgentSide
from gzia.acp.events import Answer, Refused
from gzia.jsonrpc.messages import RequestId
from gzia.system.pump import Writer

Settled = Callable[[Answer | Refused], None]


class Wire:
    """Writes frames, and remembers what was asked of the client.

    ``slow`` is called whenever something was written of which the client has not taken all at once.
    """

    def __init__(self, side: AgentSide, writer: Writer, slow: Callable[[], object] = lambda: None) -> None:
        self.side = side
        self._writer = writer
        self._slow = slow
        self._written = 0  # bytes
        self._asked: dict[int, Settled] = {}

    @property
    def pending(self) -> int:
        """Bytes that wait for the client."""
        return self._writer.pending

    @property
    def taken(self) -> int:
        """Bytes that the client has taken, or the kernel for it."""
        return self._written - self._writer.pending

    def flush(self) -> None:
        """Hand everything that was said to the writer."""
        data = self.side.data_to_send()
        if data:
            self._written += len(data)
            self._writer.write(data)
            if self._writer.pending:
                self._slow()

    async def drained(self, below: int) -> None:
        """Wait while more than ``below`` bytes wait for the client."""
        if self._writer.pending > below:
            await self._writer.drained(below)

    def reply(self, id: RequestId, result: Any) -> None:
        """Answer a request of the client."""
        self.side.reply(id, result)
        self.flush()

    def reply_error(self, id: RequestId, code: int, message: str, data: Any = None) -> None:
        """Answer a request of the client with an error."""
        self.side.reply_error(id, code, message, data)
        self.flush()

    def notify(self, method: str, params: Any) -> None:
        """Tell the client something."""
        self.side.notify(method, params)
        self.flush()

    def ask(self, method: str, params: Any, settled: Settled) -> int:
        """Ask the client; ``settled`` gets its answer."""
        id = self.side.request(method, params)
        self._asked[id] = settled
        self.flush()
        return id

    def settle(self, event: Answer | Refused) -> None:
        """An answer of the client arrived."""
        settled = self._asked.pop(event.id, None)
        if settled:
            settled(event)

    def withdraw(self, id: int) -> None:
        """Nobody needs the client's answer any more."""
        if self._asked.pop(id, None):
            self.side.cancel_request(id)
            self.flush()
