"""git's list of worktrees: who is registered where, on which branch, and locked by whom."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gzia.errors import ConflictError
from gzia.workspace.git import Git
from gzia.workspace.model import Workspace


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered worktree; ``ref`` is the full name of its branch, "" when detached, ``reason`` of its lock."""

    directory: Path
    ref: str
    is_locked: bool
    reason: str


def entries(git: Git) -> tuple[Entry, ...]:
    """All worktrees of the repository, the main one first."""
    out = os.fsdecode(git.run("worktree", "list", "--porcelain", "-z"))
    return tuple(_parse(block) for block in out.split("\0\0") if block.strip("\0"))


def _parse(block: str) -> Entry:
    words = dict(_pairs(block))
    return Entry(Path(words["worktree"]), words.get("branch", ""), "locked" in words, words.get("locked", ""))


def _pairs(block: str) -> Iterator[tuple[str, str]]:
    for line in block.strip("\0").split("\0"):
        key, _, value = line.partition(" ")
        yield key, value


def locked(ws: Workspace, reason: str = "") -> ConflictError:
    """The error for a worktree that somebody locked: it stays, whatever was asked."""
    unlock = shlex.join(["git", "-C", str(ws.root), "worktree", "unlock", str(ws.directory)])
    why = f": {reason}" if reason else "."
    return ConflictError("worktree-locked", f"The worktree {ws.directory} is locked{why}", f"unlock it: {unlock}")
