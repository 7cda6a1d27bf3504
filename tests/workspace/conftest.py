"""What the tests of this room share: sessions in real repositories, and a full picture of a checkout."""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from gzia.errors import GziaError
from gzia.workspace.places import git_dir
from gzia.workspace.provider import GitWorkspaces, Workspace
from tests.conftest import git

SEVEN = (
    b"caf\xc3\xa9.py",
    "文档.txt".encode(),
    b"sp ace.txt",
    b"new\nline.txt",
    b'q"uote.txt',
    b"tab\tx",
    b"\xff\xfe.bin",
)
"""Names that git would quote, the last one not UTF-8."""


class Picture(NamedTuple):
    """All that a user could miss afterwards: files, status, index, refs, and what waits to be finished."""

    files: dict[str, str]
    status: str
    entries: str
    refs: str
    head: str
    worktrees: str
    underway: list[str]


def picture(checkout: Path) -> Picture:
    """The state of ``checkout``, byte for byte; ``.git`` is seen through git."""
    place = git_dir(checkout)
    assert place
    waiting = ("MERGE_HEAD", "SQUASH_MSG", "MERGE_MSG", "rebase-merge", "index.lock")
    return Picture(
        files=files(checkout),
        status=git(checkout, "--no-optional-locks", "status", "--porcelain=v2", "--untracked-files=all"),
        entries=git(checkout, "ls-files", "--stage", "-v") if (place / "index").exists() else "",
        refs=git(checkout, "for-each-ref"),
        head=(place / "HEAD").read_text(),
        worktrees=git(checkout, "worktree", "list", "--porcelain"),
        underway=[name for name in waiting if (place / name).exists()],
    )


def files(checkout: Path) -> dict[str, str]:
    """Every file outside ``.git`` and ``.harness`` with a digest of its content (a link: where it points)."""
    found: dict[str, str] = {}
    for at, directories, names in os.walk(checkout):
        directories[:] = [d for d in directories if d not in (".git", ".harness")]
        for name in (name for name in names if name != ".git"):
            path = Path(at) / name
            content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
            found[str(path.relative_to(checkout))] = hashlib.sha256(content).hexdigest()
    return found


def raw_git(where: Path, *args: str) -> bytes:
    """Output of git as bytes, for names that are not text."""
    return subprocess.run(["git", "-C", str(where), *args], capture_output=True, check=True).stdout


def commit_file(where: Path, name: str, content: str, message: str = "more") -> str:
    """Commit one file; the new commit."""
    (where / name).parent.mkdir(parents=True, exist_ok=True)
    (where / name).write_text(content)
    git(where, "add", "--", name)
    git(where, "commit", "-qm", message)
    return git(where, "rev-parse", "HEAD")


@functools.cache
def template() -> Path:
    """The repository that all others are copies of: making one takes five processes, copying it none."""
    where = Path(tempfile.mkdtemp(prefix="gzia-template-"))
    atexit.register(shutil.rmtree, where)
    git(where, "init", "-q", "-b", "main")
    for hook in (where / ".git/hooks").iterdir():
        hook.unlink()
    git(where, "config", "user.name", "Ann")
    git(where, "config", "user.email", "ann@example.org")
    commit_file(where, "f.txt", "one\n", "first")
    return where


def new_repository(where: Path) -> Path:
    """A repository on ``main`` with an identity and one commit of ``f.txt``."""
    shutil.copytree(template(), where)
    return where


def write_hook(repo: Path, name: str, script: str) -> None:
    """Install a hook in ``repo``."""
    hook = repo / ".git" / "hooks" / name
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\n{script}\n")
    hook.chmod(0o755)


def write_program(place: Path, script: str) -> Path:
    """An executable shell script at ``place``."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)
    return place


def code(raised: pytest.ExceptionInfo[GziaError]) -> str:
    """The error's code, once it is sure that it also tells what to do."""
    assert raised.value.message
    assert raised.value.hint
    return raised.value.code


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """As everywhere in these tests, but made faster."""
    return new_repository(tmp_path / "repo")


@pytest.fixture
def spaces() -> GitWorkspaces:
    return GitWorkspaces()


@pytest.fixture
def ws(repo: Path, spaces: GitWorkspaces) -> Workspace:
    """A fresh session ``x`` in the repository of the fixture ``repo``."""
    return spaces.prepare(repo, "x")
