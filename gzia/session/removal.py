"""Letting go of a session's worktree without losing the work in it."""

from __future__ import annotations

from gzia.errors import ConflictError
from gzia.session.ids import SessionId
from gzia.session.ports import Workspaces
from gzia.workspace.model import Unsaved, Workspace


def release(workspaces: Workspaces, ws: Workspace, id: SessionId, force: bool) -> str | None:
    """Remove the worktree and its branch; the ref that keeps what only they held, None when there was nothing.

    ConflictError ``work-would-be-lost`` unless ``force``.  The work is kept before anything is removed.
    """
    unsaved = workspaces.unsaved(ws)
    if unsaved and not force:
        raise _work_would_be_lost(id, unsaved)
    kept = workspaces.preserve(ws, id)  # looks again: a file may have come since
    workspaces.remove(ws)
    return kept


def _work_would_be_lost(id: SessionId, unsaved: Unsaved) -> ConflictError:
    files = [*unsaved.uncommitted, *unsaved.nested]
    named = [", ".join(files[:3]) + (f" and {len(files) - 3} more" if len(files) > 3 else "")] if files else []
    commits = [f"{unsaved.unmerged} unmerged commit{'s' * (unsaved.unmerged != 1)}"] if unsaved.unmerged else []
    return ConflictError(
        "work-would-be-lost",
        f"Session {id} has work that is nowhere else: {'; '.join([*commits, *named])}.",
        f"bring it in: gzia merge {id}; or keep it under refs/gzia/preserved/{id} only: gzia delete --force {id}",
        data={"files": files, "unmerged": unsaved.unmerged},
    )
