"""Only the session's own entry goes, and nothing goes twice or by halves."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gzia.errors import CONFLICT, ConflictError, GziaError
from gzia.workspace.provider import GitWorkspaces, Workspace
from tests.conftest import git
from tests.workspace.conftest import code, commit_file, picture


def test_nothing_of_the_session_is_left(repo: Path, spaces: GitWorkspaces) -> None:
    before = picture(repo)
    ws = spaces.prepare(repo, "x")
    git(ws.directory, "config", "branch.harness/x.description", "about it")
    commit_file(ws.directory, "a", "a\n")
    (ws.directory / "b").touch()

    spaces.remove(ws)

    assert picture(repo) == before
    assert not ws.directory.exists()
    assert "harness/x" not in (repo / ".git/config").read_text()
    assert list((repo / ".git/worktrees").iterdir() if (repo / ".git/worktrees").exists() else []) == []


def test_it_can_be_repeated_after_it_was_cut_off_anywhere(repo: Path, spaces: GitWorkspaces) -> None:
    ws = spaces.prepare(repo, "x")

    shutil.rmtree(ws.directory)
    spaces.remove(ws)
    spaces.remove(ws)

    assert spaces.prepare(repo, "x") == ws


def test_WT_19_a_worktree_on_a_disk_that_is_not_there_survives(
    repo: Path, spaces: GitWorkspaces, tmp_path: Path
) -> None:
    (tmp_path / "ext").mkdir()
    git(repo, "worktree", "add", "-q", "-b", "user/b", str(tmp_path / "ext/b"))
    (tmp_path / "ext").rename(tmp_path / "gone")

    ws = spaces.prepare(repo, "x")
    spaces.merge(ws, "x")
    spaces.remove(ws)
    (tmp_path / "gone").rename(tmp_path / "ext")

    assert git(tmp_path / "ext/b", "status", "--porcelain") == ""


def test_WT_19_the_users_locked_worktree_stays_locked(repo: Path, spaces: GitWorkspaces, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", "-b", "user/c", str(tmp_path / "c"))
    git(repo, "worktree", "lock", "--reason", "in use by ann", str(tmp_path / "c"))

    spaces.remove(spaces.prepare(repo, "x"))

    assert "\nlocked in use by ann" in git(repo, "worktree", "list", "--porcelain")


@pytest.mark.parametrize("is_gone", [False, True])
def test_WT_19_a_locked_session_is_not_removed_and_the_way_out_works(
    ws: Workspace, repo: Path, spaces: GitWorkspaces, is_gone: bool
) -> None:
    git(repo, "worktree", "lock", "--reason", "ann looks\nat it", str(ws.directory))
    if is_gone:
        shutil.rmtree(ws.directory)
    before = picture(repo)

    with pytest.raises(ConflictError) as raised:
        spaces.remove(ws)

    assert (code(raised), raised.value.exit_status) == ("worktree-locked", CONFLICT)
    assert "ann looks" in raised.value.message
    assert picture(repo) == before
    assert ws.directory.exists() is not is_gone
    os.system(raised.value.hint.removeprefix("unlock it: "))
    spaces.remove(ws)
    assert spaces.prepare(repo, "x") == ws


def test_WT_19_a_locked_entry_without_directory_or_branch_is_named_by_prepare(
    ws: Workspace, repo: Path, spaces: GitWorkspaces
) -> None:
    git(repo, "worktree", "lock", str(ws.directory))
    shutil.rmtree(ws.directory)
    git(repo, "update-ref", "-d", ws.ref)

    with pytest.raises(ConflictError) as raised:
        spaces.prepare(repo, "x")

    assert code(raised) == "worktree-locked"
    assert not ws.directory.exists()
    assert git(repo, "branch", "--list", "harness/*") == ""
    assert "locked" in git(repo, "worktree", "list", "--porcelain")


def test_a_branch_that_is_checked_out_elsewhere_stays(ws: Workspace, repo: Path, spaces: GitWorkspaces) -> None:
    git(ws.directory, "checkout", "-q", "--detach")
    git(repo, "checkout", "-q", "harness/x")

    with pytest.raises(ConflictError) as raised:
        spaces.remove(ws)

    assert code(raised) == "branch-in-use"
    assert ws.directory.exists()


def test_a_directory_that_git_does_not_know_is_not_deleted(ws: Workspace, repo: Path, spaces: GitWorkspaces) -> None:
    shutil.rmtree(repo / ".git/worktrees/x")
    (ws.directory / "work").write_text("work\n")

    with pytest.raises(GziaError) as raised:
        spaces.remove(ws)

    assert code(raised) == "worktree-broken"
    assert (ws.directory / "work").read_text() == "work\n"


def test_a_link_inside_leads_the_deletion_nowhere(ws: Workspace, spaces: GitWorkspaces, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").touch()
    (ws.directory / "link").symlink_to(tmp_path / "precious")

    spaces.remove(ws)

    assert (tmp_path / "precious/file").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_directories_are_no_obstacle(ws: Workspace, spaces: GitWorkspaces) -> None:
    (ws.directory / "cache/deep").mkdir(parents=True)
    (ws.directory / "cache/deep/file").touch()
    (ws.directory / "cache/deep").chmod(0o500)
    (ws.directory / "cache").chmod(0o000)

    spaces.remove(ws)

    assert not ws.directory.exists()
