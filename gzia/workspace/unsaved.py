"""What would be lost if a session's worktree and branch were removed."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gzia.errors import GziaError
from gzia.workspace import status
from gzia.workspace.dropped import dropped
from gzia.workspace.forecast import merge_tree
from gzia.workspace.git import Git
from gzia.workspace.model import Unsaved, Workspace
from gzia.workspace.places import git_dir, session_git


def unsaved(ws: Workspace) -> Unsaved:
    """Work that exists nowhere else.

    A commit is safe when another ref holds it, or when merging the session would change nothing in the main checkout's
    HEAD (its changes are there by another way, for example a squash), but never for a merge commit that left its
    changes out (see :mod:`gzia.workspace.dropped`).  Ignored files do not count.  A worktree that is
    gone has only its branch to lose; one that cannot be read is an error (``worktree-broken``), never "nothing".
    """
    if not os.path.lexists(ws.directory):
        return Unsaved((), _unmerged(ws, tips(ws, None)), ())
    git = session_git(ws)
    state, git = status.read(git)
    return Unsaved(state.unsaved, _unmerged(ws, tips(ws, git)), tuple(nested(git, ws.base_commit, state)))


def tips(ws: Workspace, git: Git | None) -> list[str]:
    """The commits that the session stands on: its branch, and its worktree's HEAD where that is another one."""
    found = [Git(ws.root).attempt("rev-parse", "--verify", "--quiet", ws.ref)]
    if git:
        found.append(git.attempt("rev-parse", "--verify", "--quiet", "HEAD"))
    return list(dict.fromkeys(answer.out.decode().strip() for answer in found if answer.status == 0))


def nested(git: Git, base: str | None, state: status.Status) -> Iterator[str]:
    """Submodules and other repositories in the checkout that hold work which is nowhere else.

    ``base`` is the commit that the checkout started from, None when nobody knows.
    """
    for path in dict.fromkeys((*status.gitlinks(git), *state.nested)):
        place = git.where / path
        if git_dir(place) and _holds_work(Git(place), known(git, base, path)):
            yield path


def known(git: Git, base: str | None, path: str) -> str | None:
    """The commit of a submodule that the session started with: the user's own clone has it."""
    answer = git.attempt("rev-parse", "--verify", "--quiet", "--end-of-options", f"{base}:{path}")
    return answer.out.decode().strip() if base and answer.status == 0 else None


def _unmerged(ws: Workspace, tips: list[str]) -> int:
    if not tips:
        return 0
    git = Git(ws.root)
    # Without --single-worktree, the session's own HEAD would count as another place.
    others = ("--not", f"--exclude={ws.ref}", "--single-worktree", "--all")
    count = int(git.run("rev-list", "--count", *tips, *others))
    if count and not all(_is_contained(git, tip) for tip in tips):
        return count
    return max(_dropped(git, ws, tip) for tip in tips)


def _dropped(git: Git, ws: Workspace, tip: str) -> int:
    """How many commits of the session are held only by merges that left their changes out."""
    lost = dropped(git, ws, tip, f"--exclude={ws.ref}", "--single-worktree", "--all")
    if not lost:
        return 0
    around = [f"--no-contains={one.merge}" for one in lost]
    last = lost[0].theirs
    holders = git.run("for-each-ref", "--format=%(refname)", f"--contains={last}", *around).decode().splitlines()
    if set(holders) - {ws.ref}:
        return 0
    return int(git.run("rev-list", "--count", f"{lost[0].ours}..{last}"))


def _is_contained(git: Git, tip: str) -> bool:
    """Whether merging ``tip`` would change nothing."""
    head = git.attempt("rev-parse", "--verify", "--quiet", "HEAD^{tree}")
    try:
        return head.status == 0 and merge_tree(git, "HEAD", tip) == (head.out.decode().strip(), ())
    except GziaError:  # unrelated histories: there is no such merge
        return False


def _holds_work(git: Git, known: str | None) -> bool:
    """Whether a repository has changes, or commits (stashed ones too) that none of its remotes has."""
    state, git = status.read(git)
    own = ("--exclude=refs/tags/*", "--exclude=refs/remotes/*", "--all", "--not", "--remotes")
    words = ("rev-list", "--count", "--single-worktree", *own, *([known] if known else []))
    return bool(state.unsaved or any(nested(git, known, state)) or int(git.run(*words)))
