"""Submodules come from the user's own clone, and never keep a session from being removed."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

import pytest

from gzia.errors import GziaError
from gzia.workspace.provider import GitWorkspaces
from tests.conftest import git
from tests.workspace.conftest import code, commit_file, new_repository, picture

ALLOW = ("-c", "protocol.file.allow=always")


@functools.cache
def family() -> Path:
    """A directory with ``repo``, which has the submodule ``lib``, which has ``inner``; the origins are out of reach."""
    where = Path(tempfile.mkdtemp(prefix="gzia-family-"))
    atexit.register(shutil.rmtree, where)
    repo, lib, inner = (new_repository(where / name) for name in ("repo", "lib", "inner"))
    git(lib, *ALLOW, "submodule", "add", "-q", "--name", "i=n", str(inner), "inner")
    git(lib, "commit", "-qm", "inner")
    git(repo, *ALLOW, "submodule", "add", "-q", str(lib), "lib")
    git(repo, *ALLOW, "submodule", "update", "-q", "--init", "--recursive")
    git(repo, "commit", "-qm", "lib")
    shutil.rmtree(lib)
    shutil.rmtree(inner)
    return where


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the repository with two levels of submodules."""
    shutil.copytree(family() / "repo", tmp_path / "project")
    return tmp_path / "project"


def test_WT_06_submodules_are_there_without_any_network(project: Path, spaces: GitWorkspaces) -> None:
    before = picture(project)

    ws = spaces.prepare(project, "x")

    assert (ws.directory / "lib/f.txt").read_text() == "one\n"
    assert (ws.directory / "lib/inner/f.txt").read_text() == "one\n"
    assert git(ws.directory, "status", "--porcelain") == ""
    assert git(ws.directory / "lib", "remote", "get-url", "origin") == str(family() / "lib")
    assert picture(project)._replace(refs="", worktrees="") == before._replace(refs="", worktrees="")
    assert git(project, "config", "submodule.lib.url") == str(family() / "lib")


def test_WT_06_a_commit_that_only_the_users_clone_has_is_found(project: Path, spaces: GitWorkspaces) -> None:
    git(project / "lib", "checkout", "-q", "--detach")
    git(project / "lib", "config", "user.email", "ann@example.org")
    git(project / "lib", "config", "user.name", "Ann")
    commit_file(project / "lib", "local.txt", "local\n")
    git(project, "commit", "-qam", "pointer")

    ws = spaces.prepare(project, "x")

    assert (ws.directory / "lib/local.txt").read_text() == "local\n"
    assert not spaces.unsaved(ws)


def test_WT_06_what_the_user_has_not_checked_out_stays_so(project: Path, spaces: GitWorkspaces) -> None:
    git(project, "submodule", "deinit", "-q", "-f", "lib")

    ws = spaces.prepare(project, "x")

    assert list((ws.directory / "lib").iterdir()) == []


def test_WT_06_a_commit_that_cannot_be_had_fails_and_leaves_nothing(project: Path, spaces: GitWorkspaces) -> None:
    git(project, "update-index", "--cacheinfo", f"160000,{'1' * 40},lib")
    git(project, "commit", "-qm", "pointer to nowhere")
    before = picture(project)

    with pytest.raises(GziaError) as raised:
        spaces.prepare(project, "x")

    assert (code(raised), raised.value.data) == ("submodule-failed", {"path": "lib"})
    assert picture(project) == before
    assert not (project / ".harness").exists()


def test_WT_06_a_clean_session_is_removed_without_force(project: Path, spaces: GitWorkspaces) -> None:
    ws = spaces.prepare(project, "x")

    assert not spaces.unsaved(ws)
    spaces.remove(ws)

    assert not ws.directory.exists()
    assert git(project, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert git(project / "lib", "status", "--porcelain") == ""


def test_WT_06_an_edit_in_a_submodule_is_unsaved_work(project: Path, spaces: GitWorkspaces) -> None:
    ws = spaces.prepare(project, "x")
    (ws.directory / "lib/f.txt").write_text("edited\n")

    found = spaces.unsaved(ws)

    assert (found.uncommitted, found.unmerged, found.nested) == ((), 0, ("lib",))


def test_WT_06_an_untracked_file_two_levels_down_is_unsaved_work(project: Path, spaces: GitWorkspaces) -> None:
    ws = spaces.prepare(project, "x")
    (ws.directory / "lib/inner/new.txt").write_text("new\n")

    assert spaces.unsaved(ws).nested == ("lib",)


@pytest.mark.parametrize("is_committed", [False, True])
def test_WT_06_a_commit_in_a_submodule_that_is_nowhere_else_is_unsaved_work(
    project: Path, spaces: GitWorkspaces, is_committed: bool
) -> None:
    ws = spaces.prepare(project, "x")
    git(ws.directory / "lib", "config", "user.email", "a@b")
    git(ws.directory / "lib", "config", "user.name", "A")
    commit_file(ws.directory / "lib", "new.txt", "new\n")
    if is_committed:
        git(ws.directory, "commit", "-qam", "move the pointer")

    found = spaces.unsaved(ws)

    assert found.nested == ("lib",)
    assert (found.uncommitted, found.unmerged) == (((), 1) if is_committed else (("lib",), 0))


def test_WT_06_a_stash_in_a_submodule_is_unsaved_work(project: Path, spaces: GitWorkspaces) -> None:
    ws = spaces.prepare(project, "x")
    (ws.directory / "lib/f.txt").write_text("edited\n")
    git(ws.directory / "lib", "-c", "user.name=A", "-c", "user.email=a@b", "stash", "-q")

    assert spaces.unsaved(ws).nested == ("lib",)


def test_WT_06_a_moved_pointer_is_shown_as_such(project: Path, spaces: GitWorkspaces) -> None:
    ws = spaces.prepare(project, "x")
    lib = ws.directory / "lib"
    old = git(lib, "rev-parse", "HEAD")
    git(lib, "checkout", "-q", "HEAD~1")

    found = spaces.diff(ws)

    assert [(change.path, change.status) for change in found.files] == [("lib", "submodule")]
    assert f"-Subproject commit {old}\n+Subproject commit {git(lib, 'rev-parse', 'HEAD')}\n" in found.patch.decode()


def test_WT_06_a_merge_says_what_it_cannot_bring(project: Path, spaces: GitWorkspaces) -> None:
    ws = spaces.prepare(project, "x")
    git(ws.directory / "lib", "checkout", "-q", "HEAD~1")
    (ws.directory / "lib/f.txt").write_text("edited\n")

    result = spaces.merge(ws, "x")

    assert result.notes == (
        "The changes inside the submodule lib are not committed there and are not merged.",
        "Of the submodule lib only the pointer is merged; push its commits from the worktree.",
    )
    assert git(project, "rev-parse", "HEAD:lib") == git(ws.directory / "lib", "rev-parse", "HEAD")


def test_a_list_that_names_more_than_there_is_does_no_harm(project: Path, spaces: GitWorkspaces) -> None:
    git(project, "rm", "-q", "--cached", "lib")  # the files stay in the checkout, and .gitmodules still names them
    with (project / ".gitmodules").open("a") as file:
        file.write('[submodule "out"]\n\tpath = ../elsewhere\n\turl = x\n')
    git(project, "commit", "-qam", "an old entry")

    ws = spaces.prepare(project, "x")

    assert sorted(path.name for path in ws.directory.iterdir()) == [".git", ".gitmodules", "f.txt"]
