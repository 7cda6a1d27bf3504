"""What in the user's checkout forbids a merge.  Only what git would lose counts; all other local edits stay."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from gzia.errors import ConflictError, GziaError
from gzia.workspace import status
from gzia.workspace.git import Git
from gzia.workspace.model import FileChange
from gzia.workspace.places import git_dir

# Files and directories of an operation that waits for the user (gitrepository-layout; wt-status.c reads the same).
UNDERWAY = {
    "MERGE_HEAD": "merge", "rebase-merge": "rebase", "rebase-apply": "rebase", "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert", "sequencer": "cherry-pick",
}  # fmt: skip


def refuse_operation(checkout: Path) -> None:
    """ConflictError ``operation-in-progress`` when a merge, rebase, cherry-pick or revert waits in ``checkout``."""
    place = git_dir(checkout)
    for name, operation in UNDERWAY.items():
        if place and (place / name).exists():
            raise ConflictError(
                "operation-in-progress", f"A {operation} is under way in {checkout}.",
                f"finish it, or give it up: git {operation} --abort", data={"operation": operation},
            )  # fmt: skip


def refuse_lock(checkout: Path) -> None:
    """ConflictError ``checkout-locked`` while the index of ``checkout`` is locked: git would stop half way through."""
    place = git_dir(checkout)
    if place and os.path.lexists(lock := place / "index.lock"):
        raise ConflictError(
            "checkout-locked", f"Another git process is at work in your checkout, or one died and left {lock}.",
            f"when no git runs there: rm {shlex.quote(str(lock))}", data={"path": str(lock)},
        )  # fmt: skip


def head(git: Git) -> tuple[str, str]:
    """The commit and the branch (full name, "" when detached) that the checkout stands on; ``no-commit-yet``."""
    commit = git.attempt("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if commit.status:
        raise GziaError("no-commit-yet", "The current branch has no commit yet.", "make a first commit, then merge")
    branch = git.attempt("symbolic-ref", "--quiet", "HEAD")
    return commit.out.decode().strip(), os.fsdecode(branch.out).strip()


def refuse_to_lose(git: Git, files: Sequence[FileChange], conflicts: Iterable[str]) -> Git:
    """ConflictError ``checkout-dirty``, with the files, when a merge that writes ``files`` would lose local work.

    Otherwise git as it had to be configured to see that.

    That is anything staged (a merge commits the index), an edited or untracked file that the merge writes, and two
    that git overwrites without a word: an ignored file, and an edited one that is marked as "assume unchanged".
    """
    state, able = status.read(git, tracked_only=True)
    renamed = {change.old_path for change in files if change.old_path}
    removed = {change.path for change in files if change.status == "deleted"} | renamed
    added = [change.path for change in files if change.status in ("added", "renamed")]
    touched = {change.path for change in files} | renamed | set(conflicts)
    lost = {*state.staged, *state.unmerged, *(touched & set(state.changed))}
    lost |= _obstacles(git.where, added, removed) | _hidden_edits(git, touched)
    if lost:
        raise dirty(lost)
    return able


def dirty(paths: Iterable[str]) -> ConflictError:
    """The error that names what is in the way."""
    names = sorted(paths)
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return ConflictError(
        "checkout-dirty", f"The merge would lose local changes in your checkout: {shown}.",
        "commit them, or put them aside with: git stash -u", data={"files": names},
    )  # fmt: skip


def _obstacles(root: Path, added: Iterable[str], removed: set[str]) -> set[str]:
    """What lies where the merge makes a new file, and is not a tracked file that the merge takes away."""
    return {found for path in added for found in _in_the_way(root, path) if found not in removed}


def _in_the_way(root: Path, path: str) -> Iterable[str]:
    steps = path.split("/")
    for length in range(1, len(steps) + 1):
        place = "/".join(steps[:length])
        try:
            mode = os.lstat(root / place).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return ()
        if not stat.S_ISDIR(mode):
            return (place,)
    return [str((Path(at) / name).relative_to(root)) for at, _, names in os.walk(root / path) for name in names]


def _hidden_edits(git: Git, touched: set[str]) -> set[str]:
    """Of ``touched``, edited files that status does not show: ``h`` (assume unchanged) or ``S`` (skip worktree)."""
    lines = [os.fsdecode(line) for line in git.run("ls-files", "-z", "-v").split(b"\0") if line]
    marked = {line[2:] for line in lines if line[0] == "S" or line[0].islower()} & touched
    return {path for path in marked if _is_edited(git, path)}


def _is_edited(git: Git, path: str) -> bool:
    place = git.where / path
    if place.is_symlink() or not place.is_file():
        return place.is_symlink()
    return git.line("hash-object", "--", path) != git.line("rev-parse", f":{path}")
