"""Removing one session's worktree and branch, and nothing else.

Never ``git worktree prune``: it would forget every worktree whose disk is not mounted just now.
"""

from __future__ import annotations

import shlex
import shutil
import stat
from pathlib import Path

from gzia.errors import ConflictError, GziaError
from gzia.workspace.commit import NO_HOOKS
from gzia.workspace.entries import entries, locked
from gzia.workspace.git import Git, failure
from gzia.workspace.model import Workspace


def remove(ws: Workspace) -> None:
    """Remove the worktree and its branch.  The caller has made sure that no work is lost.

    What is gone already is no error, so a removal that was cut off can be repeated.  Refused before anything is
    touched: ``worktree-locked``, ``branch-in-use``, ``worktree-broken``.
    """
    git = Git(ws.root).configured(NO_HOOKS)
    listed = entries(git)
    own = next((entry for entry in listed if entry.directory.resolve() == ws.directory.resolve()), None)
    if own and own.is_locked:
        raise locked(ws, own.reason)
    for entry in listed:
        if entry.ref == ws.ref and entry is not own:
            raise _in_use(ws, entry.directory)
    if own:
        _delete(ws.directory)
        git.run("worktree", "remove", "--force", "--", str(own.directory))
    elif ws.directory.exists():
        raise GziaError(
            "worktree-broken", f"{ws.directory} is not a worktree of {ws.root}, so it is not removed.",
            "look at what is in it, and move it away",
        )  # fmt: skip
    _delete_branch(git, ws)


def _in_use(ws: Workspace, directory: Path) -> ConflictError:
    return ConflictError(
        "branch-in-use", f"The branch {ws.branch} is checked out in {directory}.",
        f"switch that to another branch first: {shlex.join(['git', '-C', str(directory), 'switch', '-'])}",
    )  # fmt: skip


def _delete(directory: Path) -> None:
    """Delete the directory ourselves: git refuses while it holds submodules, and stops at read-only directories."""
    try:
        try:
            shutil.rmtree(directory)
        except PermissionError:
            _open_up(directory)
            shutil.rmtree(directory)
    except FileNotFoundError:
        pass
    except OSError as problem:
        raise GziaError(
            "worktree-not-removed", f"The worktree cannot be deleted: {problem}.",
            "end what still uses it, then try again",
        ) from problem  # fmt: skip


def _open_up(directory: Path) -> None:
    """Let the owner into every directory; package caches, for one, are written read-only."""
    directory.chmod(stat.S_IRWXU)
    for child in directory.iterdir():
        if child.is_dir() and not child.is_symlink():
            _open_up(child)


def _delete_branch(git: Git, ws: Workspace) -> None:
    words = ("branch", "--quiet", "-D", "--", ws.branch)
    answer = git.attempt(*words)
    if answer.status and git.attempt("show-ref", "--verify", "--quiet", ws.ref).status == 0:
        raise failure(words, answer)
