"""What a merge would do, found out without doing it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from gzia.errors import ConflictError
from gzia.workspace import changes, filters, snapshot
from gzia.workspace.commit import NOBODY
from gzia.workspace.git import WORK, Git, failure
from gzia.workspace.model import FileChange, Workspace
from gzia.workspace.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Forecast:
    """``files`` would change in the main checkout, ``conflicts`` of them need a person.

    ``is_clean`` says that the session's work is committed already; ``content`` is that work.
    """

    files: tuple[FileChange, ...]
    conflicts: tuple[str, ...]
    content: Snapshot
    is_clean: bool

    @property
    def is_empty(self) -> bool:
        return not self.files and not self.conflicts


def foresee(git: Git, main: Git, ws: Workspace) -> Forecast:
    """Merge the session's work, uncommitted changes included, into the main checkout's HEAD, in memory.

    Errors: ``branch-missing``, ``branch-moved``, ``session-conflicted``, ``filter-failed``.
    """
    _refuse_elsewhere(git, ws)
    tip, tip_tree = snapshot.tip(git)
    with snapshot.private_objects(ws.root) as objects, snapshot.private_index(git.within(objects)) as private:
        content = snapshot.take(private)
        _refuse_unfinished(content, ws)
        there = main.within(objects)
        theirs = tip if content.tree == tip_tree else _commit(there, content.tree, tip)
        tree, conflicts = merge_tree(there, "HEAD", theirs)
        files = changes.between(there, "HEAD", tree)
        _refuse_unwritable(there, tree, files)
        return Forecast(files, conflicts, content, content.tree == tip_tree)


def merge_tree(git: Git, ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    """The tree that a merge makes (with markers where it cannot), and the paths in conflict (git-merge-tree)."""
    words = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs)
    answer = git.attempt(*words, deadline=WORK)
    if answer.status not in (0, 1):
        raise failure(words, answer)
    tree, *names = [os.fsdecode(field) for field in answer.out.split(b"\0") if field]
    return tree, tuple(names)


def _refuse_elsewhere(git: Git, ws: Workspace) -> None:
    stands_on = os.fsdecode(git.attempt("symbolic-ref", "--quiet", "HEAD").out).strip()
    if stands_on != ws.ref:
        back = shlex.join(["git", "-C", str(ws.directory), "checkout", ws.branch])
        raise ConflictError(
            "branch-moved", f"The session's worktree stands on {stands_on or 'no branch'}, not on {ws.branch}.",
            f"merge that by hand, or go back first: {back}",
        )  # fmt: skip


def _refuse_unfinished(content: Snapshot, ws: Workspace) -> None:
    if content.unmerged:
        raise ConflictError(
            "session-conflicted", f"The session's worktree has unresolved conflicts: {', '.join(content.unmerged)}.",
            f"resolve and add them in {ws.directory}, then try again", data={"files": list(content.unmerged)},
        )  # fmt: skip
    if content.raw:
        raise filters.refusal(f"Committing {', '.join(content.raw)}", content.raw)


def _refuse_unwritable(git: Git, tree: str, files: Iterable[FileChange]) -> None:
    """git would notice half way, with some files written already."""
    written = [change.path for change in files if change.status not in ("deleted", "submodule")]
    if stuck := filters.unwritable(git, tree, written):
        raise filters.refusal(f"Checking out {', '.join(stuck)}", stuck)


def _commit(git: Git, tree: str, parent: str) -> str:
    return git.configured(*NOBODY).line("commit-tree", tree, "-p", parent, "-m", "forecast")
