"""What the two sides have in common: known params and results are checked, and what cannot be meant is answered here.

A request of version 1 with invalid params is answered -32602 with the path; a request that nobody handles -32601.  An
answer of ours that is not valid counts as refused.  Unknown notifications, fields and variants pass untouched.
"""

from __future__ import annotations

import json
import re
from typing import Any

from gzia.acp import checking, methods
from gzia.acp.events import Answer, Event, Mistake, Refused
from gzia.jsonrpc.connection import KEPT, Connection
from gzia.jsonrpc.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Closed,
    Noise,
    Notification,
    PeerMistake,
    Request,
    RequestId,
    Response,
    RpcError,
    Taught,
    TooLong,
    Unreadable,
)
from gzia.jsonrpc.messages import Event as JsonRpcEvent
from gzia.jsonrpc.text import encode, to_bytes

_ID = re.compile(rb'"id"[ \t]*:[ \t]*(-?[0-9]{1,18}|"[^"\\]{0,200}")')
_FIRST_KEY = re.compile(rb'"(method|result|error)"[ \t]*:')


class Side:
    """One side of a connection; ``handles`` are requests beyond version 1 that the owner answers itself.

    With ``extensions`` it answers those whose names begin with ``_`` too, whatever they are.
    """

    _name: methods.Side
    _peer: str

    def __init__(self, connection: Connection, handles: frozenset[str], *, extensions: bool = False) -> None:
        self._connection = connection
        self._handles = handles
        self._extensions = extensions

    @property
    def closed(self) -> bool:
        """The peer has ended its stream."""
        return self._connection.closed

    def data_to_send(self) -> bytes:
        """The bytes for the peer since the last call."""
        return self._connection.data_to_send()

    def request(self, method: str, params: Any = None) -> int:
        """Ask anything; the id comes back in ``Answer`` or ``Refused``."""
        return self._connection.request(method, params)

    def notify(self, method: str, params: Any = None) -> None:
        """Tell anything."""
        self._connection.notify(method, params)

    def reply(self, ident: RequestId, result: Any) -> None:
        """Answer the peer's request."""
        self._connection.reply(ident, result)

    def reply_error(self, ident: RequestId, code: int, message: str, data: Any = None) -> None:
        """Answer the peer's request with an error."""
        self._connection.reply_error(ident, code, message, data)

    def owes(self, ident: RequestId) -> bool:
        """Whether the peer still waits for the answer to its request ``ident``."""
        return self._connection.owes(ident)

    def cancel_request(self, ident: int) -> None:
        """Tell the peer that we no longer want the answer to a request of ours; it answers all the same."""
        self.notify(methods.CANCEL_REQUEST, {"requestId": ident})

    def _translate(self, event: JsonRpcEvent) -> list[Event]:
        match event:
            case Response():
                return [self._answered(event)]
            case Notification():
                return [self._notified(event)]
            case Request():
                return [self._requested(event)]
            case TooLong():
                return self._lost(Mistake("was too long and was skipped", event.head, "too long"))
            case Unreadable():
                return self._lost(Mistake(f"could not be read: {event.why}", event.head, "no message"))
            case PeerMistake():
                return [Mistake(event.why, event.line, "" if event.is_message else "no message")]
            case Noise() | Closed():
                return [event]
            case Taught():
                raise AssertionError("this side taught nothing")

    def _answered(self, event: Response) -> Answer | Refused:
        ident, method, result, error, seq = event
        if error is not None:
            return Refused(ident, method, error, seq)
        known = methods.METHODS.get(method)
        if known is not None and known.is_stable and result is None:
            result = {}  # agents answer null where the answer has no required field
        fault = checking.check_result(method, result)
        if fault is None:
            return Answer(ident, method, result, seq)
        why = f"the {self._peer}'s answer to {method} is not valid: {checking.sentence(fault)}"
        return Refused(ident, method, RpcError(INTERNAL_ERROR, why, {"path": checking.path(fault)}), seq)

    def _notified(self, event: Notification) -> Event:
        method, params = event.method, event.params
        if methods.is_stable(method, self._name, "notification"):
            fault = checking.check_params(method, params)
            if fault is not None:
                return mistake(method, params, fault)
            return self._told(event)
        known = methods.METHODS.get(method)
        if known is not None and known.is_stable:
            # A request without an id wants no answer, so nothing may be done for it either.
            return Mistake(f"{method} is not a notification for the {self._name}", to_bytes(event.text)[:KEPT])
        return self._told(event)

    def _requested(self, event: Request) -> Event:
        ident, method, params, _ = event
        if methods.is_stable(method, self._name, "request"):
            params = {} if params is None else params
            fault = checking.check_params(method, params)
            if fault is not None:
                data = {"path": checking.path(fault)}
                self.reply_error(ident, INVALID_PARAMS, f"Invalid params: {checking.sentence(fault)}", data)
                return mistake(method, params, fault)
        elif method not in self._handles and not (self._extensions and methods.is_extension(method)):
            self.reply_error(ident, METHOD_NOT_FOUND, f"Method not found: {method[:200]}")
            return Mistake(f"unknown request {method[:200]}", to_bytes(event.text)[:KEPT])
        return self._asked(ident, method, params)

    def _lost(self, what: Mistake) -> list[Event]:
        """A line is lost.  An answer leaves nobody waiting: what may have been meant fails; a question is answered."""
        found = _FIRST_KEY.search(what.line)
        lost = what._replace(why=f"a line of the {self._peer} {what.why}")
        if found and found.group(1) == b"method":
            self._answer_lost(what.why, what.line)
            return [lost]
        error = RpcError(INTERNAL_ERROR, f"an answer of the {self._peer} {what.why}")
        ident = _ID.search(what.line[: found.start()]) if found else None
        lost_ones = self._connection.give_up(error, json.loads(ident.group(1)) if ident else None)
        return [lost, *map(self._answered, lost_ones)]

    def _answer_lost(self, why: str, head: bytes) -> None:
        """The question's id, if it stands where ids stand, before the params."""
        found = _ID.search(head.split(b'"params"')[0])
        if found:
            self._connection.reply_unasked(json.loads(found.group(1)), PARSE_ERROR, f"the line {why}")

    def _told(self, event: Notification) -> Event:
        raise NotImplementedError

    def _asked(self, ident: RequestId, method: str, params: Any) -> Event:
        raise NotImplementedError


def mistake(method: str, params: Any, fault: tuple[str | int, ...]) -> Mistake:
    """The event for invalid params."""
    try:
        shown = to_bytes(encode(params))[:KEPT]
    except ValueError:
        shown = b""  # nested too deeply to be written again
    return Mistake(f"{method}: {checking.sentence(fault)}", shown)
