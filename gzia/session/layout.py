"""Where a session's files lie.  The only place that builds a path below ``.harness``, and it takes checked ids only."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gzia.session.ids import SessionId
from gzia.system import jsonl


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one project; ``root`` is the top of its main checkout (outside git: the directory itself)."""

    root: Path

    @property
    def harness(self) -> Path:
        return self.root / ".harness"

    @property
    def sessions(self) -> Path:
        return self.harness / "sessions"

    @property
    def creation_lock(self) -> Path:
        return self.sessions / ".lock"

    def record(self, id: SessionId) -> Path:
        return self.sessions / f"{id}.json"

    def events(self, id: SessionId) -> Path:
        return self.sessions / f"{id}.events.jsonl"

    def journal(self, id: SessionId) -> Path:
        return self.sessions / f"{id}.journal.jsonl"

    def lock(self, id: SessionId) -> Path:
        return self.sessions / f"{id}.lock"

    def worktree(self, id: SessionId) -> Path:
        return self.harness / "worktrees" / id

    def branch(self, id: SessionId) -> str:
        return f"harness/{id}"

    def damaged_records(self, id: SessionId) -> list[Path]:
        """Records of this session that were set aside."""
        return sorted(self.sessions.glob(f"{id}.json.damaged*"))

    def files(self, id: SessionId) -> list[Path]:
        """Every file that gzia may have made for the session, the record last; not each of them exists."""
        record, logs = self.record(id), (self.events(id), self.journal(id))
        aside = [*map(jsonl.damaged_path, logs), *self.damaged_records(id)]
        return [*logs, *aside, record.with_name(f".{record.name}.tmp"), record]
