"""A client on the socket of a running session."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gzia.system import local_socket
from tests.testing.client import Client

SOON = 20.0  # seconds that no answer may take


class Guest(Client):
    """The client, with its connection."""

    connection: socket.socket

    def join(self, method: str = "session/resume") -> Any:
        """Join the session; the result."""
        if method == "session/new":
            return self.call(method, cwd=str(self.cwd), mcpServers=[])
        return self.call(method, sessionId=self.session, cwd=str(self.cwd), mcpServers=[])

    def is_dropped(self) -> bool:
        """Read to the end; it must come."""
        try:
            while self.connection.recv(1 << 20):
                pass
        except ConnectionError:  # dropped with something unread
            pass
        return True


def socket_of(root: Path, session: str) -> Path:
    return local_socket.path_for(root, session)


@contextmanager
def guest(root: Path, session: str, *, policy: Any = None) -> Iterator[Guest]:
    """A client of the session's socket, which has said hello and not joined."""
    connection = local_socket.connect(socket_of(root, session))
    connection.settimeout(SOON)
    with connection, connection.makefile("wb") as stdin, connection.makefile("rb") as stdout:
        client = Guest(stdin, stdout, root)
        client.connection, client.session = connection, session
        if policy:
            client.policy = policy
        client.call("initialize", protocolVersion=1, clientCapabilities={})
        client.frames.clear()
        yield client


def unanswered(params: dict[str, Any]) -> None:
    """A policy: somebody else answers."""


def journal(root: Path, session: str, kind: str = "") -> list[dict[str, Any]]:
    path = root / ".harness/sessions" / f"{session}.journal.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [line for line in lines if kind in ("", line["kind"])]
