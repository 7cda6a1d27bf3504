"""Making a session's worktree: all or nothing.

Each step registers its own undo before the next begins.  The directory and the branch are made by calls that fail when
they exist, so what is undone is always ours, also when two processes want the same id at once.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from pathlib import Path

from gzia.errors import ConflictError, GziaError, UsageError
from gzia.workspace import filters
from gzia.workspace.commit import NO_HOOKS
from gzia.workspace.entries import locked
from gzia.workspace.git import WORK, Answer, Git, failure
from gzia.workspace.ignore import exclude_in, ignore_inside
from gzia.workspace.include import copy_included
from gzia.workspace.model import Workspace
from gzia.workspace.submodules import initialise

_DIRECT = "run without a worktree: --no-isolate"


def prepare(root: Path, session_id: str, base: str) -> Workspace:
    """A new worktree ``.harness/worktrees/<id>`` on a new branch ``harness/<id>`` at the commit ``base``.

    GziaError codes: ``no-commit-yet``, ``base-not-found``, ``worktree-exists``, ``branch-exists``,
    ``branch-in-the-way``, ``harness-in-the-way``, ``worktree-locked``, ``filter-failed``, ``submodule-failed``.
    After any of them, after a full disk and after Ctrl-C nothing is left.
    """
    git = Git(root)
    commit, common = _start(git, base)
    ws = Workspace(root, root / ".harness" / "worktrees" / session_id, f"harness/{session_id}", commit)
    with ExitStack() as undo:
        _claim_directory(ws, undo)
        _claim_branch(git, ws, undo)
        _check_out(git, ws, undo)
        initialise(root, ws.directory)
        copy_included(root, ws.directory)
        exclude_in(common)
        undo.pop_all()
    return ws


def _start(git: Git, base: str) -> tuple[str, Path]:
    """The commit to start from, and the directory that all worktrees share."""
    words = ("rev-parse", "--path-format=absolute", "--git-common-dir", "--verify", "--quiet", "--end-of-options")
    answer = git.attempt(*words, f"{base}^{{commit}}")
    place, _, commit = os.fsdecode(answer.out).removesuffix("\n").rpartition("\n")
    if answer.status == 0:
        return commit, Path(place)
    if not place and not commit:
        raise failure(words, answer)
    if base == "HEAD":
        raise GziaError(
            "no-commit-yet", "There is no commit yet that a session could start from.",
            f"make a first commit, or {_DIRECT}",
        )  # fmt: skip
    raise UsageError("base-not-found", f"“{base}” names no commit here.", "choose one of: git branch -a")


def _claim_directory(ws: Workspace, undo: ExitStack) -> None:
    harness = ws.root / ".harness"
    _make(harness, undo)
    _make(harness / "worktrees", undo)
    try:
        ws.directory.mkdir()
    except FileExistsError:
        raise ConflictError(
            "worktree-exists", f"{ws.directory} exists already.", "choose another id, or move it away",
        ) from None  # fmt: skip
    undo.callback(shutil.rmtree, ws.directory, ignore_errors=True)
    if ignore_inside(harness):
        undo.callback(_forget_ignore, ws)


def _make(directory: Path, undo: ExitStack) -> None:
    """Make ``directory`` unless it is there.  A link is refused: a cloned repository must not send us elsewhere."""
    try:
        directory.mkdir()
        undo.callback(_remove_if_empty, directory)
    except FileExistsError:
        if directory.is_symlink() or not directory.is_dir():
            raise GziaError(
                "harness-in-the-way", f"{directory} is not a directory, so no session can be kept there.",
                f"move it away, or {_DIRECT}",
            ) from None  # fmt: skip


def _forget_ignore(ws: Workspace) -> None:
    """Take back what was written, unless another session lives by it meanwhile."""
    if [entry.name for entry in ws.directory.parent.iterdir()] in ([], [ws.directory.name]):
        (ws.root / ".harness" / ".gitignore").unlink(missing_ok=True)


def _remove_if_empty(directory: Path) -> None:
    try:
        directory.rmdir()
    except OSError:
        pass  # another session has moved in


def _claim_branch(git: Git, ws: Workspace, undo: ExitStack) -> None:
    answer = git.attempt("update-ref", ws.ref, ws.base_commit, "0" * len(ws.base_commit))
    if answer.status:
        raise _branch_problem(git, ws, answer)
    undo.callback(git.attempt, "update-ref", "-d", ws.ref, ws.base_commit)


def _branch_problem(git: Git, ws: Workspace, answer: Answer) -> GziaError:
    found = git.line("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/harness", ws.ref).split("\n")
    if ws.branch in found:
        return ConflictError(
            "branch-exists", f"The branch {ws.branch} exists already.",
            f"choose another id, or remove it when its work is merged: git branch -d {ws.branch}",
        )  # fmt: skip
    for name in found:
        if name == "harness" or name.startswith(f"{ws.branch}/"):
            return ConflictError(
                "branch-in-the-way", f"The branch {name} leaves no room for a branch {ws.branch}.",
                f"rename it: git branch -m {name} {name}-old",
            )  # fmt: skip
    return failure(("update-ref",), answer)


def _check_out(git: Git, ws: Workspace, undo: ExitStack) -> None:
    undo.callback(git.attempt, "worktree", "remove", "--force", str(ws.directory))
    # The user's post-checkout hook is written for their checkout, and when it fails git reports a failure although all
    # has been made.  --force replaces the entry of an earlier session of this id whose directory was removed by hand.
    words = ("worktree", "add", "--force", "--quiet", "--", str(ws.directory), ws.branch)
    answer = git.configured(NO_HOOKS).attempt(*words, deadline=WORK)
    if answer.status == 0:
        return
    if "locked worktree" in answer.err:
        raise locked(ws)
    if any(name in answer.err for name in filters.configured(git)):
        raise filters.refusal("The checkout", (), answer.err.strip())
    raise failure(("worktree add",), answer)
