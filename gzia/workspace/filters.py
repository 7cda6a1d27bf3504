"""Clean and smudge filters (Git-LFS, git-crypt) that a repository requires and this machine cannot run.

With such a filter even ``git status`` fails.  Looking and saving go on without it: then bytes are kept as they lie on
disk, and whoever saves says so.  A Git-LFS pointer is already what the filter would have made, so it needs no word.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from gzia.errors import GziaError
from gzia.workspace.git import QUESTION, Git, failure

POINTER = b"version https://git-lfs.github.com/spec/"
"""How every Git-LFS pointer file begins (git-lfs docs/spec.md)."""


def run(git: Git, *words: str, feed: bytes = b"", deadline: float = QUESTION) -> tuple[bytes, Git]:
    """Output of ``git words…``, and git as it had to be configured for it: without filters that cannot run."""
    answer = git.attempt(*words, feed=feed, deadline=deadline)
    if answer.status == 0:
        return answer.out, git
    names = required(git)
    if not names:
        raise failure(words, answer)
    plain = without(git, names)
    return plain.run(*words, feed=feed, deadline=deadline), plain


def required(git: Git) -> tuple[str, ...]:
    """The filters without which git refuses to read or write a file."""
    answer = git.attempt("config", "-z", "--type=bool", "--get-regexp", r"^filter\..*\.required$")
    entries = [os.fsdecode(entry).split("\n") for entry in answer.out.split(b"\0") if entry]
    return tuple(name.removeprefix("filter.").removesuffix(".required") for name, value in entries if value == "true")


def without(git: Git, names: Iterable[str]) -> Git:
    """git with these filters switched off."""
    off = ("clean=", "smudge=", "process=", "required=false")
    return git.configured(*(f"filter.{name}.{setting}" for name in names for setting in off))


def left_raw(git: Git, paths: Iterable[str]) -> tuple[str, ...]:
    """Of ``paths``, those that a switched-off filter should have changed before git stores them."""
    off = {word.removeprefix("filter.").removesuffix(".required=false") for word in git.settings if _is_off(word)}
    if not off:
        return ()
    fields = git.run("check-attr", "-z", "--stdin", "filter", feed=b"".join(os.fsencode(p) + b"\0" for p in paths))
    words = [os.fsdecode(word) for word in fields.split(b"\0")]
    wanted = [path for path, name in zip(words[0::3], words[2::3], strict=False) if name in off]
    return tuple(path for path in wanted if not _is_settled(git, path))


def refusal(what: str, paths: Iterable[str], said: str = "") -> GziaError:
    """The error for work that must not go on without the filter."""
    message = f"{what} needs a filter that this repository requires and that cannot run here. {said}"
    return GziaError(
        "filter-failed", message.strip(),
        "Install it (for Git-LFS: git-lfs, then: git lfs install) and try again.", data={"files": list(paths)},
    )  # fmt: skip


def _is_off(setting: str) -> bool:
    return setting.startswith("filter.") and setting.endswith(".required=false")


def _is_settled(git: Git, path: str) -> bool:
    place = git.where / path
    if place.is_symlink() or not place.is_file():
        return True
    with place.open("rb") as file:
        return file.read(len(POINTER)) == POINTER
