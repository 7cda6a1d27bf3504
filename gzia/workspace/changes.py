"""What differs between two trees: per file, and as a patch."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gzia.workspace.git import WORK, Git
from gzia.workspace.model import FileChange
from gzia.workspace.status import GITLINK

STATUS = {"A": "added", "M": "modified", "D": "deleted", "R": "renamed", "T": "type-changed"}

# Neither the user's settings nor a program of theirs may change what the patch says.
OPTIONS = (
    "-r", "-z", "--find-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "--submodule=short",
    "--src-prefix=a/", "--dst-prefix=b/", "--raw", "--numstat",
)  # fmt: skip


def between(git: Git, old: str, new: str) -> tuple[FileChange, ...]:
    """The files that differ between two trees (or commits)."""
    return _split(git.run("diff-tree", *OPTIONS, old, new, "--", deadline=WORK))[0]


def with_patch(git: Git, old: str, new: str) -> tuple[tuple[FileChange, ...], bytes]:
    """The same, and a patch that turns ``old`` into ``new``: binary content, modes and renames included."""
    return _split(git.run("diff-tree", *OPTIONS, "--patch", "--binary", old, new, "--", deadline=WORK))


def _split(out: bytes) -> tuple[tuple[FileChange, ...], bytes]:
    """Take apart raw lines, numstat lines and patch.  With ``-z`` each field ends in NUL, the patch follows one more.

    Raw: ``:MODE MODE ID ID STATUS``, path, and for a rename the new path.  Numstat: ``ADDED DELETED PATH``, or for
    a rename ``ADDED DELETED`` with an empty path, old path, new path; ``-`` for binary (git-diff, "RAW OUTPUT FORMAT").
    """
    fields = _Fields(out)
    raw = list(_raw(fields))
    files = tuple(_numbered(fields, *entry) for entry in raw)
    return files, out[fields.at + 1 :]


class _Fields:
    def __init__(self, out: bytes) -> None:
        self.out, self.at = out, 0

    def take(self) -> str:
        end = self.out.index(b"\0", self.at)
        field, self.at = self.out[self.at : end], end + 1
        return os.fsdecode(field)


def _raw(fields: _Fields) -> Iterator[tuple[str, str, str | None]]:
    while fields.out[fields.at : fields.at + 1] == b":":
        old_mode, new_mode, _, _, letter = fields.take()[1:].split(" ")
        path, old_path = fields.take(), None
        if letter[0] == "R":
            path, old_path = fields.take(), path
        is_pointer = GITLINK in (old_mode, new_mode) and letter == "M"
        yield path, "submodule" if is_pointer else STATUS[letter[0]], old_path


def _numbered(fields: _Fields, path: str, status: str, old_path: str | None) -> FileChange:
    added, deleted, name = fields.take().split("\t", 2)
    if not name:
        fields.take(), fields.take()
    return FileChange(path, old_path, status, *(None if n == "-" else int(n) for n in (added, deleted)))
