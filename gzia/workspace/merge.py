"""A session's work into the main checkout: look first, save, then merge.

Everything that can be refused is refused before anything is written.  The session's uncommitted work is committed on
its own branch before git touches the main checkout, so whatever happens there it is safe.
"""

from __future__ import annotations

from gzia.errors import ConflictError, GziaError
from gzia.workspace import checkout, landing, status
from gzia.workspace.commit import identity, save, sign
from gzia.workspace.dropped import Dropped, dropped
from gzia.workspace.forecast import Forecast, foresee
from gzia.workspace.git import Git
from gzia.workspace.model import MergeResult, Workspace
from gzia.workspace.places import session_git
from gzia.workspace.snapshot import stage


def merge(
    ws: Workspace, session_id: str, *, squash: bool, no_commit: bool, dry_run: bool, keep: bool, patience: float
) -> MergeResult:
    """Merge the session into the branch that the main checkout stands on.

    By default one merge commit; with ``squash`` one ordinary commit; with ``no_commit`` either is left staged.
    ``dry_run`` changes nothing and fills ``conflicts``.  A conflict is an error and leaves the checkout as it was, or
    with ``keep`` has the markers in it.  ``patience``: seconds for a program that signs commits.

    Errors, besides those of ``foresee``, ``land`` and ``refuse_to_lose``: ``worktree-missing``, ``worktree-broken``,
    ``no-commit-yet``, ``operation-in-progress``, ``checkout-locked``, ``changes-dropped``.
    """
    git, main = session_git(ws), Git(ws.root)
    head, branch = checkout.head(main)
    checkout.refuse_operation(ws.root)
    checkout.refuse_operation(ws.directory)
    forecast = foresee(git, main, ws)
    lost = dropped(main, ws, git.line("rev-parse", "HEAD"), head)
    notes = (*_left_behind(forecast), *map(_dropped_note, lost))
    if forecast.is_empty:
        if lost:
            raise _changes_dropped(lost[0])
        return MergeResult(
            None, None, (), ("Nothing to merge: your checkout has all of the session's changes.", *notes)
        )
    checkout.refuse_lock(ws.root)
    main = checkout.refuse_to_lose(main, forecast.files, forecast.conflicts)
    if dry_run:
        return MergeResult(None, None, forecast.files, notes, forecast.conflicts)
    if forecast.conflicts and not keep:
        raise landing.conflict(forecast.conflicts, ws)
    message = f"harness({session_id}): session changes"
    named = identity(main)
    safety, said = (None, ()) if forecast.is_clean else _save(git.configured(*named), message, patience)
    try:
        commit, more = _land(main.configured(*named), ws, head, message, squash, no_commit, keep, patience)
    except GziaError as problem:
        problem.data["safety_commit"] = safety
        raise
    detached = () if branch or commit is None else (_detached(commit),)
    return MergeResult(commit, safety, forecast.files, (*said, *more, *notes, *detached))


def _save(git: Git, message: str, patience: float) -> tuple[str, tuple[str, ...]]:
    """The safety commit: all that is not ignored, as it lies in the worktree."""
    state, git = status.read(git)
    git = stage(git, state.unstaged)
    notes = save(git, message, patience)
    return git.line("rev-parse", "HEAD"), notes


def _land(
    main: Git, ws: Workspace, head: str, message: str, squash: bool, no_commit: bool, keep: bool, patience: float
) -> tuple[str | None, tuple[str, ...]]:
    """Merge, commit and sign; the new commit if there is one, and notes."""
    if no_commit:
        landing.land(main, ws, head, landing.SQUASH if squash else landing.NO_COMMIT, keep=keep)
        return None, ("The changes are staged in your checkout. Finish with git commit, or git reset --merge.",)
    if squash:
        landing.land_as_one(main, ws, head, message, keep=keep)
    else:
        landing.land(main, ws, head, landing.REGULAR, keep=keep)
    notes = sign(main, patience)
    return main.line("rev-parse", "HEAD"), notes


def _left_behind(forecast: Forecast) -> tuple[str, ...]:
    """What a merge cannot bring, because it belongs to other repositories."""
    content = forecast.content
    moved = [change.path for change in forecast.files if change.status == "submodule"]
    return (
        *(f"{path} is a repository of its own and is not merged." for path in content.nested),
        *(
            f"The changes inside the submodule {path} are not committed there and are not merged."
            for path in content.dirty
        ),
        *(f"Of the submodule {path} only the pointer is merged; push its commits from the worktree." for path in moved),
    )


def _changes_dropped(lost: Dropped) -> ConflictError:
    return ConflictError(
        "changes-dropped", f"{_absence(lost)}.", f"bring them in, then commit: {lost.remedy}",
        data={"commit": lost.merge, "files": list(lost.paths)},
    )  # fmt: skip


def _dropped_note(lost: Dropped) -> str:
    return f"{_absence(lost)}. To bring them in: {lost.remedy}"


def _absence(lost: Dropped) -> str:
    shown = ", ".join(lost.paths[:5]) + (f" and {len(lost.paths) - 5} more" if len(lost.paths) > 5 else "")
    return f"Commit {lost.merge[:12]} merged the session without its changes, which your checkout lacks: {shown}"


def _detached(commit: str) -> str:
    return f"HEAD is detached, so no branch holds the new commit. To keep it: git branch NAME {commit[:12]}"
