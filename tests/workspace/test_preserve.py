"""What is kept can be had back, byte for byte, when worktree, branch and all are gone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gzia.errors import GziaError
from gzia.workspace.provider import GitWorkspaces, Workspace
from tests.conftest import git
from tests.workspace.conftest import SEVEN, code, commit_file, files, new_repository, picture


def test_nothing_to_keep_is_none(ws: Workspace, spaces: GitWorkspaces) -> None:
    assert spaces.preserve(ws, "x") is None
    assert git(ws.root, "for-each-ref", "refs/gzia") == ""


def test_all_that_is_not_ignored_is_kept_on_top_of_the_branch(
    ws: Workspace, spaces: GitWorkspaces, tmp_path: Path
) -> None:
    tip = commit_file(ws.directory, ".gitignore", "ignored\n")
    for name in SEVEN:
        (ws.directory / os.fsdecode(name)).write_text("odd\n")
    (ws.directory / "staged").write_text("1\n")
    git(ws.directory, "add", "staged")
    (ws.directory / "staged").write_text("2\n")
    (ws.directory / "f.txt").unlink()
    (ws.directory / "link").symlink_to("nowhere")
    (ws.directory / "run").write_text("#!/bin/sh\n")
    (ws.directory / "run").chmod(0o755)
    expected = files(ws.directory)
    (ws.directory / "ignored").write_text("not kept\n")
    before = [picture(ws.root)._replace(refs=""), picture(ws.directory)._replace(refs="")]

    ref = spaces.preserve(ws, "x")

    assert ref == "refs/gzia/preserved/x"
    assert git(ws.root, "log", "-1", "--format=%P %an %s", ref) == f"{tip} Ann harness(x): kept before removal"
    assert [picture(ws.root)._replace(refs=""), picture(ws.directory)._replace(refs="")] == before
    spaces.remove(ws)
    git(ws.root, "reflog", "expire", "--expire=all", "--all")
    git(ws.root, "gc", "-q", "--prune=now")
    git(ws.root, "worktree", "add", "-q", str(tmp_path / "back"), ref)
    assert files(tmp_path / "back") == expected
    assert os.access(tmp_path / "back/run", os.X_OK)


def test_commits_alone_are_kept_as_they_are(ws: Workspace, spaces: GitWorkspaces) -> None:
    tip = commit_file(ws.directory, "a", "a\n")

    assert git(ws.root, "rev-parse", str(spaces.preserve(ws, "x"))) == tip


@pytest.mark.parametrize("is_empty", [False, True])
def test_commits_on_no_branch_are_kept_beside_the_branch(ws: Workspace, spaces: GitWorkspaces, is_empty: bool) -> None:
    on_branch = commit_file(ws.directory, "a", "a\n")
    git(ws.directory, "checkout", "-q", "--detach")
    if is_empty:
        git(ws.directory, "commit", "-q", "--allow-empty", "--amend", "-m", "another name for it")
    else:
        commit_file(ws.directory, "b", "b\n")
    detached = git(ws.directory, "rev-parse", "HEAD")

    ref = str(spaces.preserve(ws, "x"))

    assert git(ws.root, "log", "-1", "--format=%P", ref) == f"{on_branch} {detached}"


def test_an_earlier_session_of_the_same_id_keeps_its_ref(repo: Path, spaces: GitWorkspaces) -> None:
    refs = []
    for content in ("one\n", "two\n", "three\n"):
        ws = spaces.prepare(repo, "x")
        (ws.directory / "new").write_text(content)
        refs.append(spaces.preserve(ws, "x"))
        spaces.remove(ws)

    assert refs == ["refs/gzia/preserved/x", "refs/gzia/preserved/x-2", "refs/gzia/preserved/x-3"]
    assert [git(repo, "show", f"{ref}:new") for ref in refs] == ["one", "two", "three"]


def test_a_session_in_the_middle_of_a_merge_is_kept_with_its_markers(ws: Workspace, spaces: GitWorkspaces) -> None:
    commit_file(ws.directory, "f.txt", "theirs\n")
    commit_file(ws.root, "f.txt", "ours\n")
    with pytest.raises(Exception, match="exit status 1"):
        git(ws.directory, "merge", "-q", "main")

    ref = spaces.preserve(ws, "x")

    assert "<<<<<<< HEAD" in git(ws.root, "show", f"{ref}:f.txt")


def test_a_lock_left_in_the_worktree_is_no_obstacle(ws: Workspace, spaces: GitWorkspaces) -> None:
    (ws.root / ".git/worktrees/x/index.lock").touch()
    (ws.directory / "new").write_text("new\n")

    ref = spaces.preserve(ws, "x")

    assert git(ws.root, "show", f"{ref}:new") == "new"


def test_the_branch_of_a_worktree_that_vanished_is_kept(ws: Workspace, spaces: GitWorkspaces) -> None:
    tip = commit_file(ws.directory, "a", "a\n")
    shutil.rmtree(ws.directory)

    assert git(ws.root, "rev-parse", str(spaces.preserve(ws, "x"))) == tip


def test_repositories_inside_are_kept_whole(ws: Workspace, spaces: GitWorkspaces, tmp_path: Path) -> None:
    inner = new_repository(ws.directory / "vendor/inner")
    side = commit_file(inner, "side", "s\n")
    git(inner, "branch", "side")
    git(inner, "reset", "-q", "--hard", "HEAD~1")
    (inner / "f.txt").write_text("stashed\n")
    git(inner, "stash", "-q")
    (inner / "uncommitted").write_text("work\n")
    deeper = new_repository(inner / "deeper")
    (deeper / "deepest").write_text("deep\n")
    expected, deep = {k: v for k, v in files(inner).items() if not k.startswith("deeper")}, files(deeper)

    ref = str(spaces.preserve(ws, "x"))
    spaces.remove(ws)
    git(ws.root, "gc", "-q", "--prune=now")

    prefix = git(ws.root, "log", "-1", "--format=%b", ref).removeprefix(
        "vendor/inner: a repository of its own, kept under "
    )
    assert git(ws.root, "rev-parse", f"{prefix}heads/side") == side
    assert git(ws.root, "show", f"{prefix}stash:f.txt") == "stashed"
    git(ws.root, "worktree", "add", "-q", str(tmp_path / "back"), f"{prefix}gzia/preserved/x")
    assert files(tmp_path / "back") == expected
    deepest = git(ws.root, "for-each-ref", "--format=%(refname)", f"{prefix}gzia/nested/**/gzia/preserved/x")
    git(ws.root, "worktree", "add", "-q", str(tmp_path / "deep"), deepest)
    assert files(tmp_path / "deep") == deep


def test_a_repository_that_cannot_be_kept_stops_the_removal(
    ws: Workspace, spaces: GitWorkspaces, tmp_path: Path
) -> None:
    origin = new_repository(tmp_path / "origin")
    commit_file(origin, "f.txt", "two\n")
    git(ws.directory, "clone", "-q", "--depth=1", f"file://{origin}", "inner")
    (ws.directory / "inner/new").write_text("new\n")

    with pytest.raises(GziaError) as raised:
        spaces.preserve(ws, "x")

    assert (code(raised), raised.value.data) == ("nested-not-kept", {"path": "inner"})
    assert (ws.directory / "inner/new").read_text() == "new\n"
    assert not (ws.root / ".git/shallow").exists()
