"""Clean and smudge filters (Git-LFS, git-crypt) that a repository wants and this machine cannot run.

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
    names = configured(git)
    if not names:
        raise failure(words, answer)
    plain = without(git, names)
    return plain.run(*words, feed=feed, deadline=deadline), plain


def configured(git: Git) -> tuple[str, ...]:
    """The filters of this repository.  (One that is not required can fail too: git dies with a broken ``process``.)"""
    answer = git.attempt("config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.[^.]*$")
    keys = [os.fsdecode(key) for key in answer.out.split(b"\0") if key]
    return tuple(dict.fromkeys(key.removeprefix("filter.").rpartition(".")[0] for key in keys))


def without(git: Git, names: Iterable[str]) -> Git:
    """git with these filters switched off."""
    off = ("clean=", "smudge=", "process=", "required=false")
    return git.configured(*(f"filter.{name}.{setting}" for name in names for setting in off))


def left_raw(git: Git, paths: Iterable[str]) -> tuple[str, ...]:
    """Of ``paths``, those that a switched-off filter should have changed before git stores them."""
    off = {word.removeprefix("filter.").removesuffix(".required=false") for word in git.settings if _is_off(word)}
    wanted = _filter_of(git, paths) if off else {}
    return tuple(path for path, name in wanted.items() if name in off and not _is_settled(git, path))


def unwritable(git: Git, tree: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Of ``paths`` in ``tree``, those whose filter fails on the way out; one file a filter tells."""
    known = set(configured(git))
    wanted = {path: name for path, name in _filter_of(git, paths).items() if name in known} if known else {}
    samples = {name: path for path, name in wanted.items()}
    failing = {n for n, path in samples.items() if git.attempt("cat-file", "--filters", f"{tree}:{path}").status}
    return tuple(path for path, name in wanted.items() if name in failing)


def refusal(what: str, paths: Iterable[str], said: str = "") -> GziaError:
    """The error for work that must not go on without the filter."""
    message = f"{what} needs a filter that cannot run here"
    return GziaError(
        "filter-failed", f"{message}: {said}" if said else f"{message}.",
        "install it and try again; for Git-LFS, install git-lfs, then: git lfs install", data={"files": list(paths)},
    )  # fmt: skip


def _filter_of(git: Git, paths: Iterable[str]) -> dict[str, str]:
    """The ``filter`` attribute of each path (git-check-attr, ``-z``: path, attribute, value)."""
    feed = b"".join(os.fsencode(path) + b"\0" for path in paths)
    words = [os.fsdecode(word) for word in git.run("check-attr", "-z", "--stdin", "filter", feed=feed).split(b"\0")]
    return dict(zip(words[0::3], words[2::3], strict=False))


def _is_off(setting: str) -> bool:
    return setting.startswith("filter.") and setting.endswith(".required=false")


def _is_settled(git: Git, path: str) -> bool:
    place = git.where / path
    if place.is_symlink() or not place.is_file():
        return True
    with place.open("rb") as file:
        return file.read(len(POINTER)) == POINTER
