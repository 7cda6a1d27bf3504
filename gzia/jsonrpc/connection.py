"""A JSON-RPC 2.0 peer that does no I/O: bytes in, events out; intentions in, bytes out.  Both ends are this class.

Rule 1.  No input from the peer makes ``receive_data`` raise; whatever it is, it becomes an event or is an empty line.
Rule 2.  One line is one message.  A line that is not a JSON object is noise when ``expects_noise`` is set (an agent's
         stdout, where shells and libraries print) and is never answered; else it is refused: -32700, -32600, id null.
Rule 3.  Ids are echoed as they came, with their type.  An id that we still owe an answer may not be used again, and
         that mistake is not answered: the peer would take the answer for the one it waits for.
Rule 4.  What looks like an answer is never answered, an error with id null least of all.
Rule 5.  Whatever answers a request of ours settles it, once: an answer without result and error is an error.
Rule 6.  The receive sequence counts answers and notifications, from 1, in the order of their lines.
Rule 7.  A taught form changes the price of a line and nothing else: what it does not match exactly goes the usual way.

The ``jsonrpc`` member is not looked at: nothing depends on it, and some peers leave it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gzia.jsonrpc.framing import LIMIT, LineBuffer
from gzia.jsonrpc.messages import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    Closed,
    Event,
    LocalMistake,
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
from gzia.jsonrpc.text import encode, parse, scan, to_bytes

KEPT = 4096
"""How many bytes of a bad line go into its event."""

TAUGHT = 8
"""How many forms are known at once: a few sessions, each perhaps in two spellings."""

_TERMINAL_ESCAPES = re.compile(
    r"(?:\ufeff|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-Z\\^-~]|[\x00-\x1a\x1c-\x20])+"
)


class Connection:
    """One end.  ``limit``: longest line in bytes; ``expects_noise``: see rule 2."""

    def __init__(self, *, limit: int = LIMIT, expects_noise: bool = False) -> None:
        self.closed = False
        self._expects_noise = expects_noise
        self._lines = LineBuffer(limit)
        self._taught: list[tuple[str, str, str]] = []  # the one used last comes first
        self._sequence = 0
        # The TypeScript SDK counts from 0 too, so every agent in the field has met an id that is false.
        self._next_id = 0
        self._asked: dict[int, str] = {}
        self._owed: set[tuple[type, RequestId]] = set()  # with the type, for 1 == 1.0 in Python
        self._out: list[str] = []

    # -- from the wire --

    def receive_data(self, data: bytes) -> list[Event]:
        """Take bytes as they were read, ``b""`` for the end of the stream."""
        return list(self.events(data))

    def events(self, data: bytes) -> Iterator[Event]:
        """Like ``receive_data``, event by event, so that a form taught at one line serves the next.  Exhaust it."""
        if self.closed:
            return
        for line in self._lines.feed(data) if data else self._lines.end():
            event = self._read(line) if isinstance(line, bytes) else self._too_long(line)
            if event is not None:
                yield event
        if not data:
            self.closed = True
            yield Closed(tuple(self._asked))

    def teach(self, head: str, tail: str, tag: str) -> None:
        """From now on a line that is ``head``, one JSON value and ``tail`` is a notification ``Taught(tag, …)``.

        The caller has proved that head + value + tail is always that notification.
        """
        self._taught.insert(0, (head, tail, tag))
        del self._taught[TAUGHT:]

    def give_up(self, error: RpcError, ident: RequestId = None) -> list[Response]:
        """Settle open requests of ours with ``error``, for an owner who knows that an answer was lost.

        ``ident``: only the one of which the answer had this id; None: nobody knows which it was, so all of them.
        """
        lost = [asked for asked in self._asked if ident is None or asked == _number_of(ident)]
        return [self._settle(asked, None, error) for asked in lost]

    def _read(self, line: bytes) -> Event | None:
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return self._read_damaged(line)
        return self._recall(text) or self._read_text(text, line)

    def _read_damaged(self, line: bytes) -> Event | None:
        if not self._expects_noise:
            return self._refuse(PARSE_ERROR, "not UTF-8", line)
        # An agent that cuts its tool's output in mid-character must not lose us an answer.
        return self._read_text(line.decode(errors="replace"), line)

    def _recall(self, text: str) -> Taught | None:
        for form in self._taught:
            head, tail, tag = form
            if text.startswith(head):
                start = len(head)
                try:
                    value, end = scan(text, start)
                except (StopIteration, ValueError, RecursionError):
                    return None
                if len(text) - end == len(tail) and text.endswith(tail):
                    if form is not self._taught[0]:
                        self._taught.remove(form)
                        self._taught.insert(0, form)
                    self._sequence += 1
                    return Taught(tag, value, text[start:end], self._sequence)
        return None

    def _read_text(self, text: str, line: bytes) -> Event | None:
        if not text.startswith("{"):
            text = text.strip(" \t\r")
            if not text:
                return None
            if self._expects_noise:
                text = text[_leading_escapes(text) :]
        try:
            message = parse(text)
        except ValueError as error:
            if not self._expects_noise:
                return self._refuse(PARSE_ERROR, f"not JSON: {error}", line)
            is_message = text.startswith("{") and '"jsonrpc"' in text[:KEPT]
            return Unreadable(str(error), line[:KEPT]) if is_message else Noise(line[:KEPT])
        if isinstance(message, dict):
            return self._read_message(message, text, line)
        return Noise(line[:KEPT]) if self._expects_noise else self._refuse(INVALID_REQUEST, "not a JSON object", line)

    def _read_message(self, message: dict[str, Any], text: str, line: bytes) -> Event:
        method = message.get("method")
        if "method" not in message:
            return self._read_answer(message, line)
        if not isinstance(method, str):
            return self._refuse(INVALID_REQUEST, "the method is not a string", line, message)
        params = message.get("params")
        if "id" not in message:
            self._sequence += 1
            return Notification(method, params, self._sequence, text)
        ident = message["id"]
        if type(ident) not in _ID_TYPES:
            return self._refuse(INVALID_REQUEST, "the id is neither string nor number nor null", line)
        if (type(ident), ident) in self._owed:
            return PeerMistake(f"the id {encode(ident)[:40]} is already in use", line[:KEPT])
        self._owed.add((type(ident), ident))
        return Request(ident, method, params, text)

    def _read_answer(self, message: dict[str, Any], line: bytes) -> Event:
        ident = _number_of(message.get("id"))
        error = message.get("error")
        if ident in self._asked:
            if error is None and "result" not in message:
                error = {"code": INTERNAL_ERROR, "message": "the answer has neither result nor error"}
            return self._settle(ident, message.get("result"), None if error is None else _error_of(error))
        if "result" in message or "error" in message:
            told = f": {_error_of(error).message[:200]}" if error is not None else ""
            return PeerMistake(f"an answer to nothing that is open{told}", line[:KEPT])
        return self._refuse(INVALID_REQUEST, "neither a method nor an answer", line)

    def _settle(self, ident: int, result: Any, error: RpcError | None) -> Response:
        self._sequence += 1
        return Response(ident, self._asked.pop(ident), result, error, self._sequence)

    def _too_long(self, line: TooLong) -> TooLong:
        if not self._expects_noise:
            self._answer_error(None, INVALID_REQUEST, f"the line is longer than {self._lines.limit} bytes")
        return line

    def _refuse(self, code: int, why: str, line: bytes, message: dict[str, Any] | None = None) -> PeerMistake:
        ident = (message or {}).get("id")
        answerable = ident is not None and type(ident) in _ID_TYPES and (type(ident), ident) not in self._owed
        if answerable or not self._expects_noise:
            self._answer_error(ident if answerable else None, code, why)
        return PeerMistake(why, line[:KEPT], is_message=False)

    # -- to the wire --

    def request(self, method: str, params: Any = None) -> int:
        """Ask; the id comes back in the ``Response``.  LocalMistake after the peer's end: nobody would answer."""
        if self.closed:
            raise LocalMistake(f"{method} asked of a peer that has gone")
        ident, self._next_id = self._next_id, self._next_id + 1
        self._asked[ident] = method
        self._send({"id": ident, "method": method} | _params(params))
        return ident

    def reply_unasked(self, ident: RequestId, code: int, message: str) -> None:
        """Answer a request with an error although its line could not be read."""
        if (type(ident), ident) not in self._owed:
            self._answer_error(ident, code, message)

    def notify(self, method: str, params: Any = None) -> None:
        """Tell, without an answer."""
        self._send({"method": method} | _params(params))

    def reply(self, ident: RequestId, result: Any) -> None:
        """Answer a ``Request``; LocalMistake when none with this id is open."""
        self._pay(ident)
        self._send({"id": ident, "result": result})

    def reply_error(self, ident: RequestId, code: int, message: str, data: Any = None) -> None:
        """Answer a ``Request`` with an error; LocalMistake when none with this id is open."""
        self._pay(ident)
        self._answer_error(ident, code, message, data)

    def owes(self, ident: RequestId) -> bool:
        """Whether a ``Request`` with this id is still open."""
        return (type(ident), ident) in self._owed

    def send_text(self, frame: str) -> None:
        """Send a whole message that is already JSON text, without its newline."""
        if "\n" in frame:
            raise LocalMistake("a newline inside a frame would make two lines of it")
        self._out.append(frame)

    def data_to_send(self) -> bytes:
        """The bytes for the peer since the last call, whole lines."""
        if not self._out:
            return b""
        self._out.append("")
        data = to_bytes("\n".join(self._out))
        self._out.clear()
        return data

    def _pay(self, ident: RequestId) -> None:
        try:
            self._owed.remove((type(ident), ident))
        except KeyError:
            raise LocalMistake(f"no open request has the id {ident!r}") from None

    def _answer_error(self, ident: RequestId, code: int, message: str, data: Any = None) -> None:
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        self._send({"id": ident, "error": error})

    def _send(self, message: dict[str, Any]) -> None:
        self._out.append(encode({"jsonrpc": "2.0", **message}))


_ID_TYPES = (int, float, str, type(None))  # compared with type(): True is an int to isinstance


def _params(params: Any) -> dict[str, Any]:
    return {} if params is None else {"params": params}


def _number_of(ident: object) -> int | None:
    """Our number in an answer's id: some peers turn it into 3.0 or "3" on the way."""
    if type(ident) is float and ident.is_integer():
        return int(ident)
    if type(ident) is str and ident.isascii() and ident.isdigit() and len(ident) < 20:
        return int(ident)
    return ident if type(ident) is int else None


def _error_of(value: Any) -> RpcError:
    """An ``error`` member as it should be; what is not of that shape is kept as ``data``."""
    if not isinstance(value, dict):
        return RpcError(INTERNAL_ERROR, "the peer's error has no message", value)
    code, message = value.get("code"), value.get("message")
    return RpcError(
        code if type(code) is int else INTERNAL_ERROR,
        message if isinstance(message, str) else "the peer's error has no message",
        value.get("data"),
    )


def _leading_escapes(text: str) -> int:
    """How many characters of terminal control stand before the first ``{``; 0 when anything else does, or too many."""
    found = _TERMINAL_ESCAPES.match(text, 0, KEPT)
    return found.end() if found and text.startswith("{", found.end()) else 0
