"""Making a session: first its record, then its worktree; a crash between them leaves something that is listed."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from gzia.errors import ConflictError, GziaError
from gzia.session import ids
from gzia.session.ids import SessionId
from gzia.session.layout import Layout
from gzia.session.ports import Workspaces
from gzia.session.record import Record
from gzia.session.store import FileStore
from gzia.workspace.model import Workspace


def place(record: Record, layout: Layout) -> Record:
    """Name the worktree and the branch of an isolated session in its record.

    Location decides where a session works, not what a file says that may have come with a repository.
    """
    record.worktree_dir = str(layout.worktree(record.id))
    record.branch_name = layout.branch(record.id)
    return record


def reserve(store: FileStore, draft: Record, wanted: SessionId | None) -> Record:
    """Store the draft under the wanted id, or under a new one.  ConflictError ``session-exists``."""
    while True:
        record = replace(draft, id=wanted or ids.mint())
        if record.is_isolated:
            place(record, store.layout)
        try:
            store.create(record)
        except ConflictError as taken:
            if wanted or taken.code != "session-exists":
                raise
        else:
            return record


def isolate(store: FileStore, workspaces: Workspaces, record: Record, base: str) -> Record:
    """Give a stored session its worktree; when that fails, also by Ctrl-C, the session is gone again."""
    made: Workspace | None = None
    try:
        made = workspaces.prepare(store.layout.root, record.id, base)
        commit = made.base_commit
        return store.update(record.id, lambda current: setattr(current, "base_commit", commit))
    except BaseException:
        with contextlib.suppress(GziaError):  # what cannot be taken back stays listed and can be deleted
            store.delete(record.id, lambda _: workspaces.remove(made) if made else None)
        raise
