"""The calls of an agent that its editor takes: files, terminals, forms, and extensions."""

from __future__ import annotations

from typing import Any

from gzia.acp.events import Answer, Refused
from gzia.serve.wire import Wire
from gzia.session.calls import ClientCall


class Taker:
    """Passes calls on to an editor with these ACP capabilities, and its answers back."""

    def __init__(self, wire: Wire, session_id: str, capabilities: dict[str, Any]) -> None:
        self._wire = wire
        self._session_id = session_id
        self._capabilities = capabilities

    def take(self, call: ClientCall) -> bool:
        """Ask the editor; False when it does not offer that."""
        if not offers(self._capabilities, call.method):
            return False
        params = {**call.params, "sessionId": self._session_id}
        request = self._wire.ask(call.method, params, lambda event: given(call, event))
        call.withdrawn = lambda: self._wire.withdraw(request)
        return True


def given(call: ClientCall, event: Answer | Refused) -> None:
    """The editor's answer to a call of the agent."""
    if isinstance(event, Answer):
        call.give(event.result)
    else:
        call.deny(event.error.code, event.error.message)


def offers(capabilities: dict[str, Any], method: str) -> bool:
    """Whether a client with these ACP capabilities takes the method."""
    files = capabilities.get("fs") or {}
    room, _, verb = method.partition("/")
    if room == "fs":
        return bool(files.get({"read_text_file": "readTextFile", "write_text_file": "writeTextFile"}.get(verb, "")))
    return bool(capabilities.get(room))
