"""Work that a merge commit brought in by name only.

A merge whose result was lost (its waiting MERGE_HEAD went into a commit of something else, or ``-s ours``) makes the
session's branch an ancestor while its changes are in nobody's files.  By ancestry alone that looks merged, so here the
merge is made again, and the contents are compared.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from gzia.errors import GziaError
from gzia.workspace.commit import NOBODY
from gzia.workspace.forecast import merge_tree
from gzia.workspace.git import WORK, Git
from gzia.workspace.model import Workspace


@dataclass(frozen=True, slots=True)
class Dropped:
    """The commit ``merge`` has ``ours`` and the session's ``theirs`` as parents, and of the latter lacks ``paths``."""

    merge: str
    ours: str
    theirs: str
    paths: tuple[str, ...]

    @property
    def remedy(self) -> str:
        """The command that stages the missing changes.  Plumbing, which no setting of the user turns into colours."""
        words = ("git", "diff-tree", "-p", "--binary", "--merge-base", self.ours[:12], self.theirs[:12], "--")
        return f"{shlex.join((*words, *self.paths))} | git apply --3way"


def dropped(git: Git, ws: Workspace, tip: str, *places: str) -> list[Dropped]:
    """Merges of the session's commits up to ``tip`` that left out changes which no later commit brought.

    ``places`` says where to look, as words for ``git rev-list``; changes brought back elsewhere do not count.
    """
    found = []
    for merge, ours, theirs in _merges(git, _own(git, ws, tip), ws, places):
        paths = _left_out(git, merge, ours, theirs)
        if paths and not _brought_since(git, Dropped(merge, ours, theirs, paths), places):
            found.append(Dropped(merge, ours, theirs, paths))
    return found


def _own(git: Git, ws: Workspace, tip: str) -> set[str]:
    """The session's commits; when nobody knows where it began, the last one."""
    limit = _begins(git, ws)
    return set(git.run("rev-list", "--first-parent", tip, *limit).decode().split()) if limit else {tip}


def _begins(git: Git, ws: Workspace) -> list[str]:
    """A limit for ``git rev-list``: the commit that the session started from, if that is known and still there."""
    base = f"{ws.base_commit}^{{commit}}"
    is_there = ws.base_commit and git.attempt("rev-parse", "--verify", "--quiet", base).status == 0
    return [f"^{ws.base_commit}"] if is_there else []


def _merges(git: Git, own: set[str], ws: Workspace, places: tuple[str, ...]) -> Iterator[tuple[str, str, str]]:
    """Merge commits of others that took one of the session's commits, with both parents."""
    if not own:
        return
    for line in git.run("rev-list", "--merges", "--parents", *places, *_begins(git, ws)).decode().splitlines():
        merge, ours, *taken = line.split()
        if not own & {merge, ours}:
            yield from ((merge, ours, theirs) for theirs in taken if theirs in own)


def _left_out(git: Git, merge: str, ours: str, theirs: str) -> tuple[str, ...]:
    """Files that merging would have changed and that are as before.

    One in conflict is left out by a person, who may have chosen so; it counts only where nothing else came in.
    """
    try:
        tree, conflicts = merge_tree(git, ours, theirs)
    except GziaError:  # unrelated histories: there is no such merge to compare with
        return ()
    due = _differing(git, ours, tree)
    missing = due - _differing(git, ours, merge)
    return tuple(sorted(missing if missing == due else missing - set(conflicts)))


def _brought_since(git: Git, lost: Dropped, places: tuple[str, ...]) -> bool:
    """Whether some commit after the merge has the changes, by whatever way they came."""
    later = git.run("rev-list", *places, f"^{lost.merge}", "--", *_literal(lost.paths)).decode().split()
    return any(_has(git, commit, lost) for commit in later)


def _has(git: Git, commit: str, lost: Dropped) -> bool:
    """Whether merging would change nothing in ``lost.paths``, if ``commit`` and the session had only their base."""
    base = git.line("merge-base", lost.ours, lost.theirs)
    named = git.configured(*NOBODY)
    sides = [
        named.line("commit-tree", f"{side}^{{tree}}", "-p", base, "-m", "compare") for side in (commit, lost.theirs)
    ]
    tree, conflicts = merge_tree(git, sides[0], sides[1])
    return not {*_differing(git, commit, tree), *conflicts} & set(lost.paths)


def _differing(git: Git, old: str, new: str) -> set[str]:
    out = git.run("diff-tree", "-r", "-z", "--name-only", "--no-renames", old, new, "--", deadline=WORK)
    return {os.fsdecode(name) for name in out.split(b"\0") if name}


def _literal(paths: tuple[str, ...]) -> list[str]:
    return [f":(literal,top){path}" for path in paths]
