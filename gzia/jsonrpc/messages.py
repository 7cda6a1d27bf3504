"""What comes out of a connection: one event for each line, and one for its end.

Named tuples, because twenty thousand of them in a second must cost little.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

RequestId: TypeAlias = int | float | str | None
"""Ids are echoed with their type: 1, 1.0 and "1" are three ids on the wire, and null and 0 are ids too."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603


class LocalMistake(Exception):
    """Our own side tried to break the protocol: a bug in the caller, never something that the peer did."""


class RpcError(NamedTuple):
    """The ``error`` member of an answer."""

    code: int
    message: str
    data: Any = None


class Request(NamedTuple):
    """The peer asks and waits for ``reply`` or ``reply_error`` with this id; ``text`` is the whole line."""

    id: RequestId
    method: str
    params: Any
    text: str


class Notification(NamedTuple):
    """The peer tells; ``seq`` is the receive sequence, ``text`` the whole line."""

    method: str
    params: Any
    seq: int
    text: str


class Response(NamedTuple):
    """The peer answers what we asked as ``method``; either ``error`` or ``result`` counts."""

    id: int
    method: str
    result: Any
    error: RpcError | None
    seq: int


class Taught(NamedTuple):
    """A notification in a form that the owner taught: the ``value`` in the middle, and exactly its ``text``."""

    tag: str
    value: Any
    text: str
    seq: int


class Noise(NamedTuple):
    """A line that is not a JSON object, from a peer whose stdout may carry such; the beginning of it."""

    line: bytes


class PeerMistake(NamedTuple):
    """The peer sent something that JSON-RPC forbids; where it wants an answer, the answer is already queued."""

    why: str
    line: bytes
    is_message: bool = True  # else the line is none of JSON-RPC at all


class TooLong(NamedTuple):
    """A line beyond the limit was skipped; ``head`` is its beginning, enough to guess what it was."""

    head: bytes


class Unreadable(NamedTuple):
    """A line that begins as a message and cannot be parsed (NaN, too deep, a number out of range): it is lost."""

    why: str
    head: bytes


class Closed(NamedTuple):
    """The peer's end of stream; ``unanswered`` are our requests that nobody will answer."""

    unanswered: tuple[int, ...]


Event: TypeAlias = Request | Notification | Response | Taught | Noise | PeerMistake | TooLong | Unreadable | Closed
