"""A session that this process has open, and commands that look on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gzia.driver.turn import PermissionLevel
from gzia.session.journal import Journal, draft
from gzia.session.record import Record
from gzia.session.service import Service


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
