"""Keeping ``.harness`` out of the user's ``git status`` and ``git add -A``, without touching their ``.gitignore``.

Twice, because each way can be undone by accident: a ``.gitignore`` of its own inside ``.harness``, and a line in
``info/exclude`` of the directory that all worktrees share.
"""

from __future__ import annotations

import fcntl
from pathlib import Path

ENTRY = b"/.harness/"
SAME = {ENTRY, b"/.harness", b".harness", b".harness/"}


def ignore_inside(harness: Path) -> bool:
    """Write ``.harness/.gitignore`` unless there is one; whether it was written."""
    try:
        with (harness / ".gitignore").open("xb") as file:
            file.write(b"*\n")
    except FileExistsError:
        return False
    return True


def exclude_in(common: Path) -> None:
    """Add one line to ``info/exclude`` unless it is there, also when two sessions start at once."""
    (common / "info").mkdir(exist_ok=True)
    with (common / "info" / "exclude").open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        text = file.read()
        if not SAME & {line.strip() for line in text.splitlines()}:
            file.write((b"" if text.endswith(b"\n") or not text else b"\n") + ENTRY + b"\n")
