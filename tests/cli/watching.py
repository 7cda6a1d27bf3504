"""A session that this process has open, and commands that look on."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from io import BufferedRWPair
from pathlib import Path
from typing import Any

from gzia.driver.turn import PermissionLevel
from gzia.session.journal import Journal, draft
from gzia.session.record import Record
from gzia.session.service import Service
from gzia.system import local_socket
from tests.cli.command import LONG


class Held:
    """A session without an agent: its journal is written by the test, its record says what the test wants."""

    def __init__(self, where: Path, id: str = "x1") -> None:
        self.service = Service(where)
        self.record = self.service.create(
            provider="demo", permission_level=PermissionLevel.SUPERVISED, id=id, isolate=False
        )
        self.journal = Journal(self.service.journal_path(id), id)

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        self.journal.close()

    def say(self, text: str, kind: str = "agent_message_chunk") -> None:
        """One update."""
        update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
        sequences = {"receive_sequence": 1, "order_sequence": 1}
        self.write("update", 1, {**sequences, "event": {"kind": "text_delta", "text": text}, "update": update})

    def write(self, kind: str, turn: int | None, body: dict[str, Any]) -> None:
        """One line."""
        self.journal.write([draft(kind, turn, body)])

    def change(self, **members: Any) -> None:
        """Change the record."""

        def change(record: Record) -> None:
            for name, value in members.items():
                setattr(record, name, value)

        self.service.store.update(self.record.id, change)

    def let_go(self) -> None:
        """Nobody has it open any more; the closing line comes a moment later, as it does in earnest."""
        self.change(host_pid=None, host_identity="", status="completed")
        self.write("session", None, {"state": "closed", "record": {}})

    def lines(self) -> list[dict[str, Any]]:
        """The journal."""
        return [json.loads(line) for line in self.journal.path.read_text(encoding="utf-8").splitlines()]


class Door:
    """The socket of a held session, with answers that the test gives: method -> result, ``None``: none comes.

    An error is answered with ``{"error": …}``.  ``frames`` is what arrived.  A cancelled request gets what stands
    under ``$/cancel_request``.
    """

    def __init__(self, held: Held, answers: Mapping[str, Any]) -> None:
        self.frames: list[dict[str, Any]] = []
        self._answers = {"initialize": {"protocolVersion": 1}, **answers}
        self._listener = local_socket.listen(local_socket.path_for(held.service.root, held.record.id))
        self._listener.setblocking(True)
        self._arrived = threading.Condition()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Door:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()

    def asked(self, method: str) -> dict[str, Any]:
        """The params of the request."""
        return next(dict(frame["params"]) for frame in self.frames if frame["method"] == method)

    def has_got(self, method: str) -> None:
        """Return when such a frame has arrived."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: any(one["method"] == method for one in self.frames), LONG)

    def left(self) -> None:
        """Return when the client is gone."""
        self._thread.join(LONG)

    def _serve(self) -> None:
        peer, _ = self._listener.accept()
        local_socket.stop(self._listener)
        with peer, peer.makefile("rwb") as stream:
            try:
                for line in stream:
                    self._take(json.loads(line), stream)
            except ConnectionResetError:
                pass

    def _take(self, frame: dict[str, Any], stream: BufferedRWPair) -> None:
        with self._arrived:
            self.frames.append(frame)
            self._arrived.notify_all()
        answer, id = self._answers.get(frame["method"]), frame.get("id", frame["params"].get("requestId"))
        if answer == "hang up":
            raise ConnectionResetError
        if answer is not None:
            result = answer if "error" in answer else {"result": answer}
            stream.write(json.dumps({"jsonrpc": "2.0", "id": id, **result}).encode() + b"\n")
            stream.flush()
