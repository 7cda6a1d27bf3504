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

    ``handles``: requests beyond version 1 that the owner answers, others get -32601; ``limit``: in bytes.
    """

    _name = "client"
    _peer = "agent"

    def __init__(self, *, handles: frozenset[str] = frozenset(), limit: int = LIMIT) -> None:
        super().__init__(Connection(limit=limit, expects_noise=True), handles)

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

    # -- what a client asks; each returns the id that the answer will have --

    def initialize(self, client_info: Json, capabilities: Json) -> int:
        """Ask first.  A version other than 1 in the answer comes back as ``Refused``: disconnect then."""
        params = {
            "protocolVersion": methods.PROTOCOL_VERSION,
            "clientCapabilities": capabilities,
            "clientInfo": client_info,
        }
        return self.request(methods.INITIALIZE, params)

    def authenticate(self, method_id: str) -> int:
        return self.request(methods.AUTHENTICATE, {"methodId": method_id})

    def new_session(self, cwd: str, mcp_servers: Sequence[Json] = ()) -> int:
        """``cwd`` is absolute."""
        return self.request(methods.SESSION_NEW, {"cwd": cwd, "mcpServers": list(mcp_servers)})

    def load_session(self, session_id: str, cwd: str, mcp_servers: Sequence[Json] = ()) -> int:
        """The history comes as updates before the answer."""
        params = {"sessionId": session_id, "cwd": cwd, "mcpServers": list(mcp_servers)}
        return self.request(methods.SESSION_LOAD, params)

    def resume_session(self, session_id: str, cwd: str, mcp_servers: Sequence[Json] = ()) -> int:
        """Like load, without the history."""
        params = {"sessionId": session_id, "cwd": cwd, "mcpServers": list(mcp_servers)}
        return self.request(methods.SESSION_RESUME, params)

    def close_session(self, session_id: str) -> int:
        return self.request(methods.SESSION_CLOSE, {"sessionId": session_id})

    def set_mode(self, session_id: str, mode_id: str) -> int:
        return self.request(methods.SESSION_SET_MODE, {"sessionId": session_id, "modeId": mode_id})

    def set_config_option(self, session_id: str, config_id: str, value: str | bool) -> int:
        params: Json = {"sessionId": session_id, "configId": config_id, "value": value}
        if isinstance(value, bool):
            params["type"] = "boolean"
        return self.request(methods.SESSION_SET_CONFIG_OPTION, params)

    def prompt(self, session_id: str, blocks: Sequence[Json]) -> int:
        """The answer comes at the end of the turn."""
        return self.request(methods.SESSION_PROMPT, {"sessionId": session_id, "prompt": list(blocks)})

    def cancel(self, session_id: str) -> None:
        """End the turn.  A notification: the prompt's own answer says when it has ended."""
        self.notify(methods.SESSION_CANCEL, {"sessionId": session_id})


def _bad_update(session: str, update: Any, fault: tuple[str | int, ...]) -> Mistake:
    return mistake(methods.SESSION_UPDATE, {"sessionId": session, "update": update}, ("update", *fault))
