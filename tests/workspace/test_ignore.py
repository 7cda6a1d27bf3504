"""Nothing of ours shows up in the user's status, and their own ignore file is theirs."""

from __future__ import annotations

import shutil
from pathlib import Path

from gzia.workspace.provider import GitWorkspaces, Workspace
from tests.conftest import git


def test_WT_12_status_and_add_see_nothing_of_a_session(ws: Workspace, repo: Path) -> None:
    (ws.directory / "new.txt").write_text("new\n")

    git(repo, "add", "-A")

    assert git(repo, "status", "--porcelain", "--untracked-files=all") == ""
    assert git(repo, "ls-files").split("\n") == ["f.txt"]
    assert not (repo / ".gitignore").exists()


def test_WT_12_the_entry_is_made_once(repo: Path, spaces: GitWorkspaces) -> None:
    exclude = repo / ".git/info/exclude"
    exclude.write_text("# mine\n*.tmp")  # without a line end

    for name in ("a", "b", "c"):
        spaces.prepare(repo, name)

    assert exclude.read_text() == "# mine\n*.tmp\n/.harness/\n"


def test_WT_12_a_missing_info_directory_is_made(repo: Path, spaces: GitWorkspaces) -> None:
    shutil.rmtree(repo / ".git/info")

    spaces.prepare(repo, "x")

    assert (repo / ".git/info/exclude").read_text() == "/.harness/\n"


def test_WT_12_in_a_linked_worktree_the_entry_goes_to_the_shared_directory(repo: Path, spaces: GitWorkspaces) -> None:
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", str(linked))

    spaces.prepare(linked, "x")

    assert "/.harness/\n" in (repo / ".git/info/exclude").read_text()
    assert git(linked, "status", "--porcelain") == ""


def test_WT_12_each_of_the_two_ways_is_enough(ws: Workspace, repo: Path) -> None:
    (repo / ".harness/.gitignore").unlink()
    assert git(repo, "status", "--porcelain") == ""

    (repo / ".harness/.gitignore").write_text("*\n")
    (repo / ".git/info/exclude").unlink()
    assert git(repo, "status", "--porcelain") == ""


def test_WT_12_a_project_that_ignores_it_already_keeps_its_files(repo: Path, spaces: GitWorkspaces) -> None:
    (repo / ".gitignore").write_text(".harness\n")
    (repo / ".harness").mkdir()
    (repo / ".harness/.gitignore").write_text("# mine\n")

    spaces.prepare(repo, "x")

    assert (repo / ".gitignore").read_text() == ".harness\n"
    assert (repo / ".harness/.gitignore").read_text() == "# mine\n"
    assert git(repo, "status", "--porcelain") == "?? .gitignore"
