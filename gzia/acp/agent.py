"""What we are towards an editor: bytes of our stdin in, events out; updates and answers in, bytes for stdout out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gzia.acp import methods
from gzia.acp.events import Answer, ClientNotification, ClientRequest, Event, Mistake, Refused
from gzia.acp.side import Side
from gzia.jsonrpc.connection import Connection
from gzia.jsonrpc.framing import LIMIT
from gzia.jsonrpc.messages import Closed, Notification, RequestId
from gzia.jsonrpc.text import encode

__all__ = ["AgentSide", "Answer", "ClientNotification", "ClientRequest", "Closed", "Mistake", "Refused"]

Json = dict[str, Any]


class AgentSide(Side):
    """Our end of the connection to an editor; bad JSON from it is answered, invalid params with their path.

    ``handles``: requests beyond version 1 that the owner answers, like ``_session/steering``.  ``limit``: in bytes.
    """

    _name = "agent"
    _peer = "client"

    def __init__(self, *, handles: frozenset[str] = frozenset(), limit: int = LIMIT) -> None:
        super().__init__(Connection(limit=limit), handles)

    def receive_data(self, data: bytes) -> list[Event]:
        """Take bytes as they were read, ``b""`` for the end of the stream; never raises for what an editor sends."""
        return [event for received in self._connection.events(data) for event in self._translate(received)]

    def _told(self, event: Notification) -> Event:
        return ClientNotification(event.method, event.params, event.seq)

    def _asked(self, ident: RequestId, method: str, params: Any) -> Event:
        return ClientRequest(ident, method, params)

    def update(self, session_id: str, update: Json) -> None:
        """Send one update."""
        self.notify(methods.SESSION_UPDATE, {"sessionId": session_id, "update": update})

    def send_text(self, frame: str) -> None:
        """Send a whole frame that is JSON text already: ``head + update + tail`` of ``update_frame``."""
        self._connection.send_text(frame)

    def request_permission(self, session_id: str, tool_call: Json, options: Sequence[Json]) -> int:
        """Ask the person at the editor."""
        params = {"sessionId": session_id, "toolCall": tool_call, "options": list(options)}
        return self.request(methods.REQUEST_PERMISSION, params)

    def update_frame(self, session_id: str) -> tuple[str, str]:
        """Head and tail of an update's frame: with the JSON text of an update between them it is a whole message."""
        params = {"sessionId": session_id, "update": None}
        frame = encode({"jsonrpc": "2.0", "method": methods.SESSION_UPDATE, "params": params})
        head, tail = frame.rsplit("null", 1)
        return head, tail
