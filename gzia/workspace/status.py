"""What ``git status`` sees in one checkout, sorted by what can be done about it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from gzia.workspace import filters
from gzia.workspace.git import Git

GITLINK = "160000"
"""The mode of an entry that names a commit of another repository."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of porcelain v2 (git-status, "Changed Tracked Entries"); ``kind`` is ``1``, ``u`` or ``?``."""

    kind: str
    path: str
    index: str = "."
    worktree: str = "."
    submodule: str = "N..."
    index_mode: str = ""
    worktree_mode: str = ""

    @property
    def is_pointer_alone_unmoved(self) -> bool:
        """Whether only the files inside a submodule changed."""
        return self.submodule.startswith("S.") and self.index == "."


@dataclass(frozen=True, slots=True)
class Status:
    """Paths by their state; one path can be both staged and changed.

    ``nested`` are repositories that git knows nothing of, ``dirty`` are submodules with changes inside.  An entry
    made by ``git add -N`` counts as staged: git refuses to merge, and even to abort a merge, while there is one.
    """

    staged: tuple[str, ...]
    changed: tuple[str, ...]
    untracked: tuple[str, ...]
    unmerged: tuple[str, ...]
    nested: tuple[str, ...]
    dirty: tuple[str, ...]

    @property
    def unsaved(self) -> tuple[str, ...]:
        """All paths that differ from the last commit."""
        return tuple(dict.fromkeys((*self.staged, *self.changed, *self.untracked, *self.unmerged)))

    @property
    def unstaged(self) -> tuple[str, ...]:
        """All paths whose content on disk is not in the index."""
        return (*self.changed, *self.untracked, *self.unmerged)


def read(git: Git, *, tracked_only: bool = False) -> tuple[Status, Git]:
    """The state of the checkout, and git without the filters that had to be switched off to see it.

    ``tracked_only`` leaves out untracked files and what is inside submodules, which is much faster in large checkouts.
    """
    scope = ("no", "dirty") if tracked_only else ("all", "none")
    options = ("-z", f"--untracked-files={scope[0]}", f"--ignore-submodules={scope[1]}", "--no-renames")
    out, git = filters.run(git, "status", "--porcelain=v2", *options)
    return _sort(list(_parse(out))), git


def gitlinks(git: Git) -> tuple[str, ...]:
    """The paths at which the index holds a commit of another repository: submodules, and repositories added by hand."""
    lines = git.run("ls-files", "-z", "--stage").split(b"\0")
    return tuple(os.fsdecode(line.partition(b"\t")[2]) for line in lines if line.startswith(GITLINK.encode()))


def _parse(out: bytes) -> Iterator[Entry]:
    for line in (os.fsdecode(raw) for raw in out.split(b"\0") if raw):
        kind = line[0]
        if kind == "?":
            yield Entry(kind, line[2:])
        elif kind == "1":
            _, states, submodule, _, index_mode, worktree_mode, _, _, path = line.split(" ", 8)
            yield Entry(kind, path, states[0], states[1], submodule, index_mode, worktree_mode)
        elif kind == "u":
            yield Entry(kind, line.split(" ", 10)[10])


def _sort(entries: list[Entry]) -> Status:
    tracked = [e for e in entries if e.kind == "1"]
    swallowed = [e.path for e in tracked if e.worktree_mode == GITLINK != e.index_mode]
    return Status(
        staged=tuple(e.path for e in tracked if e.index != "." or e.worktree == "A"),
        changed=tuple(e.path for e in tracked if e.worktree != "." and not e.is_pointer_alone_unmoved),
        untracked=tuple(e.path for e in entries if e.kind == "?" and not e.path.endswith("/")),
        unmerged=tuple(e.path for e in entries if e.kind == "u"),
        nested=tuple([e.path.rstrip("/") for e in entries if e.path.endswith("/")] + swallowed),
        dirty=tuple(e.path for e in tracked if e.submodule[0] == "S" and e.submodule[2:] != ".."),
    )
