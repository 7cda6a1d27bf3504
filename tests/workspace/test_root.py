"""A directory belongs to one project, and a repository that cannot be read is never "no repository"."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gzia.errors import GziaError, NotFoundError
from gzia.workspace.provider import GitWorkspaces, Workspace
from tests.conftest import git
from tests.workspace.conftest import code, new_repository


def test_outside_git_the_directory_is_its_own_root(tmp_path: Path, spaces: GitWorkspaces) -> None:
    assert spaces.project_root(tmp_path) == (tmp_path.resolve(), False)


def test_a_subdirectory_belongs_to_the_top(repo: Path, spaces: GitWorkspaces) -> None:
    (repo / "a/b").mkdir(parents=True)

    assert spaces.project_root(repo / "a/b") == (repo, True)


@pytest.mark.parametrize("below", ["", "sub/deep"])
def test_seen_from_inside_a_session_the_root_is_the_main_checkout(
    ws: Workspace, spaces: GitWorkspaces, below: str
) -> None:
    (ws.directory / below).mkdir(parents=True, exist_ok=True)

    assert spaces.project_root(ws.directory / below) == (ws.root, True)


def test_a_foreign_repository_at_such_a_place_is_itself(repo: Path, spaces: GitWorkspaces) -> None:
    foreign = new_repository(repo / ".harness/worktrees/foreign")

    assert spaces.project_root(foreign) == (foreign, True)


def test_a_repository_inside_a_session_is_a_project_of_its_own(ws: Workspace, spaces: GitWorkspaces) -> None:
    inner = new_repository(ws.directory / "vendor/lib")

    assert spaces.project_root(inner) == (inner, True)


def test_a_directory_that_does_not_exist_is_not_found(tmp_path: Path, spaces: GitWorkspaces) -> None:
    with pytest.raises(NotFoundError) as raised:
        spaces.project_root(tmp_path / "gone")

    assert raised.value.code == "directory-not-found"


def test_a_repository_of_another_user_is_not_outside_git(repo: Path, spaces: GitWorkspaces) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a repository away")
    for place in (repo, repo / ".git"):
        os.chown(place, 12345, 12345)

    with pytest.raises(GziaError) as raised:
        spaces.project_root(repo)

    assert code(raised) == "repository-not-trusted"


def test_a_bare_repository_is_not_outside_git(tmp_path: Path, spaces: GitWorkspaces) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")

    with pytest.raises(GziaError) as raised:
        spaces.project_root(tmp_path / "bare.git")

    assert code(raised) == "no-work-tree"


def test_a_worktree_whose_repository_is_gone_is_not_outside_git(repo: Path, spaces: GitWorkspaces) -> None:
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", str(linked))
    (repo / ".git").rename(repo.parent / "elsewhere")

    with pytest.raises(GziaError) as raised:
        spaces.project_root(linked)

    assert raised.value.code == "git-failed"


def test_without_git_a_plain_directory_needs_none_and_a_repository_does(
    repo: Path, tmp_path: Path, spaces: GitWorkspaces
) -> None:
    (tmp_path / "plain").mkdir()
    os.environ["PATH"] = str(tmp_path / "plain")

    assert spaces.project_root(tmp_path / "plain") == (tmp_path / "plain", False)
    with pytest.raises(GziaError) as raised:
        spaces.project_root(repo)
    assert code(raised) == "git-not-found"
