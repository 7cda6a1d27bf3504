"""What the demo agent remembers of a conversation, so that a later process can load it.

One JSONL file a session under the state directory: ``{"cwd": …}`` first, then the session updates of its turns, the
user's chunks among them.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from gzia.system.paths import state_home

Update = dict[str, Any]
SESSION_ID = re.compile(r"[0-9a-f]{32}")


def path_of(session_id: str) -> Path | None:
    """The file of a session, or None for an id that this agent never gave (and that might name a foreign file)."""
    return state_home() / "demo" / f"{session_id}.jsonl" if SESSION_ID.fullmatch(session_id) else None


class Transcript:
    """The updates of one session, on disk as they happen."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, session_id: str, cwd: str) -> Transcript:
        """Start the file of a new session."""
        path = state_home() / "demo" / f"{session_id}.jsonl"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        transcript = cls(path)
        transcript.add({"cwd": cwd})
        return transcript

    @classmethod
    def find(cls, session_id: str) -> Transcript | None:
        """The transcript of an earlier session, or None."""
        path = path_of(session_id)
        return cls(path) if path and path.exists() else None

    def add(self, entry: Update) -> None:
        """Append one line."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")

    def updates(self) -> list[Update]:
        """Every update so far, in order.  A torn last line, left by a crash, is not one."""
        lines = self.path.read_text(encoding="utf-8").split("\n")
        return [update for line in lines[1:-1] if "sessionUpdate" in (update := json.loads(line))]
