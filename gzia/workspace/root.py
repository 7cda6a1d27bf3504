"""Which project a directory belongs to."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from gzia.errors import GziaError
from gzia.workspace.git import Answer, Git, failure, no_directory
from gzia.workspace.places import repository


def project_root(directory: Path) -> tuple[Path, bool]:
    """The top of the main checkout and True; outside git, ``directory`` itself (resolved) and False.

    Seen from inside a session's worktree it is the checkout that owns the session.  A submodule and a repository
    inside another are projects of their own.  A repository that git refuses to read is an error, never "outside".
    """
    if not directory.is_dir():
        raise no_directory(directory)
    try:
        answer = Git(directory).attempt("rev-parse", "--show-toplevel")
    except GziaError as problem:
        if problem.code != "git-not-found" or _is_below_a_repository(directory):
            raise
        return directory.resolve(), False
    if answer.status == 0:
        return _main_checkout(Path(os.fsdecode(answer.out).removesuffix("\n"))), True
    if "not a git repository (or any" in answer.err:
        return directory.resolve(), False
    raise _refusal(directory, answer)


def _main_checkout(top: Path) -> Path:
    if top.parent.name == "worktrees" and top.parent.parent.name == ".harness":
        owner = top.parents[2]
        if repository(owner) == repository(top):
            return owner
    return top


def _is_below_a_repository(directory: Path) -> bool:
    place = directory.resolve()
    return any((above / ".git").exists() for above in (place, *place.parents))


def _refusal(directory: Path, answer: Answer) -> GziaError:
    if "dubious ownership" in answer.err:
        return GziaError(
            "repository-not-trusted", f"The repository around {directory} belongs to another user.",
            f"if you trust it: git config --global --add safe.directory {shlex.quote(str(directory))}",
        )  # fmt: skip
    if "must be run in a work tree" in answer.err:
        return GziaError(
            "no-work-tree", f"{directory} is inside a repository that has no files checked out.",
            "go to a checkout, or make one: git worktree add",
        )  # fmt: skip
    return failure(("rev-parse",), answer)
