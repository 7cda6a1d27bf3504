"""A repository that needs Git-LFS on a machine that has none: no half sessions, no lost bytes, no lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gzia.errors import GziaError
from gzia.workspace.provider import GitWorkspaces, Workspace
from tests.conftest import git
from tests.workspace.conftest import code, commit_file, files, picture

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{0:064d}\nsize 4\n"


def need_lfs(repo: Path) -> None:
    """Configure the filter as ``git lfs install`` does; git-lfs itself is not there."""
    for key, value in {
        "process": "git-lfs filter-process", "smudge": "git-lfs smudge -- %f", "clean": "git-lfs clean -- %f",
        "required": "true",
    }.items():  # fmt: skip
        git(repo, "config", f"filter.lfs.{key}", value)


def forget_lfs(repo: Path) -> None:
    """Undo that, so that plain git can look at the repository."""
    git(repo, "config", "--remove-section", "filter.lfs")


@pytest.fixture
def lfs(repo: Path) -> Path:
    """A repository with one pointer file, before the filter is configured."""
    commit_file(repo, ".gitattributes", "*.bin filter=lfs diff=lfs -text\n")
    commit_file(repo, "x.bin", POINTER)
    return repo


@pytest.fixture
def session(lfs: Path, spaces: GitWorkspaces) -> Workspace:
    """A session that was made while the filter worked."""
    ws = spaces.prepare(lfs, "x")
    need_lfs(lfs)
    return ws


def test_WT_21_without_the_filter_no_session_begins(lfs: Path, spaces: GitWorkspaces) -> None:
    before = picture(lfs)
    need_lfs(lfs)

    with pytest.raises(GziaError) as raised:
        spaces.prepare(lfs, "x")

    assert code(raised) == "filter-failed"
    assert "git-lfs" in raised.value.hint
    forget_lfs(lfs)
    assert picture(lfs) == before
    assert not (lfs / ".harness").exists()


def test_WT_21_a_filter_that_is_not_required_is_gits_business(lfs: Path, spaces: GitWorkspaces) -> None:
    need_lfs(lfs)
    git(lfs, "config", "filter.lfs.required", "false")
    git(lfs, "config", "--unset", "filter.lfs.process")

    ws = spaces.prepare(lfs, "x")

    assert (ws.directory / "x.bin").read_text() == POINTER


def test_WT_21_looking_at_changes_needs_no_filter(session: Workspace, spaces: GitWorkspaces) -> None:
    (session.directory / "t.txt").write_text("t\n")
    os.utime(session.directory / "x.bin")  # git has to look at its content again

    assert [change.path for change in spaces.diff(session).files] == ["t.txt"]
    assert spaces.unsaved(session).uncommitted == ("t.txt",)


def test_WT_21_other_files_are_merged(session: Workspace, spaces: GitWorkspaces) -> None:
    (session.directory / "t.txt").write_text("t\n")
    (session.directory / "x.bin").unlink()

    result = spaces.merge(session, "x")

    assert git(session.root, "show", f"{result.safety_commit}:t.txt") == "t"
    assert files(session.root).keys() == {".gitattributes", "f.txt", "t.txt"}


@pytest.mark.parametrize("content", [b"\0\1\2\3", POINTER.encode()])
def test_WT_21_what_needs_the_filter_is_not_merged_and_nothing_is_half_done(
    session: Workspace, spaces: GitWorkspaces, content: bytes
) -> None:
    forget_lfs(session.root)
    before, tip = picture(session.root), git(session.directory, "rev-parse", "HEAD")
    need_lfs(session.root)
    (session.directory / "a.txt").write_text("t\n")
    (session.directory / "new.bin").write_bytes(content)

    with pytest.raises(GziaError) as raised:
        spaces.merge(session, "x")

    forget_lfs(session.root)
    assert (code(raised), raised.value.data) == ("filter-failed", {"files": ["new.bin"]})
    assert picture(session.root) == before
    assert git(session.directory, "rev-parse", "HEAD") == tip
    assert (session.directory / "new.bin").read_bytes() == content


def test_WT_21_before_a_removal_the_bytes_are_kept_and_it_is_said(session: Workspace, spaces: GitWorkspaces) -> None:
    (session.directory / "t.txt").write_text("t\n")
    (session.directory / "new.bin").write_bytes(b"\0\1\2\3")
    (session.directory / "moved.bin").write_text(POINTER)

    ref = spaces.preserve(session, "x")

    assert ref == "refs/gzia/preserved/x"
    assert git(session.root, "cat-file", "-p", f"{ref}:new.bin") == "\0\1\2\3"
    assert git(session.root, "cat-file", "-p", f"{ref}:t.txt") == "t"
    assert git(session.root, "cat-file", "-p", f"{ref}:x.bin") + "\n" == POINTER
    assert "new.bin: stored as it was on disk" in git(session.root, "log", "-1", "--format=%B", ref)
    assert git(session.root, "cat-file", "-p", f"{ref}:moved.bin") + "\n" == POINTER
    assert git(session.root, "log", "-1", "--format=%B", ref).count(".bin") == 1


def test_what_cannot_be_cleaned_is_not_merged_although_it_could_be_checked_out(
    lfs: Path, spaces: GitWorkspaces
) -> None:
    for key, value in {"clean": "false", "smudge": "cat", "required": "true"}.items():
        git(lfs, "config", f"filter.lfs.{key}", value)
    ws = spaces.prepare(lfs, "x")
    (ws.directory / "new.bin").write_bytes(b"\0\1\2\3")

    with pytest.raises(GziaError) as raised:
        spaces.merge(ws, "x")

    assert (code(raised), raised.value.data) == ("filter-failed", {"files": ["new.bin"]})


def test_a_working_filter_is_used(repo: Path, spaces: GitWorkspaces) -> None:
    commit_file(repo, ".gitattributes", "*.up filter=case\n")
    git(repo, "config", "filter.case.clean", "tr a-z A-Z")
    git(repo, "config", "filter.case.required", "true")
    ws = spaces.prepare(repo, "x")
    (ws.directory / "a.up").write_text("loud\n")

    ref = spaces.preserve(ws, "x")

    assert git(repo, "cat-file", "-p", f"{ref}:a.up") == "LOUD"
