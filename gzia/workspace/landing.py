"""Bringing the session's branch into the user's checkout: all of it, or the checkout is as it was."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterable

from gzia.errors import ConflictError, GziaError
from gzia.workspace import checkout
from gzia.workspace.commit import commit, reason
from gzia.workspace.git import LOCKED, PAUSES, WORK, Answer, Git
from gzia.workspace.model import Workspace
from gzia.workspace.places import git_dir

# Said in full, so that the user's settings (merge.ff, branch.<name>.mergeOptions) cannot turn one into another.
# Never a fast-forward: a session is one commit on the first-parent line, which `git revert -m 1` takes back.
REGULAR = ("--no-ff", "--no-squash", "--commit")
NO_COMMIT = ("--no-ff", "--no-squash", "--no-commit")
SQUASH = ("--ff", "--squash", "--no-commit")

# What a merge that waits for its commit leaves in the git directory (branch.c, remove_branch_state).  With the first of
# them the next commit, whatever it holds, counts as the merge.
TRACES = ("MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "MERGE_RR", "AUTO_MERGE", "SQUASH_MSG")


def land(git: Git, ws: Workspace, head: str, kind: tuple[str, ...], *, keep: bool) -> None:
    """Run ``git merge`` in the main checkout, which stands on the commit ``head``.

    ``merge-conflict``: undone, or with ``keep`` left for the user to resolve.  ``checkout-dirty``: git saw local work
    in the way.  ``merge-failed``: git or a hook refused; undone.  ``merge-half-done``: see ``undo``.
    """
    try:
        answer = _merge(git, ws, kind)
        unmerged = _unmerged(git) if answer.status else ()
    except BaseException:  # Ctrl-C or a deadline: the merge must not wait for the user's next commit
        undo(git, ws, head)
        raise
    if answer.status == 0:
        return
    if paths := _overwritten(answer):
        raise checkout.dirty(paths)  # git has not begun, so there is nothing to take back
    if unmerged and keep:
        raise conflict(unmerged, ws, kept_in=git)
    undo(git, ws, head)
    raise conflict(unmerged, ws) if unmerged else _failed(reason(answer))


def land_as_one(git: Git, ws: Workspace, head: str, message: str, *, keep: bool) -> None:
    """The same with ``git merge --squash``, and one commit of the result."""
    land(git, ws, head, SQUASH, keep=keep)
    try:
        problem = commit(git, message)
    except BaseException:  # Ctrl-C: as above
        undo(git, ws, head)
        raise
    if problem:
        undo(git, ws, head)
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


def undo(git: Git, ws: Workspace, head: str) -> None:
    """Take back a merge that stopped half way.  Edits in files that the merge did not write stay as they are.

    ``merge-half-done`` when git cannot: then files may be left as the merge wrote them, but no merge waits.
    """
    try:
        answer = _reset(git, head)
    except BaseException:
        _forget(git, ws)
        raise
    if answer.status:
        _forget(git, ws)
        raise _half_done(git, ws, head, answer)


def _reset(git: Git, head: str) -> Answer:
    """git's own way back; another git that holds the lock is given a moment."""
    words = ("reset", "--quiet", "--merge", head)
    answer = git.attempt(*words, deadline=WORK)
    for pause in PAUSES:
        if not LOCKED.search(answer.err):
            break
        time.sleep(pause)
        answer = git.attempt(*words, deadline=WORK)
    return answer


def _forget(git: Git, ws: Workspace) -> None:
    """Remove what makes the next commit a merge of the session, unless it is of a merge that somebody else began."""
    place = git_dir(git.where)
    if place is None:
        return
    waiting = place / "MERGE_HEAD"
    if waiting.exists() and waiting.read_text().strip() != git.line("rev-parse", ws.ref):
        return
    for name in TRACES:
        (place / name).unlink(missing_ok=True)


def _half_done(git: Git, ws: Workspace, head: str, answer: Answer) -> GziaError:
    found = LOCKED.search(answer.err)
    first = f"when no git runs there: rm {shlex.quote(found[1])}; then" if found else "mend that, then"
    tip = git.line("rev-parse", "--short=12", ws.ref)
    return GziaError(
        "merge-half-done",
        "The merge stopped and could not be taken back, so files in your checkout may be as it wrote them; "
        f"the session's work is safe in {ws.branch} ({tip}): {reason(answer)}",
        f"{first}: git reset --merge {head[:12]}",
    )


def _merge(git: Git, ws: Workspace, kind: tuple[str, ...]) -> Answer:
    options = ("--quiet", "--no-edit", "--no-stat", "--no-autostash", "--no-gpg-sign", *kind)
    return git.attempt("merge", *options, "-m", f"Merge branch '{ws.branch}'", ws.ref, deadline=WORK)


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
