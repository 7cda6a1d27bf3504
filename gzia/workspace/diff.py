"""A session's own changes, and nobody else's.

Baseline
--------
The changes are measured from the merge base of the main checkout's HEAD and the session's HEAD, so that work which
landed on either side meanwhile is not shown; when HEAD stands on something older than the commit that the session
started from (the user switched branches), from that commit.

When everything has been merged there is no such difference any more.  Then the diff shows what the last merge brought:
from the merge base as it was just before the session's HEAD came into the first-parent line of the main checkout's
HEAD.  (After a fast-forward by hand that point is unknown: from the commit that the session started from.)
"""

from __future__ import annotations

from gzia.workspace import changes, snapshot
from gzia.workspace.git import Git
from gzia.workspace.model import Diff, Workspace
from gzia.workspace.places import session_git


def diff(ws: Workspace) -> Diff:
    """Committed, uncommitted and untracked changes (not ignored ones); leaves no trace in the repository."""
    git, main = session_git(ws), Git(ws.root)
    tip, tip_tree = snapshot.tip(git)
    with snapshot.private_objects(ws.root) as objects, snapshot.private_index(git.within(objects)) as private:
        tree = snapshot.take(private).tree
        base = _baseline(main, tip, ws.base_commit, is_clean=tree == tip_tree)
        files, patch = changes.with_patch(private, base, tree)
    return Diff(files, patch, base)


def _baseline(main: Git, tip: str, started: str, *, is_clean: bool) -> str:
    merge_base = _merge_base(main, "HEAD", tip)
    if merge_base == tip and is_clean:
        return _before_the_merge(main, tip) or started or tip
    if merge_base is None:
        return started if is_ancestor(main, started, tip) else tip
    return started if is_ancestor(main, merge_base, started) and is_ancestor(main, started, tip) else merge_base


def _before_the_merge(main: Git, tip: str) -> str | None:
    """The merge base as it was before the merge that brought ``tip``; None when no merge commit did."""
    after = set(_commits(main, "--ancestry-path", f"{tip}..HEAD"))
    merges = [commit for commit in _commits(main, "--first-parent", f"{tip}..HEAD") if commit in after]
    if not merges:
        return None
    base = _merge_base(main, f"{merges[-1]}^1", tip)
    return None if base == tip else base


def is_ancestor(git: Git, older: str, newer: str) -> bool:
    """Whether ``newer`` contains ``older``."""
    return older == newer or git.attempt("merge-base", "--is-ancestor", older, newer).status == 0


def _merge_base(git: Git, one: str, other: str) -> str | None:
    answer = git.attempt("merge-base", one, other)
    return answer.out.decode().strip() or None


def _commits(git: Git, *words: str) -> list[str]:
    return git.run("rev-list", *words, "--").decode().split()
