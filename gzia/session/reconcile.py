"""Puts right, when somebody reads it, a record that says ``running`` although the gzia that ran it is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gzia.errors import GziaError
from gzia.session.liveness import is_lost
from gzia.session.record import Record, moment
from gzia.session.store import FileStore
from gzia.system import jsonl
from gzia.system.jsonl import Appender, Line

REASON = "the gzia process that ran it ended without finishing"
CHANGED = ("status", "reason", "finished_at", "duration_ms")


def reconcile(store: FileStore, record: Record, now: Callable[[], str]) -> Record:
    """The record as it is true: ``failed`` with a reason, and a closing line in its journal, if its gzia is gone.

    The worktree stays.  The end is dated by the journal's last line, the last sign of life.  Where nothing can be
    written (another user's project, a full disk) the truth is returned all the same, and stored by a later reader.
    """
    if not is_lost(record):
        return record
    try:
        return store.update(record.id, lambda current: _close(store, current, now))
    except GziaError:
        record.finish("failed", record.finished_at or now(), reason=REASON)
        return record


def _close(store: FileStore, record: Record, now: Callable[[], str]) -> None:
    if not is_lost(record):  # it went on, or another reader was faster, while we waited for the lock
        return
    journal = store.layout.journal(record.id)
    last = jsonl.last(journal)
    record.finish("failed", _sign_of_life(last, record) or now(), reason=REASON)
    # First the journal, then the record: killed in between, the next reader finds the session still lost.
    if last is not None and not _is_closed(last):
        with Appender(journal) as writer:
            writer.append(jsonl.dump(_closing_line(last, record, now())))


def _sign_of_life(last: Line | None, record: Record) -> str | None:
    at = last.value.get("at") if last and last.value else None
    try:
        return at if isinstance(at, str) and moment(at) >= moment(record.started_at) else None
    except ValueError:
        return None


def _is_closed(last: Line) -> bool:
    return last.value is not None and (last.value.get("kind"), last.value.get("state")) == ("session", "lost")


def _closing_line(last: Line, record: Record, at: str) -> dict[str, Any]:
    n = last.value.get("n") if last.value else None
    changed = {name: getattr(record, name) for name in CHANGED}
    return {
        "v": 1, "n": n + 1 if isinstance(n, int) else 1, "at": at, "session": record.id, "turn": None,
        "kind": "session", "state": "lost", "record": changed,
    }  # fmt: skip
