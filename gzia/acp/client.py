"""What we are towards an agent: bytes of its stdout in, events out; requests in, bytes for its stdin out.  No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gzia.acp import checking, methods
from gzia.acp.errors import UNSUPPORTED_VERSION
from gzia.acp.events import AgentNotification, AgentRequest, Answer, Event, Mistake, Refused, Update
from gzia.acp.side import Side, mistake
from gzia.acp.splice import split
from gzia.jsonrpc.connection import KEPT, Connection
from gzia.jsonrpc.framing import LIMIT
from gzia.jsonrpc.messages import Closed, Noise, Notification, RequestId, Response, RpcError, Taught
from gzia.jsonrpc.text import encode, to_bytes

__all__ = [
    "AgentNotification",
    "AgentRequest",
    "Answer",
    "ClientSide",
    "Closed",
    "Mistake",
    "Noise",
    "Refused",
    "Update",
]

Json = dict[str, Any]


class ClientSide(Side):
    """Our end of the connection to an agent.

    ``handles``: requests beyond version 1 that the owner answers, with ``extensions`` all whose names begin with ``_``;
    others get -32601.  ``limit``: in bytes.
    """

    _name = "client"
    _peer = "agent"

    def __init__(self, *, handles: frozenset[str] = frozenset(), extensions: bool = False, limit: int = LIMIT) -> None:
        super().__init__(Connection(limit=limit, expects_noise=True), handles, extensions=extensions)

    def receive_data(self, data: bytes) -> list[Event]:
        """Take bytes as they were read, ``b""`` for the end of the stream; never raises for what an agent sends."""
        events: list[Event] = []
        for event in self._connection.events(data):
            if isinstance(event, Taught):
                session, update, text, seq = event
                fault = checking.check_update(update)
                if fault is None:
                    events.append(Update(session, update, text, seq))
                else:
                    events.append(_bad_update(session, update, fault))
            else:
                events += self._translate(event)
        return events

    def _told(self, event: Notification) -> Event:
        if event.method != methods.SESSION_UPDATE:
            return AgentNotification(event.method, event.params, event.seq)
        session, update = event.params["sessionId"], event.params["update"]
        parts = split(event.text)
        if parts is None:
            return self._written_again(event)
        if parts.repeats:
            self._connection.teach(parts.head, parts.tail, session)
        return Update(session, update, parts.text, event.seq)

    def _written_again(self, event: Notification) -> Event:
        session, update = event.params["sessionId"], event.params["update"]
        try:
            return Update(session, update, encode(update), event.seq)
        except ValueError as error:
            return Mistake(f"{methods.SESSION_UPDATE}: update is {error}", to_bytes(event.text[:KEPT]))

    def _asked(self, ident: RequestId, method: str, params: Any) -> Event:
        return AgentRequest(ident, method, params)

    def _answered(self, event: Response) -> Answer | Refused:
        answer = super()._answered(event)
        if isinstance(answer, Refused) or answer.method != methods.INITIALIZE:
            return answer
        version = answer.result["protocolVersion"]
        if version == methods.PROTOCOL_VERSION:
            return answer
        why = f"the agent speaks version {version} of the protocol, and gzia only {methods.PROTOCOL_VERSION}"
        data = {"requested": methods.PROTOCOL_VERSION, "offered": version}
        return Refused(answer.id, answer.method, RpcError(UNSUPPORTED_VERSION, why, data), answer.seq)

    def prompt(self, session_id: str, blocks: Sequence[Json]) -> int:
        """Begin a turn; the id of the answer, which comes at its end."""
        return self.request(methods.SESSION_PROMPT, {"sessionId": session_id, "prompt": list(blocks)})

    def cancel(self, session_id: str) -> None:
        """End the turn.  A notification: the prompt's own answer says when it has ended."""
        self.notify(methods.SESSION_CANCEL, {"sessionId": session_id})


def _bad_update(session: str, update: Any, fault: tuple[str | int, ...]) -> Mistake:
    return mistake(methods.SESSION_UPDATE, {"sessionId": session, "update": update}, ("update", *fault))
