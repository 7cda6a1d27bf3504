"""Rebuilds a record that is damaged, from what the journal and the disk still tell."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from gzia.errors import GziaError
from gzia.session.ids import SessionId
from gzia.session.layout import Layout
from gzia.session.record import NotARecord, Record, from_json
from gzia.system import jsonl

UNKNOWN_END = "the record was damaged, and no journal tells how the session ended"


def rebuild(layout: Layout, id: SessionId) -> Record:
    """The record of a session whose file says nothing.

    The journal's ``session`` lines carry the record at creation and what changed since; a turn's ``prompt`` line says
    that it ended.  Without a journal, the worktree at least stays within reach.
    """
    lying = _lying_there(layout, id)
    try:
        return from_json(lying | _told(layout, id), id)
    except (NotARecord, GziaError):  # the journal is damaged as well, or cannot be read
        return from_json(lying, id)


def _lying_there(layout: Layout, id: SessionId) -> dict[str, Any]:
    worktree = layout.worktree(id)
    facts: dict[str, Any] = {
        "status": "failed",
        "started_at": _oldest(layout, id),
        "working_dir": str(layout.root),
        "reason": UNKNOWN_END,
        "is_isolated": worktree.is_dir(),
    }
    if facts["is_isolated"]:
        facts |= {"worktree_dir": str(worktree), "branch_name": layout.branch(id)}
    return facts


def _oldest(layout: Layout, id: SessionId) -> str:
    """The earliest time that a file of the session was last written; nothing older is known."""
    times = [path.lstat().st_mtime for path in (*layout.files(id), layout.worktree(id)) if path.exists()]
    oldest = datetime.fromtimestamp(min(times, default=0), UTC)
    return oldest.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _told(layout: Layout, id: SessionId) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for line in jsonl.read(layout.journal(id)):
        match line.value:
            case {"kind": "session", "record": dict(record)}:
                facts |= {"reason": None} | record
            case {"kind": "turn", "state": "started"}:
                facts |= {"status": "running", "finished_at": None, "reason": None}
            case {"kind": "prompt", "stop_reason": "cancelled", "write_admitted": False}:
                pass  # it never ran
            case {"kind": "prompt", "at": at, **rest}:
                facts |= {"status": "failed" if rest.get("error") else "completed", "finished_at": at, "reason": None}
    return facts
