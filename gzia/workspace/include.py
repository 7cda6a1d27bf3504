"""Ignored files that an agent needs (``.env``, caches): those which ``.worktreeinclude`` lists are copied.

The file has gitignore syntax and git itself reads it.  Only ignored files are copied: any other untracked file would
show up as the session's own change.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from gzia.workspace.git import WORK, Git, failure

LIST = ".worktreeinclude"
FICLONE = 0x40049409
"""ioctl of Linux: let two files share their blocks until one is written (linux/fs.h)."""


def copy_included(root: Path, directory: Path) -> None:
    """Copy what the checkout at ``root`` lists into the new worktree; never over a file that is there already."""
    if (root / LIST).is_file():
        for path in _listed(Git(root)):
            _copy(root, directory, path)


def _listed(git: Git) -> Iterable[str]:
    wanted = git.run("ls-files", "-z", "--others", "--ignored", f"--exclude-from={LIST}", deadline=WORK)
    # Neither gzia's own files nor a repository inside this one (git names it with a slash at the end).
    paths = [p for p in wanted.split(b"\0") if p and not p.startswith(b".harness/") and not p.endswith(b"/")]
    answer = git.attempt("check-ignore", "-z", "--stdin", feed=b"".join(b"./" + path + b"\0" for path in paths))
    if answer.status > 1:  # 1: none of them
        raise failure(("check-ignore",), answer)
    return [os.fsdecode(path.removeprefix(b"./")) for path in answer.out.split(b"\0") if path]


def _copy(root: Path, directory: Path, path: str) -> None:
    source, target = root / path, directory / path
    if not target.parent.resolve().is_relative_to(directory.resolve()) or os.path.lexists(target):
        return  # a link in the new worktree must not lead the copy out of it
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return  # the commit has a file where the checkout has an ignored directory
    if source.is_symlink():
        target.symlink_to(source.readlink())
    else:
        target.touch(mode=0o600)  # secrets are never open to others, not even for the time of the copy
        _share_blocks(source, target) or shutil.copyfile(source, target)
        shutil.copystat(source, target)


def _share_blocks(source: Path, target: Path) -> bool:
    """Make ``target`` a copy that costs no space; False where the file system cannot."""
    with source.open("rb") as old, target.open("wb") as new:
        try:
            fcntl.ioctl(new, FICLONE, old.fileno())
        except OSError:
            return False
    return True
