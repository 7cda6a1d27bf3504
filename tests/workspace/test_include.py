"""Ignored files come along when, and only when, they are listed."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from gzia.workspace.provider import GitWorkspaces
from tests.conftest import git
from tests.workspace.conftest import commit_file


@pytest.fixture
def project(repo: Path) -> Path:
    commit_file(repo, ".gitignore", ".env*\n/cache/\n*.key\n")
    for name, content in {
        ".env": "secret",
        ".env.local": "local",
        "cache/deep/a": "a",
        "cache/b": "b",
        "x.key": "k",
    }.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(content)
    (repo / "untracked").write_text("u")
    return repo


def test_listed_files_are_copied_with_their_modes(project: Path, spaces: GitWorkspaces) -> None:
    (project / ".env").chmod(0o600)
    (project / "cache/b").chmod(0o755)
    (project / "cache/link").symlink_to("b")
    (project / ".worktreeinclude").write_text("# what agents need\n.env*\n!.env.local\ncache/\n")

    ws = spaces.prepare(project, "x")

    assert sorted(str(p.relative_to(ws.directory)) for p in ws.directory.rglob("*") if not p.is_dir()) == [
        ".env", ".git", ".gitignore", "cache/b", "cache/deep/a", "cache/link", "f.txt",
    ]  # fmt: skip
    assert (ws.directory / ".env").read_text() == "secret"
    assert stat.S_IMODE((ws.directory / ".env").stat().st_mode) == 0o600
    assert stat.S_IMODE((ws.directory / "cache/b").stat().st_mode) == 0o755
    assert (ws.directory / "cache/link").readlink() == Path("b")
    assert not spaces.unsaved(ws)


def test_everything_does_not_mean_sessions_untracked_or_tracked_files(project: Path, spaces: GitWorkspaces) -> None:
    (project / ".worktreeinclude").write_text("*\n")
    spaces.prepare(project, "earlier")

    ws = spaces.prepare(project, "x")

    assert sorted(str(p.relative_to(ws.directory)) for p in ws.directory.rglob("*") if not p.is_dir()) == [
        ".env", ".env.local", ".git", ".gitignore", "cache/b", "cache/deep/a", "f.txt", "x.key",
    ]  # fmt: skip
    assert git(ws.directory, "status", "--porcelain") == ""


def test_without_the_list_nothing_is_copied(project: Path, spaces: GitWorkspaces) -> None:
    ws = spaces.prepare(project, "x")

    assert not (ws.directory / ".env").exists()


def test_a_file_of_the_commit_is_not_overwritten(project: Path, spaces: GitWorkspaces) -> None:
    git(project, "checkout", "-q", "-b", "other")
    git(project, "add", "-f", ".env")
    git(project, "commit", "-qm", "commit the secret")
    git(project, "checkout", "-q", "main")
    (project / ".env").write_text("mine")
    (project / ".worktreeinclude").write_text(".env\n")

    ws = spaces.prepare(project, "x", "other")

    assert (ws.directory / ".env").read_text() == "secret"


def test_a_link_in_the_commit_does_not_lead_the_copy_out(project: Path, tmp_path: Path, spaces: GitWorkspaces) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    git(project, "checkout", "-q", "-b", "other")
    (project / "cache").rename(tmp_path / "cache")
    (project / "cache").symlink_to(outside)
    git(project, "add", "-f", "cache")
    git(project, "commit", "-qm", "a link")
    git(project, "checkout", "-q", "main")
    (tmp_path / "cache").rename(project / "cache")
    (project / ".worktreeinclude").write_text("cache/\n")

    spaces.prepare(project, "x", "other")

    assert list(outside.iterdir()) == []


def test_names_that_git_would_quote_or_take_for_patterns_are_copied(repo: Path, spaces: GitWorkspaces) -> None:
    names = sorted(["café.i", 'q"uote.i', "new\nline.i", ":(top)magic.i", ":!no.i", "*.i", "-dash.i"])
    (repo / ".gitignore").write_text("*.i\n")
    for name in names:
        (repo / name).write_text(name)
    (repo / ".worktreeinclude").write_text("*.i\n")

    ws = spaces.prepare(repo, "x")

    assert sorted(path.name for path in ws.directory.glob("*.i")) == names
