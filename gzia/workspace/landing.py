"""Bringing the session's branch into the user's checkout: all of it, or the checkout is as it was."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from gzia.errors import ConflictError, DeadlineError, GziaError
from gzia.workspace import checkout
from gzia.workspace.commit import commit, reason
from gzia.workspace.git import WORK, Answer, Git
from gzia.workspace.model import Workspace

# Said in full, so that the user's settings (merge.ff, branch.<name>.mergeOptions) cannot turn one into another.
# Never a fast-forward: a session is one commit on the first-parent line, which `git revert -m 1` takes back.
REGULAR = ("--no-ff", "--no-squash", "--commit")
NO_COMMIT = ("--no-ff", "--no-squash", "--no-commit")
SQUASH = ("--ff", "--squash", "--no-commit")


def land(git: Git, ws: Workspace, head: str, kind: tuple[str, ...], *, keep: bool) -> None:
    """Run ``git merge`` in the main checkout, which stands on the commit ``head``.

    ``merge-conflict``: undone, or with ``keep`` left for the user to resolve.  ``checkout-dirty``: git saw local work
    in the way.  ``merge-failed``: git or a hook refused; undone.
    """
    answer = _merge(git, ws, head, kind)
    if answer.status == 0:
        return
    if paths := _overwritten(answer):
        raise checkout.dirty(paths)  # git has not begun, so there is nothing to take back
    unmerged = _unmerged(git)
    if unmerged and keep:
        raise conflict(unmerged, ws, kept_in=git)
    undo(git, head)
    raise conflict(unmerged, ws) if unmerged else _failed(reason(answer))


def land_as_one(git: Git, ws: Workspace, head: str, message: str, *, keep: bool) -> None:
    """The same with ``git merge --squash``, and one commit of the result."""
    land(git, ws, head, SQUASH, keep=keep)
    if problem := commit(git, message):
        undo(git, head)
        raise _failed(problem)


def conflict(paths: Iterable[str], ws: Workspace, kept_in: Git | None = None) -> ConflictError:
    """The error that names the files of which both sides changed the same lines."""
    names = list(paths)
    if kept_in:
        hint = f"resolve and add them in {kept_in.where}, then: git commit; or give up: git reset --merge"
    else:
        hint = f"resolve them in your checkout: gzia merge --keep {ws.directory.name}"
    return ConflictError(
        "merge-conflict", f"Your checkout and the session changed the same lines: {', '.join(names)}.", hint,
        data={"files": names, "kept": kept_in is not None},
    )  # fmt: skip


def undo(git: Git, head: str) -> None:
    """Take back a merge that stopped half way.  Edits in files that the merge did not write stay as they are."""
    answer = git.attempt("reset", "--quiet", "--merge", head, deadline=WORK)
    if answer.status:
        raise GziaError(
            "merge-half-done", f"The merge stopped, and taking it back failed: {reason(answer)}",
            "look at git status in your checkout, then: git merge --abort",
        )  # fmt: skip


def _merge(git: Git, ws: Workspace, head: str, kind: tuple[str, ...]) -> Answer:
    options = ("--quiet", "--no-edit", "--no-stat", "--no-autostash", "--no-gpg-sign", *kind)
    try:
        return git.attempt("merge", *options, "-m", f"Merge branch '{ws.branch}'", ws.ref, deadline=WORK)
    except DeadlineError:
        undo(git, head)
        raise


def _unmerged(git: Git) -> tuple[str, ...]:
    lines = git.run("ls-files", "-z", "--unmerged").split(b"\0")
    return tuple(dict.fromkeys(os.fsdecode(line.partition(b"\t")[2]) for line in lines if line))


def _overwritten(answer: Answer) -> list[str]:
    """Local work that git saw in the way: it appeared after we had looked."""
    found = re.search(r"would be (?:overwritten|removed) by merge:\n((?:\s+.+\n)+)", answer.err)
    return [line.strip() for line in found[1].splitlines()] if found else []


def _failed(problem: str) -> GziaError:
    return GziaError(
        "merge-failed", f"git did not merge, and your checkout is as it was: {problem}",
        "mend that, or finish by hand after: gzia merge --no-commit",
    )  # fmt: skip
