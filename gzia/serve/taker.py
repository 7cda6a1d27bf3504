"""The calls of an agent that its editor takes: files, terminals, forms, and extensions of the protocol.

An agent waits for the answer, and some editors drop what they do not know.  So an extension (its name begins with
``_``) has a deadline; one that the editor does not know is not asked again, and after a few silences none is.
"""

from __future__ import annotations

import asyncio
from typing import Any

from gzia.acp.errors import INTERNAL_ERROR, METHOD_NOT_FOUND
from gzia.acp.events import Answer, Refused
from gzia.acp.methods import is_extension
from gzia.serve.wire import Wire
from gzia.session.calls import ClientCall

DEADLINE = 2.0  # seconds for the answer to an extension
SILENCES = 3


class Taker:
    """Passes calls on to an editor with these ACP capabilities, and its answers back."""

    def __init__(
        self, wire: Wire, session_id: str, capabilities: dict[str, Any], *, deadline: float = DEADLINE
    ) -> None:
        self._wire = wire
        self._session_id = session_id
        self._capabilities = capabilities
        self._deadline = deadline
        self._open: dict[int, ClientCall] = {}  # our request to the editor -> the call
        self._unknown: set[str] = set()  # extensions that the editor does not know
        self._silences = 0

    def take(self, call: ClientCall) -> bool:
        """Ask the editor; False when it does not offer that."""
        if is_extension(call.method):
            if call.method in self._unknown or self._silences >= SILENCES:
                return False
            asyncio.get_running_loop().call_later(self._deadline, self._overdue, self._ask(call))
        elif offers(self._capabilities, call.method):
            self._ask(call)
        else:
            return False
        return True

    def _ask(self, call: ClientCall) -> int:
        params: Any = call.params  # those of an extension may be anything
        named = {**params, "sessionId": self._session_id} if isinstance(params, dict) else params
        request = self._wire.ask(call.method, named, self._answered)
        self._open[request] = call
        call.withdrawn = lambda: self._forget(request)
        return request

    def _answered(self, event: Answer | Refused) -> None:
        call = self._open.pop(event.id)
        if isinstance(event, Answer):
            call.give(event.result)
            return
        if event.error.code == METHOD_NOT_FOUND and is_extension(call.method):
            self._unknown.add(call.method)
        call.deny(event.error.code, event.error.message)

    def _overdue(self, request: int) -> None:
        call = self._open.get(request)
        if call:
            self._forget(request)
            self._silences += 1
            call.deny(METHOD_NOT_FOUND, f"this client does not answer {call.method}")

    def _forget(self, request: int) -> None:
        self._open.pop(request, None)
        self._wire.withdraw(request)

    def close(self) -> None:
        """The editor has gone: its open calls fail."""
        for call in self._open.values():
            call.deny(INTERNAL_ERROR, "the editor has gone")
        self._open.clear()


def offers(capabilities: dict[str, Any], method: str) -> bool:
    """Whether a client with these ACP capabilities takes the method."""
    files = capabilities.get("fs") or {}
    room, _, verb = method.partition("/")
    if room == "fs":
        return bool(files.get({"read_text_file": "readTextFile", "write_text_file": "writeTextFile"}.get(verb, "")))
    return room in ("terminal", "elicitation") and bool(capabilities.get(room))
