"""Hermetic tests: an empty HOME, no git configuration of the machine, no gzia settings, a fixed locale."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gzia.packaging import checks, tolerance

KEPT = {"PATH", "TMPDIR", "PYTHONPATH", "VIRTUAL_ENV", "GZIA_PYTHON", "CI"}


@pytest.fixture(autouse=True)
def _hermetic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each test has its own empty HOME, and the machine's configuration cannot reach it."""
    before = dict(os.environ)
    home = tmp_path_factory.mktemp("home")
    (home / ".run").mkdir(mode=0o700)
    for name in set(os.environ) - KEPT:
        del os.environ[name]
    os.environ.update(
        HOME=str(home), LANG="C.UTF-8", LC_ALL="C.UTF-8", TZ="UTC", TERM="dumb", COLUMNS="80",
        GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull, GIT_TERMINAL_PROMPT="0",
        XDG_CONFIG_HOME=str(home / ".config"), XDG_STATE_HOME=str(home / ".state"), XDG_RUNTIME_DIR=str(home / ".run"),
    )  # fmt: skip
    yield
    os.environ.clear()
    os.environ.update(before)


def git(where: Path, *args: str) -> str:
    """Run real git in ``where`` and return its output, stripped."""
    done = subprocess.run(["git", "-C", str(where), *args], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository on ``main`` with one commit of ``f.txt`` and an identity."""
    where = tmp_path / "repo"
    where.mkdir()
    git(where, "init", "-q", "-b", "main")
    git(where, "config", "user.name", "Ann")
    git(where, "config", "user.email", "ann@example.org")
    (where / "f.txt").write_text("one\n")
    git(where, "add", "f.txt")
    git(where, "commit", "-qm", "first")
    return where


Git = Callable[..., str]


def pytest_configure() -> None:
    """The protocol checks are generated, here as in the build: no test may meet a missing or an old module."""
    root = Path(__file__).parent.parent
    source, target = root / "protocol/acp/v1.json", root / "gzia/acp/_checks.py"
    makers = [source, Path(checks.__file__), Path(tolerance.__file__)]
    if not target.exists() or target.stat().st_mtime < max(maker.stat().st_mtime for maker in makers):
        checks.write(source, target)
