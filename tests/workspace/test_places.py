"""A session's directory must be a worktree of its repository; anything else in its place is not touched."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gzia.errors import GziaError, NotFoundError
from gzia.workspace.places import git_dir, session_git
from gzia.workspace.provider import GitWorkspaces, Workspace
from tests.conftest import git
from tests.workspace.conftest import code, new_repository, picture


def _lose_the_git_file(ws: Workspace) -> None:
    (ws.directory / ".git").unlink()


def _start_over(ws: Workspace) -> None:
    (ws.directory / ".git").unlink()
    git(ws.directory, "init", "-q")


def _another_repository(ws: Workspace) -> None:
    shutil.rmtree(ws.directory)
    new_repository(ws.directory)


def _link_to_the_main_one(ws: Workspace) -> None:
    (ws.directory / ".git").unlink()
    (ws.directory / ".git").symlink_to(ws.root / ".git")


def _forgotten_by_git(ws: Workspace) -> None:
    shutil.rmtree(ws.root / ".git/worktrees/x")


@pytest.mark.parametrize(
    "damage", [_lose_the_git_file, _start_over, _another_repository, _link_to_the_main_one, _forgotten_by_git]
)
def test_WT_03_what_is_no_worktree_any_more_is_broken_and_never_the_users_checkout(
    ws: Workspace, spaces: GitWorkspaces, damage: Callable[[Workspace], None]
) -> None:
    damage(ws)
    (ws.directory / "work.txt").write_text("work\n")
    before = picture(ws.root)

    for attempt in (spaces.diff, spaces.unsaved, lambda ws: spaces.merge(ws, "x"), lambda ws: spaces.preserve(ws, "x")):
        with pytest.raises(GziaError) as raised:
            attempt(ws)
        assert code(raised) == "worktree-broken"

    assert picture(ws.root) == before
    assert (ws.directory / "work.txt").read_text() == "work\n"


def test_WT_03_a_worktree_that_vanished_is_missing(ws: Workspace, spaces: GitWorkspaces) -> None:
    shutil.rmtree(ws.directory)

    for attempt in (session_git, spaces.diff, lambda ws: spaces.merge(ws, "x")):
        with pytest.raises(NotFoundError) as raised:
            attempt(ws)
        assert code(raised) == "worktree-missing"


def test_only_the_top_of_a_checkout_has_a_git_directory(repo: Path) -> None:
    (repo / "sub").mkdir()

    assert git_dir(repo) == repo / ".git"
    assert git_dir(repo / "sub") is None
    assert git_dir(repo / "f.txt") is None
