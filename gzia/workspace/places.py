"""Where git keeps what belongs to a checkout, read from its files (gitrepository-layout, git-worktree "DETAILS").

Asking git instead would cost a process each time and, worse, let it walk upwards: in a session's directory that lost
its ``.git`` file git finds the user's checkout around it.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from gzia.errors import GziaError, NotFoundError
from gzia.workspace.git import Git
from gzia.workspace.model import Workspace


def git_dir(checkout: Path) -> Path | None:
    """The directory that holds HEAD and the index of ``checkout``; None when it is not the top of a checkout."""
    dot = checkout / ".git"
    try:
        place = dot if dot.is_dir() else checkout / _named(dot, "gitdir: ")
    except (OSError, ValueError):
        return None
    return place.resolve() if (place / "HEAD").is_file() else None


def common_dir(git_dir: Path) -> Path:
    """The directory that all worktrees of a repository share: refs, objects, configuration."""
    try:
        return (git_dir / _named(git_dir / "commondir", "")).resolve()
    except FileNotFoundError:
        return git_dir


def repository(checkout: Path) -> Path | None:
    """What tells whether two checkouts belong to the same repository: its common directory."""
    found = git_dir(checkout)
    return common_dir(found) if found else None


def present(ws: Workspace) -> Path:
    """The session's worktree; NotFoundError ``worktree-missing`` when it is not there."""
    if not ws.directory.is_dir():
        raise NotFoundError(
            "worktree-missing", f"The session's worktree {ws.directory} is gone.",
            f"look at what was committed: git log {ws.branch}",
        )  # fmt: skip
    return ws.directory


def session_git(ws: Workspace) -> Git:
    """git in the session's worktree, once it is sure that it is one: ``worktree-missing`` or ``worktree-broken``."""
    own, main = git_dir(present(ws)), git_dir(ws.root)
    if own is None or main is None or own == main or common_dir(own) != common_dir(main):
        repair = shlex.join(["git", "-C", str(ws.root), "worktree", "repair", str(ws.directory)])
        raise GziaError(
            "worktree-broken", f"{ws.directory} is not a worktree of {ws.root} any more.",
            f"move the files that you need elsewhere, or try: {repair}",
        )  # fmt: skip
    return Git(ws.directory)


def _named(file: Path, prefix: str) -> str:
    text = os.fsdecode(file.read_bytes())
    if not text.startswith(prefix):
        raise ValueError(f"{file} does not start with {prefix}")
    return text.removeprefix(prefix).removesuffix("\n")
