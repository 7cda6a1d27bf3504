"""A worktree's whole content as a tree, without touching any index.

git works on a copy of the index in a temporary directory; where nothing shall stay behind, new objects go to a
temporary store as well.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gzia.errors import GziaError, NotFoundError
from gzia.workspace import filters, status
from gzia.workspace.git import WORK, Git
from gzia.workspace.places import common_dir, git_dir


@dataclass(frozen=True, slots=True)
class Snapshot:
    """``tree`` holds all that is not ignored; ``nested`` and ``dirty`` (see Status) are repositories it cannot hold.

    ``raw`` are paths stored as they lie on disk because their filter cannot run, ``unmerged`` those stored with
    conflict markers.
    """

    tree: str
    nested: tuple[str, ...]
    dirty: tuple[str, ...]
    raw: tuple[str, ...]
    unmerged: tuple[str, ...]


def tip(git: Git) -> tuple[str, str]:
    """The commit that the worktree stands on, and its tree; NotFoundError ``branch-missing``."""
    answer = git.attempt("rev-parse", "HEAD", "HEAD^{tree}")
    if answer.status:
        raise NotFoundError(
            "branch-missing", f"The branch that {git.where} stands on is gone.", "look at its last commits: git reflog",
        )  # fmt: skip
    commit, tree = answer.out.decode().split()
    return commit, tree


def take(git: Git) -> Snapshot:
    """The content of the checkout of ``git``, whose index must be a private one."""
    state, git = status.read(git)
    git = stage(git, state.unstaged)
    tree = git.line("write-tree")
    raw = filters.left_raw(git, state.unstaged)
    return Snapshot(tree, state.nested, state.dirty, raw, state.unmerged)


def stage(git: Git, paths: Iterable[str]) -> Git:
    """Put ``paths`` as they are on disk (or are not) into the index; git without the filters that failed.

    ``git add`` would read the names as patterns, and take a repository in the worktree for a submodule.
    """
    feed = b"".join(os.fsencode(path) + b"\0" for path in paths)
    if not feed:
        return git
    words = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
    return filters.run(git, *words, feed=feed, deadline=WORK)[1]


@contextmanager
def private_index(git: Git) -> Iterator[Git]:
    """git with a copy of its index, thrown away at the end."""
    own = _own(git.where)
    with tempfile.TemporaryDirectory(prefix="gzia-") as place:
        index = Path(place) / "index"
        if (own / "index").exists():
            # With its time: an entry as young as the index is one that git must look at again ("racy git").
            shutil.copy2(own / "index", index)
        yield git.within({"GIT_INDEX_FILE": str(index)})


@contextmanager
def private_objects(root: Path) -> Iterator[Mapping[str, str]]:
    """Variables that send new objects to a store of their own, thrown away at the end; old ones are found as ever.

    It lies in ``.harness``, because the usual place for temporary files may be small, or memory.
    """
    own = _own(root)
    with tempfile.TemporaryDirectory(prefix="objects-", dir=root / ".harness") as place:
        # The list is separated by colons; a name in double quotes may hold them (git, "GIT_ALTERNATE_…").
        objects = str(common_dir(own) / "objects").replace("\\", "\\\\").replace('"', '\\"')
        yield {"GIT_OBJECT_DIRECTORY": place, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{objects}"'}


def _own(checkout: Path) -> Path:
    found = git_dir(checkout)
    if found is None:
        hint = f"look at it with: ls -la {shlex.quote(str(checkout))}"
        raise GziaError("worktree-broken", f"{checkout} is not a checkout any more.", hint)
    return found
