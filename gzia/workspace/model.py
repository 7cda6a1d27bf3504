"""The words of this room: a session's working copy, its changes, what a merge did, what a removal would lose.

Paths are text as Python reads them from the file system: bytes that are not UTF-8 are lone surrogates
(``os.fsdecode``), and ``os.fsencode`` gives the exact name back.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where a session works.

    ``root`` is the main checkout, ``directory`` the session's worktree, ``branch`` its short name
    (``harness/<id>``), ``base_commit`` the full id of the commit the session started from; empty when nobody knows.
    """

    root: Path
    directory: Path
    branch: str
    base_commit: str

    @property
    def ref(self) -> str:
        """The branch's full name, which no tag of the same name can shadow."""
        return f"refs/heads/{self.branch}"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed file.

    ``status`` is ``added``, ``modified``, ``deleted``, ``renamed``, ``type-changed`` (a file became a link, say) or
    ``submodule`` (a pointer moved).  ``old_path`` is set for a renamed file.  ``added`` and ``deleted`` count lines;
    None for binary content.
    """

    path: str
    old_path: str | None
    status: str
    added: int | None
    deleted: int | None


@dataclass(frozen=True, slots=True)
class Diff:
    """A session's changes: per file, and as one patch that ``git apply --index`` takes on top of ``base``."""

    files: tuple[FileChange, ...]
    patch: bytes
    base: str


@dataclass(frozen=True, slots=True)
class MergeResult:
    """What a merge did, or with ``dry_run`` would do, to the main checkout.

    ``commit`` is the new commit there, None when none was made; ``safety_commit`` the one that first saved the
    session's uncommitted work on its branch.  ``conflicts`` is filled by a dry run only: a real merge raises instead.
    ``notes`` are sentences for the user.
    """

    commit: str | None
    safety_commit: str | None
    files: tuple[FileChange, ...]
    notes: tuple[str, ...]
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unsaved:
    """What would be lost with the worktree and its branch; true when there is anything.

    ``uncommitted`` are paths, ``unmerged`` counts commits that only the session holds, ``nested`` are repositories
    inside the worktree (submodules too) with changes or commits of their own.
    """

    uncommitted: tuple[str, ...]
    unmerged: int
    nested: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.uncommitted or self.unmerged or self.nested)
