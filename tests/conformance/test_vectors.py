"""Runs protocol/vectors: what goes in, what must come out.  The format is told in protocol/README.md."""

from __future__ import annotations

import base64
import json
from collections import deque
from pathlib import Path
from typing import Any

import pytest

from gzia.acp import permission
from gzia.acp.agent import AgentSide
from gzia.acp.client import ClientSide
from gzia.jsonrpc.connection import Connection
from gzia.jsonrpc.framing import LIMIT

VECTORS = Path(__file__).parent.parent.parent / "protocol/vectors"

KINDS = {
    "Request": "request", "Notification": "notification", "Response": "response", "Noise": "noise",
    "PeerMistake": "mistake", "TooLong": "too-long", "Closed": "closed",
    "Update": "update", "Answer": "answer", "Refused": "refused", "Mistake": "mistake",
    "AgentRequest": "request", "ClientRequest": "request",
    "AgentNotification": "notification", "ClientNotification": "notification",
}  # fmt: skip
NAMES = {"session_id": "session"}


def vectors(room: str) -> list[Any]:
    return [
        pytest.param(vector, id=f"{path.stem}: {vector['description']}")
        for path in sorted((VECTORS / room).glob("*.json"))
        for vector in json.loads(path.read_text(encoding="utf-8"))
    ]


def connection(vector: dict[str, Any]) -> Connection:
    return Connection(limit=vector.get("limit", LIMIT), expects_noise=vector["side"] == "client")


def side(vector: dict[str, Any]) -> ClientSide | AgentSide:
    kind = ClientSide if vector["side"] == "client" else AgentSide
    return kind(handles=frozenset(vector.get("handles", [])), limit=vector.get("limit", LIMIT))


@pytest.mark.parametrize("vector", vectors("jsonrpc"))
def test_jsonrpc(vector: dict[str, Any]) -> None:
    Run(connection(vector)).steps(vector["steps"])


@pytest.mark.parametrize("vector", vectors("acp"))
def test_acp(vector: dict[str, Any]) -> None:
    Run(side(vector)).steps(vector["steps"])


class Run:
    """One vector against one end."""

    def __init__(self, end: Connection | ClientSide | AgentSide) -> None:
        self.end = end
        self.events: deque[dict[str, Any]] = deque()
        self.lines: deque[Any] = deque()

    def steps(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            self.step(step)
            self.lines.extend(json.loads(line) for line in self.end.data_to_send().split(b"\n")[:-1])
        assert (list(self.events), list(self.lines)) == ([], []), "more came than the vector tells"

    def step(self, step: dict[str, Any]) -> None:
        match step:
            case {"in": str(text)}:
                self.take(text.encode())
            case {"in_base64": str(text)}:
                self.take(base64.b64decode(text))
            case {"in_repeat": [str(text), int(times)]}:
                self.take(text.encode() * times)
            case {"end": True}:
                self.take(b"")
            case {"do": str(verb), **arguments}:
                self.do(verb, arguments)
            case {"event": dict(wanted)}:
                assert covers(self.events.popleft(), wanted)
            case {"out": None}:
                assert list(self.lines) == []
            case {"out": dict(wanted)}:
                assert covers(self.lines.popleft(), wanted)
            case {"choose": dict(question), "outcome": outcome}:
                assert permission.choose(**question) == outcome
            case _:
                pytest.fail(f"unknown step {step}")

    def take(self, data: bytes) -> None:
        for event in self.end.receive_data(data):
            members: dict[str, Any] = {NAMES.get(name, name): plain(value) for name, value in event._asdict().items()}
            self.events.append({**members, "kind": KINDS[type(event).__name__]})

    def do(self, verb: str, arguments: dict[str, Any]) -> None:
        match verb:
            case "request":
                self.end.request(arguments["method"], arguments.get("params"))
            case "reply":
                self.end.reply(arguments["id"], arguments["result"])
            case _:
                pytest.fail(f"unknown verb {verb}")


def plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if hasattr(value, "_asdict"):
        return {name: plain(part) for name, part in value._asdict().items()}
    return list(value) if isinstance(value, tuple) else value


def covers(got: Any, wanted: Any) -> bool:
    """Objects may hold more than is wanted; everything else is equal, with its type: 1, 1.0, true and "1" differ."""
    if isinstance(wanted, dict):
        return isinstance(got, dict) and all(name in got and covers(got[name], part) for name, part in wanted.items())
    if isinstance(wanted, list):
        same_length = isinstance(got, list) and len(got) == len(wanted)
        return same_length and all(covers(a, b) for a, b in zip(got, wanted, strict=True))
    return type(got) is type(wanted) and bool(got == wanted)


def test_a_vector_that_is_not_kept_is_noticed() -> None:
    request = '{"id":1,"method":"m"}\n'

    wrong: list[list[dict[str, Any]]] = [
        [{"in": request}],
        [{"in": request}, {"event": {"kind": "request", "id": 1.0}}],
        [{"in": request}, {"event": {"kind": "request", "id": 1}}, {"out": {"id": 1}}],
    ]
    for steps in wrong:
        with pytest.raises((AssertionError, IndexError)):
            Run(Connection()).steps(steps)
