"""What would be lost is counted, whatever the session did; what is safe is not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gzia.workspace.provider import GitWorkspaces, Unsaved, Workspace
from tests.conftest import git
from tests.workspace.conftest import commit_file, new_repository, picture

NOTHING = Unsaved((), 0, ())


def test_a_fresh_session_has_nothing_to_lose(ws: Workspace, spaces: GitWorkspaces) -> None:
    found = spaces.unsaved(ws)

    assert found == NOTHING
    assert not found


def test_every_kind_of_uncommitted_change_counts(ws: Workspace, spaces: GitWorkspaces) -> None:
    (ws.directory / "staged").touch()
    (ws.directory / "intended").touch()
    git(ws.directory, "add", "staged")
    git(ws.directory, "add", "-N", "intended")
    (ws.directory / "f.txt").unlink()
    (ws.directory / "deep").mkdir()
    (ws.directory / "deep/new").touch()

    found = spaces.unsaved(ws)

    assert sorted(found.uncommitted) == ["deep/new", "f.txt", "intended", "staged"]
    assert found


def test_ignored_files_do_not_count(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.root, ".gitignore", "build/\n")
    git(ws.directory, "merge", "-q", "main")
    (ws.directory / "build").mkdir()
    (ws.directory / "build/out").touch()

    assert spaces.unsaved(ws) == NOTHING


def test_looking_changes_nothing(ws: Workspace, spaces: GitWorkspaces) -> None:
    (ws.directory / "new").touch()
    commit_file(ws.directory, "committed", "c\n")
    before = [picture(ws.root), picture(ws.directory)]

    spaces.unsaved(ws)

    assert [picture(ws.root), picture(ws.directory)] == before


def test_commits_that_only_the_session_has_count(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "a", "a\n")
    commit_file(ws.directory, "b", "b\n")

    assert spaces.unsaved(ws) == Unsaved((), 2, ())


def test_commits_on_no_branch_at_all_count(ws: Workspace, spaces: GitWorkspaces) -> None:
    git(ws.directory, "checkout", "-q", "--detach")
    commit_file(ws.directory, "a", "a\n")

    assert spaces.unsaved(ws) == Unsaved((), 1, ())


def test_commits_left_on_the_branch_count_although_the_worktree_stands_elsewhere(
    ws: Workspace, spaces: GitWorkspaces
) -> None:
    commit_file(ws.directory, "a", "a\n")
    git(ws.directory, "checkout", "-q", "--detach", "main")

    assert spaces.unsaved(ws) == Unsaved((), 1, ())


@pytest.mark.parametrize("elsewhere", ["branch", "tag", "merge", "squash", "cherry-pick", "rebased"])
def test_commits_that_are_safe_elsewhere_do_not_count(ws: Workspace, spaces: GitWorkspaces, elsewhere: str) -> None:
    tip = commit_file(ws.directory, "a", "a\n")
    commit_file(ws.root, "other", "o\n")

    match elsewhere:
        case "branch" | "tag":
            git(ws.root, elsewhere, "kept", tip)
        case "merge" | "squash":
            spaces.merge(ws, "x", squash=elsewhere == "squash")
        case "cherry-pick":
            git(ws.root, "cherry-pick", tip)
        case _:
            git(ws.root, "checkout", "-q", "-b", "copy", tip)
            git(ws.root, "rebase", "-q", "main")

    assert spaces.unsaved(ws) == NOTHING


def test_what_is_only_staged_in_the_checkout_is_not_safe_yet(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "a", "a\n")
    spaces.merge(ws, "x", no_commit=True)

    assert spaces.unsaved(ws).unmerged == 1


def test_a_history_that_has_nothing_in_common_counts(ws: Workspace, spaces: GitWorkspaces) -> None:
    git(ws.directory, "checkout", "-q", "--orphan", "fresh")
    commit_file(ws.directory, "a", "a\n")
    git(ws.directory, "checkout", "-q", "-B", "harness/x")
    git(ws.directory, "branch", "-q", "-D", "fresh") if git(ws.root, "branch", "--list", "fresh") else None

    assert spaces.unsaved(ws).unmerged == 1


@pytest.mark.parametrize("is_unborn", [False, True])
def test_a_repository_inside_that_is_nowhere_else_counts(ws: Workspace, spaces: GitWorkspaces, is_unborn: bool) -> None:
    if is_unborn:
        (ws.directory / "inner").mkdir()
        git(ws.directory / "inner", "init", "-q")
        (ws.directory / "inner/new").touch()
    else:
        new_repository(ws.directory / "inner")

    assert spaces.unsaved(ws) == Unsaved((), 0, ("inner",))


def test_a_repository_that_took_the_place_of_a_file_counts(ws: Workspace, spaces: GitWorkspaces) -> None:
    (ws.directory / "f.txt").unlink()
    new_repository(ws.directory / "f.txt")

    assert spaces.unsaved(ws) == Unsaved(("f.txt",), 0, ("f.txt",))


def test_a_repository_that_was_committed_as_a_pointer_counts(ws: Workspace, spaces: GitWorkspaces) -> None:
    new_repository(ws.directory / "inner")
    git(ws.directory, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
    git(ws.directory, "commit", "-qm", "a pointer to nowhere")

    assert spaces.unsaved(ws) == Unsaved((), 1, ("inner",))


def test_a_clone_without_changes_of_its_own_does_not_count(
    ws: Workspace, spaces: GitWorkspaces, tmp_path: Path
) -> None:
    origin = new_repository(tmp_path / "origin")
    commit_file(origin, "b", "b\n")
    git(origin, "tag", "v1")
    git(origin, "reset", "-q", "--hard", "HEAD~1")
    git(ws.directory, "clone", "-q", str(origin), "inner")
    assert spaces.unsaved(ws) == NOTHING

    git(ws.directory / "inner", "config", "user.name", "A")
    git(ws.directory / "inner", "config", "user.email", "a@b")
    commit_file(ws.directory / "inner", "a", "a\n")
    assert spaces.unsaved(ws) == Unsaved((), 0, ("inner",))


def test_of_a_worktree_that_vanished_the_branch_is_left_to_lose(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "a", "a\n")
    shutil.rmtree(ws.directory)
    assert spaces.unsaved(ws) == Unsaved((), 1, ())

    git(ws.root, "update-ref", "-d", ws.ref)
    assert spaces.unsaved(ws) == NOTHING
