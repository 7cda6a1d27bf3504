"""Keeping the work of a session whose worktree is about to go.

The work becomes a commit on top of the session's branch, under ``refs/gzia/preserved/<id>``, which no ``git gc`` takes
and no ``git branch`` shows; ``git branch NAME refs/gzia/preserved/<id>`` brings it back.  A repository inside the
worktree is kept by the same rule in its own store, and then fetched whole into ``refs/gzia/nested/<id>/<commit>/``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import count

from gzia.errors import GziaError
from gzia.workspace import snapshot, status
from gzia.workspace.commit import NO_HOOKS, identity
from gzia.workspace.git import WORK, Git, failure
from gzia.workspace.model import Workspace
from gzia.workspace.places import session_git
from gzia.workspace.unsaved import known, nested, tips, unsaved

# The worktree is the only copy and goes next: the objects must be on the disk, not on their way to it.
DURABLE = ("core.fsync=all", "core.fsyncMethod=batch", NO_HOOKS)


def preserve(ws: Workspace, session_id: str) -> str | None:
    """Keep what ``unsaved`` finds; the ref that holds it, None when there is nothing to keep.

    An earlier session of this id keeps its ref: then the new one is ``<id>-2`` and so on.  Any error means that the
    worktree must stay.
    """
    if not unsaved(ws):
        return None
    main = Git(ws.root).configured(*DURABLE)
    if os.path.lexists(ws.directory):
        git = session_git(ws).configured(*DURABLE)
        commit = _keep(git, main, session_id, ws.base_commit, tips(ws, git))
    else:
        (commit,) = tips(ws, None)
    return _name(main, f"refs/gzia/preserved/{session_id}", commit)


def _keep(git: Git, main: Git, session_id: str, base: str | None, parents: Sequence[str]) -> str:
    """A commit with the whole content of a checkout; what repositories inside it hold goes to the store of ``main``."""
    state, _ = status.read(git)
    inside = [(path, _fetch(git, main, session_id, base, path)) for path in nested(git, base, state)]
    with snapshot.private_index(git) as private:
        content = snapshot.take(private)
    if len(parents) == 1 and not inside and content.tree == git.line("rev-parse", f"{parents[0]}^{{tree}}"):
        return parents[0]
    message = _message(session_id, content.raw, inside)
    named = git.configured(*identity(git))
    return named.line("commit-tree", content.tree, *(f"-p{parent}" for parent in parents), "-m", message)


def _fetch(git: Git, main: Git, session_id: str, base: str | None, path: str) -> str:
    """Keep the repository at ``path`` in its own store, and bring all of it over; the prefix of its refs here."""
    inner = Git(git.where / path).configured(*DURABLE)
    head = inner.attempt("rev-parse", "--verify", "--quiet", "HEAD")
    parents = [head.out.decode().strip()] if head.status == 0 else []
    commit = _keep(inner, inner, session_id, known(git, base, path), parents)
    kept = _name(inner, f"refs/gzia/preserved/{session_id}", commit).removeprefix("refs/")
    prefix = f"refs/gzia/nested/{session_id}/{commit[:12]}"
    words = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--recurse-submodules=no")
    answer = main.attempt(*words, str(inner.where), f"refs/*:{prefix}/*", deadline=WORK)
    # From a shallow clone git fetches nothing, and ends as if all were well.
    if answer.status or main.attempt("show-ref", "--verify", "--quiet", f"{prefix}/{kept}").status:
        said = answer.err.strip()
        raise GziaError(
            "nested-not-kept", f"The repository {inner.where} cannot be kept{f': {said}' if said else '.'}",
            "move it elsewhere, or if it is shallow, complete it: git fetch --unshallow", data={"path": path},
        )  # fmt: skip
    return prefix


def _message(session_id: str, raw: Iterable[str], inside: Iterable[tuple[str, str]]) -> str:
    notes = [f"{path}: stored as it was on disk, because its filter could not run" for path in raw]
    notes += [f"{path}: a repository of its own, kept under {prefix}/" for path, prefix in inside]
    return "\n".join([f"harness({session_id}): kept before removal", "", *notes])


def _name(git: Git, ref: str, commit: str) -> str:
    """Point a new ref at ``commit``."""
    for number in count(1):
        name = ref if number == 1 else f"{ref}-{number}"
        answer = git.attempt("update-ref", name, commit, "0" * len(commit))
        if answer.status == 0:
            return name
        if git.attempt("show-ref", "--verify", "--quiet", name).status:
            raise failure(("update-ref",), answer)
    raise AssertionError("count() does not end")
