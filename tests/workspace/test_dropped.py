"""Work that was merged by name only is missed, told and kept; work that truly came in is not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gzia.errors import CONFLICT, ConflictError
from gzia.workspace.provider import GitWorkspaces, Unsaved, Workspace
from tests.conftest import git
from tests.workspace.conftest import code, commit_file, picture

NOTHING = Unsaved((), 0, ())


def lose(ws: Workspace) -> str:
    """A commit of something else, made while MERGE_HEAD names the session; that commit."""
    (ws.root / ".git/MERGE_HEAD").write_text(git(ws.root, "rev-parse", "harness/x") + "\n")
    (ws.root / ".git/MERGE_MODE").write_text("no-ff")
    merge = commit_file(ws.root, "other.txt", "o\n", "something else")
    assert git(ws.root, "rev-list", "--parents", "-1", merge).count(" ") == 2
    return merge


def remedy(raised: pytest.ExceptionInfo[ConflictError], where: Path) -> None:
    """Do what the hint says."""
    subprocess.run(raised.value.hint.partition(": ")[2], shell=True, cwd=where, check=True, capture_output=True)


def test_a_merge_commit_without_the_changes_is_told_and_not_called_merged(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "sp ace.txt", "new\n")
    lost = lose(ws)

    with pytest.raises(ConflictError) as raised:
        spaces.merge(ws, "x")

    assert (code(raised), raised.value.exit_status) == ("changes-dropped", CONFLICT)
    assert raised.value.data == {"commit": lost, "files": ["sp ace.txt"]}
    assert raised.value.message == (
        f"Commit {lost[:12]} merged the session without its changes, which your checkout lacks: sp ace.txt."
    )


def test_a_merge_commit_without_the_changes_leaves_them_to_lose_and_to_keep(
    ws: Workspace, spaces: GitWorkspaces
) -> None:
    commit_file(ws.directory, "a.txt", "a\n")
    tip = commit_file(ws.directory, "b.txt", "b\n")
    lose(ws)
    commit_file(ws.root, "later.txt", "l\n")
    before = [picture(ws.root), picture(ws.directory)]

    assert spaces.unsaved(ws) == Unsaved((), 2, ())
    assert [picture(ws.root), picture(ws.directory)] == before

    kept = spaces.preserve(ws, "x")
    assert kept == "refs/gzia/preserved/x"
    assert git(ws.root, "rev-parse", kept) == tip


def test_the_hint_brings_the_changes_beside_those_of_the_user(ws: Workspace, spaces: GitWorkspaces) -> None:
    lines = [f"{number}\n" for number in range(20)]
    commit_file(ws.root, "long.txt", "".join(lines))
    git(ws.directory, "merge", "-q", "main")
    (ws.directory / "bin").write_bytes(bytes(range(256)))
    git(ws.directory, "add", "bin")
    commit_file(ws.directory, "long.txt", "".join([*lines[:19], "session\n"]))
    commit_file(ws.root, "long.txt", "".join(["user\n", *lines[1:]]))
    for setting in ("color.ui=always", "diff.noprefix=true", "diff.external=false"):
        git(ws.root, "config", *setting.split("="))
    lose(ws)
    with pytest.raises(ConflictError) as raised:
        spaces.merge(ws, "x")

    remedy(raised, ws.root)
    git(ws.root, "commit", "-qm", "brought back")

    assert (ws.root / "long.txt").read_text() == "".join(["user\n", *lines[1:19], "session\n"])
    assert (ws.root / "bin").read_bytes() == bytes(range(256))
    assert spaces.unsaved(ws) == NOTHING
    assert spaces.merge(ws, "x").notes[0].startswith("Nothing to merge")
    commit_file(ws.root, "long.txt", "rewritten later\n")
    assert spaces.unsaved(ws) == NOTHING


def test_staged_changes_are_not_brought_until_they_are_committed(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "a.txt", "a\n")
    lose(ws)

    git(ws.root, "checkout", "harness/x", "--", "a.txt")

    assert spaces.unsaved(ws).unmerged == 1


def test_a_file_that_was_brought_only_in_part_still_counts(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "a.txt", "a\nb\n")
    lose(ws)
    commit_file(ws.root, "a.txt", "a\n")

    assert spaces.unsaved(ws).unmerged == 1


def test_one_file_left_out_of_several_is_named(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "a.txt", "a\n")
    commit_file(ws.directory, "f.txt", "session\n")
    spaces.merge(ws, "x", no_commit=True)
    git(ws.root, "checkout", "HEAD", "--", "f.txt")
    git(ws.root, "commit", "-qm", "half")

    with pytest.raises(ConflictError) as raised:
        spaces.merge(ws, "x")

    assert raised.value.data["files"] == ["f.txt"]
    assert spaces.unsaved(ws).unmerged == 2


def test_new_work_is_merged_and_the_old_that_was_dropped_is_told(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "a.txt", "a\n")
    lost = lose(ws)
    (ws.directory / "b.txt").write_text("b\n")

    result = spaces.merge(ws, "x")

    assert [change.path for change in result.files] == ["b.txt"]
    assert len(result.notes) == 1
    assert result.notes[0].startswith(
        f"Commit {lost[:12]} merged the session without its changes, which your checkout lacks: a.txt. To bring"
    )
    assert spaces.unsaved(ws).unmerged == 1


def test_a_merge_that_a_person_resolved_against_the_session_in_one_file_is_a_merge(
    ws: Workspace, spaces: GitWorkspaces
) -> None:
    commit_file(ws.directory, "a.txt", "a\n")
    commit_file(ws.directory, "f.txt", "session\n")
    commit_file(ws.root, "f.txt", "user\n")
    with pytest.raises(ConflictError):
        spaces.merge(ws, "x", keep=True)

    git(ws.root, "checkout", "--ours", "f.txt")
    git(ws.root, "commit", "-qam", "mine")

    assert spaces.unsaved(ws) == NOTHING
    assert spaces.merge(ws, "x").notes[0].startswith("Nothing to merge")


@pytest.mark.parametrize("way", ["revert", "rewrite", "fast-forward", "other-merges"])
def test_work_that_came_in_and_was_changed_later_is_merged(ws: Workspace, spaces: GitWorkspaces, way: str) -> None:
    commit_file(ws.directory, "a.txt", "a\n")
    if way == "fast-forward":
        git(ws.root, "merge", "-q", "--ff-only", "harness/x")
    else:
        spaces.merge(ws, "x")

    match way:
        case "revert":
            git(ws.root, "revert", "--no-edit", "-m", "1", "HEAD")
        case "other-merges":
            git(ws.root, "checkout", "-q", "-b", "side", "HEAD~1")
            commit_file(ws.root, "side.txt", "s\n")
            git(ws.root, "checkout", "-q", "main")
            git(ws.root, "merge", "-q", "-s", "ours", "--no-edit", "side")
        case _:
            commit_file(ws.root, "a.txt", "other\n")

    assert spaces.unsaved(ws) == NOTHING
    assert spaces.merge(ws, "x").notes[0].startswith("Nothing to merge")


@pytest.mark.parametrize("kind", ["branch", "tag"])
def test_dropped_work_that_another_ref_holds_is_safe(ws: Workspace, spaces: GitWorkspaces, kind: str) -> None:
    commit_file(ws.directory, "a.txt", "a\n")
    lose(ws)

    git(ws.root, kind, "kept", "harness/x")

    assert spaces.unsaved(ws) == NOTHING


def test_dropped_work_of_a_session_whose_start_nobody_knows_counts(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "a.txt", "a\n")
    lose(ws)

    assert spaces.unsaved(Workspace(ws.root, ws.directory, ws.branch, "")).unmerged == 1


def test_dropped_work_counts_whatever_branch_the_user_stands_on(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "a.txt", "a\n")
    lose(ws)

    git(ws.root, "checkout", "-q", "-b", "other", "HEAD~1")

    assert spaces.unsaved(ws).unmerged == 1
    assert [change.path for change in spaces.merge(ws, "x").files] == ["a.txt"]
    assert spaces.unsaved(ws) == NOTHING
