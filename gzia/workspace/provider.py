"""The workspace of a session as the session room sees it: one class, one method per verb.

``GitWorkspaces`` keeps no state and may be used from any thread; its calls block.  An object with the same methods
takes its place where sessions are tested without git.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from gzia.errors import GziaError
from gzia.workspace.create import prepare
from gzia.workspace.diff import diff
from gzia.workspace.merge import merge
from gzia.workspace.model import Diff, FileChange, MergeResult, Unsaved, Workspace
from gzia.workspace.preserve import preserve
from gzia.workspace.remove import remove
from gzia.workspace.root import project_root
from gzia.workspace.unsaved import unsaved

__all__ = ["Diff", "FileChange", "GitWorkspaces", "MergeResult", "Unsaved", "Workspace"]


P = ParamSpec("P")
T = TypeVar("T")

HINT = "check the permissions and the free space there, then try again"


def _mendable(verb: Callable[P, T]) -> Callable[P, T]:
    """A full disk or a missing permission is the user's to mend, not a bug: ``file-trouble`` instead of OSError."""

    @functools.wraps(verb)
    def told(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return verb(*args, **kwargs)
        except OSError as problem:
            raise GziaError("file-trouble", f"The disk refused: {problem}.", HINT) from problem

    return told


class GitWorkspaces:
    """Workspaces that are git worktrees.  ``patience``: seconds that a program which signs commits may take."""

    def __init__(self, patience: float = 30.0) -> None:
        self.patience = patience

    @_mendable
    def project_root(self, directory: Path) -> tuple[Path, bool]:
        """The project that ``directory`` belongs to, and whether it is under git.  See :mod:`gzia.workspace.root`."""
        return project_root(directory)

    @_mendable
    def prepare(self, root: Path, session_id: str, base: str = "HEAD") -> Workspace:
        """A new worktree on a new branch, or an error and nothing.  See :mod:`gzia.workspace.create`."""
        return prepare(root, session_id, base)

    @_mendable
    def diff(self, ws: Workspace) -> Diff:
        """The session's own changes.  See :mod:`gzia.workspace.diff` for the baseline."""
        return diff(ws)

    @_mendable
    def merge(
        self,
        ws: Workspace,
        session_id: str,
        *,
        squash: bool = False,
        no_commit: bool = False,
        dry_run: bool = False,
        keep: bool = False,
    ) -> MergeResult:
        """The session's work into the main checkout.  See :mod:`gzia.workspace.merge`."""
        return merge(
            ws, session_id, squash=squash, no_commit=no_commit, dry_run=dry_run, keep=keep, patience=self.patience
        )

    @_mendable
    def unsaved(self, ws: Workspace) -> Unsaved:
        """What a removal would lose.  See :mod:`gzia.workspace.unsaved`."""
        return unsaved(ws)

    @_mendable
    def preserve(self, ws: Workspace, session_id: str) -> str | None:
        """Keep that under a ref, and name it.  See :mod:`gzia.workspace.preserve`."""
        return preserve(ws, session_id)

    @_mendable
    def remove(self, ws: Workspace) -> None:
        """Remove worktree and branch.  See :mod:`gzia.workspace.remove`."""
        remove(ws)
