"""The diff shows the session's own changes, all of them, and touches nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from gzia.workspace.provider import FileChange, GitWorkspaces, Workspace
from tests.conftest import git
from tests.workspace.conftest import SEVEN, commit_file, files, new_repository, picture, raw_git


def paths(spaces: GitWorkspaces, ws: Workspace) -> list[str]:
    return [change.path for change in spaces.diff(ws).files]


def test_a_fresh_session_has_no_changes(ws: Workspace, spaces: GitWorkspaces) -> None:
    found = spaces.diff(ws)

    assert (found.files, found.patch, found.base) == ((), b"", ws.base_commit)


def test_committed_staged_edited_and_untracked_changes_are_all_there(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "committed", "1\n")
    (ws.directory / "staged").write_text("1\n2\n")
    git(ws.directory, "add", "staged")
    (ws.directory / "f.txt").write_text("two\n")
    (ws.directory / "untracked").write_bytes(b"\0")
    (ws.directory / ".gitignore").write_text("ignored\n")
    (ws.directory / "ignored").write_text("not mine\n")

    assert spaces.diff(ws).files == (
        FileChange(".gitignore", None, "added", 1, 0),
        FileChange("committed", None, "added", 1, 0),
        FileChange("f.txt", None, "modified", 1, 1),
        FileChange("staged", None, "added", 2, 0),
        FileChange("untracked", None, "added", None, None),
    )


@pytest.fixture
def rich(repo: Path, spaces: GitWorkspaces) -> Workspace:
    """A session that does everything a file can suffer."""
    for name, content in {
        "gone": "x\n",
        "old name": "1\n2\n3\n4\n5\n",
        "mode": "m\n",
        "kind": "k\n",
        "dir/a": "a\n",
    }.items():
        commit_file(repo, name, content)
    (repo / "blob").write_bytes(bytes(range(256)))
    git(repo, "add", "blob")
    git(repo, "commit", "-qm", "blob")
    (repo / ".git/info/attributes").write_text("* diff=odd\n")
    ws = spaces.prepare(repo, "x")
    at = ws.directory
    (at / "gone").unlink()
    (at / "old name").rename(at / "néw\nname")
    (at / "mode").chmod(0o755)
    (at / "kind").unlink()
    (at / "kind").symlink_to("f.txt")
    (at / "dir/a").unlink()
    (at / "dir").rmdir()
    (at / "dir").write_text("a file now\n")
    (at / "blob").write_bytes(bytes(range(255, -1, -1)))
    (at / "empty").touch()
    (at / "no end").write_text("no line end")
    (at / "crlf").write_bytes(b"a\r\nb\r\n")
    for odd in SEVEN:
        (at / os.fsdecode(odd)).write_text("odd\n")
    return ws


def test_what_happened_to_each_file_is_told(rich: Workspace, spaces: GitWorkspaces) -> None:
    told = {change.path: (change.status, change.added, change.deleted) for change in spaces.diff(rich).files}

    assert told == {
        "gone": ("deleted", 0, 1),
        "néw\nname": ("renamed", 0, 0),
        "mode": ("modified", 0, 0),
        "kind": ("type-changed", 1, 1),
        "dir/a": ("deleted", 0, 1),
        "dir": ("added", 1, 0),
        "blob": ("modified", None, None),
        "empty": ("added", 0, 0),
        "no end": ("added", 1, 0),
        "crlf": ("added", 2, 0),
        **{os.fsdecode(name): ("added", 1, 0) for name in SEVEN},
    }
    assert [change.old_path for change in spaces.diff(rich).files if change.old_path] == ["old name"]


@pytest.mark.parametrize(
    "setting",
    ["", "diff.noprefix=true", "diff.mnemonicPrefix=true", "diff.external=false", "diff.odd.command=false",
     "diff.odd.textconv=wc", "color.ui=always",
     "core.splitIndex=true", "index.sparse=true", "diff.submodule=log", "diff.renames=false"],
)  # fmt: skip
def test_the_patch_makes_the_same_files_elsewhere_whatever_is_configured(
    rich: Workspace, spaces: GitWorkspaces, tmp_path: Path, setting: str
) -> None:
    other = tmp_path / "other"
    git(rich.root, "clone", "-q", str(rich.root), str(other))
    if setting:
        git(rich.root, "config", *setting.split("="))

    found = spaces.diff(rich)
    subprocess.run(["git", "-C", str(other), "apply", "--index"], input=found.patch, check=True)

    assert files(other) == files(rich.directory)
    assert git(other, "diff", "--name-only") == ""


def test_WT_04_names_that_git_would_quote_are_in_the_diff_and_in_the_merge(
    ws: Workspace, spaces: GitWorkspaces
) -> None:
    for number, name in enumerate(SEVEN):
        (ws.directory / os.fsdecode(name)).write_text("abcdefg"[number])

    found = spaces.diff(ws)
    result = spaces.merge(ws, "x")

    assert sorted(os.fsencode(change.path) for change in found.files) == sorted(SEVEN)
    listed = raw_git(ws.root, "ls-tree", "-r", "-z", "--name-only", str(result.commit)).split(b"\0")
    assert sorted(listed[:-1]) == sorted((b"f.txt", *SEVEN))
    for number, name in enumerate(SEVEN):
        assert raw_git(ws.root, "show", f"{result.commit}:{os.fsdecode(name)}") == b"abcdefg"[number : number + 1]


def test_WT_04_such_names_are_unsaved_and_preserved_too(ws: Workspace, spaces: GitWorkspaces) -> None:
    for name in (*SEVEN, b"-rf", b":(top)x", b"*", b" lead", b"trail "):
        (ws.directory / os.fsdecode(name)).write_text("x")

    found = spaces.unsaved(ws)
    ref = spaces.preserve(ws, "x")

    assert len(found.uncommitted) == 12
    listed = raw_git(ws.root, "ls-tree", "-r", "-z", "--name-only", str(ref)).split(b"\0")[:-1]
    assert sorted(listed) == sorted([b"f.txt", *(os.fsencode(path) for path in found.uncommitted)])


def test_no_index_no_object_and_no_ref_is_touched(rich: Workspace, spaces: GitWorkspaces) -> None:
    git(rich.directory, "add", "-N", "empty")
    before = [picture(rich.root), picture(rich.directory), git(rich.root, "count-objects", "-v")]
    indexes = [(rich.root / place).stat().st_mtime_ns for place in (".git/index", ".git/worktrees/x/index")]

    spaces.diff(rich)

    assert [picture(rich.root), picture(rich.directory), git(rich.root, "count-objects", "-v")] == before
    assert [(rich.root / place).stat().st_mtime_ns for place in (".git/index", ".git/worktrees/x/index")] == indexes


def test_an_edit_as_young_as_the_index_is_seen(ws: Workspace, spaces: GitWorkspaces) -> None:
    index = ws.root / ".git/worktrees/x/index"
    time = (ws.directory / "f.txt").stat().st_mtime_ns
    (ws.directory / "f.txt").write_text("two\n")  # as long as before
    os.utime(ws.directory / "f.txt", ns=(time, time))
    os.utime(index, ns=(time, time))

    assert paths(spaces, ws) == ["f.txt"]


def test_a_repository_inside_is_named_by_unsaved_and_not_swallowed(ws: Workspace, spaces: GitWorkspaces) -> None:
    new_repository(ws.directory / "vendor/lib")
    git(ws.directory, "init", "-q", "unborn")
    (ws.directory / "f.txt").unlink()
    new_repository(ws.directory / "f.txt")
    (ws.directory / "mine").write_text("m\n")

    found = spaces.diff(ws)

    assert [(change.path, change.status) for change in found.files] == [("f.txt", "deleted"), ("mine", "added")]
    assert b"Subproject" not in found.patch


def test_WT_16_work_that_lands_on_the_base_meanwhile_is_not_shown(ws: Workspace, spaces: GitWorkspaces) -> None:
    (ws.directory / "s.txt").write_text("s\n")
    commit_file(ws.root, "other.txt", "o\n")

    assert paths(spaces, ws) == ["s.txt"]


def test_WT_16_nor_after_the_base_was_merged_into_the_session(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "s.txt", "s\n")
    commit_file(ws.root, "other.txt", "o\n")
    git(ws.directory, "merge", "-q", "--no-edit", "main")

    assert paths(spaces, ws) == ["s.txt"]


def test_WT_16_nor_after_the_session_was_rebased(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "s.txt", "s\n")
    commit_file(ws.root, "other.txt", "o\n")
    git(ws.directory, "rebase", "-q", "main")

    assert paths(spaces, ws) == ["s.txt"]


def test_WT_16_nor_after_the_user_switched_to_an_older_branch(repo: Path, spaces: GitWorkspaces) -> None:
    git(repo, "branch", "old")
    commit_file(repo, "theirs.txt", "t\n")
    ws = spaces.prepare(repo, "x")
    commit_file(ws.directory, "s.txt", "s\n")

    git(repo, "checkout", "-q", "old")

    assert paths(spaces, ws) == ["s.txt"]


def test_WT_16_when_the_agent_moves_the_base_branch_to_its_own_commit(ws: Workspace, spaces: GitWorkspaces) -> None:
    tip = commit_file(ws.directory, "s.txt", "s\n")
    git(ws.root, "checkout", "-q", "--detach")
    git(ws.root, "branch", "-f", "main", tip)
    git(ws.root, "checkout", "-q", "main")

    assert paths(spaces, ws) == ["s.txt"]


def test_WT_16_after_a_merge_what_was_merged_is_shown_and_nobody_elses_work(
    ws: Workspace, spaces: GitWorkspaces
) -> None:
    commit_file(ws.root, "before.txt", "b\n")
    commit_file(ws.directory, "s.txt", "s\n")
    git(ws.directory, "merge", "-q", "--no-edit", "main")
    commit_file(ws.root, "meanwhile.txt", "m\n")
    (ws.directory / "late.txt").write_text("l\n")

    spaces.merge(ws, "x")
    commit_file(ws.root, "after.txt", "a\n")

    assert paths(spaces, ws) == ["late.txt", "s.txt"]


def test_WT_16_also_when_it_came_by_way_of_another_branch(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "s.txt", "s\n")
    git(ws.root, "checkout", "-q", "-b", "feature")
    commit_file(ws.root, "feature.txt", "f\n")
    git(ws.root, "merge", "-q", "--no-edit", "harness/x")
    git(ws.root, "checkout", "-q", "main")
    commit_file(ws.root, "other.txt", "o\n")
    git(ws.root, "merge", "-q", "--no-edit", "feature")

    assert paths(spaces, ws) == ["s.txt"]


def test_WT_16_new_work_after_a_merge_is_shown_alone(ws: Workspace, spaces: GitWorkspaces) -> None:
    (ws.directory / "one.txt").write_text("1\n")
    spaces.merge(ws, "x")

    (ws.directory / "two.txt").write_text("2\n")

    assert paths(spaces, ws) == ["two.txt"]


def test_WT_16_a_base_that_has_nothing_in_common_any_more(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "s.txt", "s\n")
    git(ws.root, "checkout", "-q", "--orphan", "fresh")
    commit_file(ws.root, "unrelated.txt", "u\n")

    assert paths(spaces, ws) == ["s.txt"]


def test_a_session_that_left_its_branch_still_shows_its_work(ws: Workspace, spaces: GitWorkspaces) -> None:
    git(ws.directory, "checkout", "-q", "--detach")
    commit_file(ws.directory, "s.txt", "s\n")

    assert paths(spaces, ws) == ["s.txt"]
