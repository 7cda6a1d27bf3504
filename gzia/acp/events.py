"""What comes out of either side of ACP, in the order of the lines that it came from."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

from gzia.jsonrpc.messages import Closed, Noise, RequestId, RpcError


class Update(NamedTuple):
    """One ``session/update`` from an agent; ``text`` is the JSON text of ``update`` as the agent wrote it."""

    session_id: str
    update: dict[str, Any]
    text: str
    seq: int


class Answer(NamedTuple):
    """What we asked was answered; the result of a method of version 1 is checked, and an object even if it was null."""

    id: int
    method: str
    result: Any
    seq: int


class Refused(NamedTuple):
    """What we asked failed, or was answered with something that is not valid."""

    id: int
    method: str
    error: RpcError
    seq: int


class AgentRequest(NamedTuple):
    """The agent asks; it waits for ``reply`` or ``reply_error``."""

    id: RequestId
    method: str
    params: Any


class AgentNotification(NamedTuple):
    """The agent tells something that is not a session update."""

    method: str
    params: Any
    seq: int


class ClientRequest(NamedTuple):
    """The editor asks; it waits for ``reply`` or ``reply_error``."""

    id: RequestId
    method: str
    params: Any


class ClientNotification(NamedTuple):
    """The editor tells, for example ``session/cancel``."""

    method: str
    params: Any
    seq: int


class Mistake(NamedTuple):
    """The peer broke the protocol.  Already answered where that is possible; ``line`` is its beginning."""

    why: str
    line: bytes
    kind: Literal["", "no message", "too long"] = ""


Event: TypeAlias = (
    Update
    | Answer
    | Refused
    | AgentRequest
    | AgentNotification
    | ClientRequest
    | ClientNotification
    | Mistake
    | Noise
    | Closed
)
