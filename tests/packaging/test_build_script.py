"""./build.sh on a machine that lacks something: it is named, with the command that installs it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gzia.packaging.contents import CHECKOUT

NEEDED = ("sh", "dirname", "mkdir", "rm", "touch", "mv", "cat")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A checkout's script, and in ``bin`` nothing but what every Unix has."""
    (tmp_path / "bin").mkdir()
    for name in NEEDED:
        (tmp_path / "bin" / name).symlink_to(str(shutil.which(name)))
    shutil.copy(CHECKOUT / "build.sh", tmp_path)
    shutil.copytree(CHECKOUT / "gzia/packaging/locks", tmp_path / "gzia/packaging/locks")
    return tmp_path


def place(where: Path, name: str, script: str = "exit 0") -> None:
    (where / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
    (where / "bin" / name).chmod(0o755)


def build(where: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": str(where / "bin")} | environment
    return subprocess.run(
        ["sh", str(where / "build.sh"), *words], env=env, cwd=os.sep, capture_output=True, text=True, timeout=60
    )


def test_a_missing_git_is_named(bare: Path) -> None:
    place(bare, "apt-get")

    done = build(bare)

    assert (done.returncode, done.stderr) == (1, "build.sh: git is missing; install it: apt-get install git\n")


def test_a_missing_python_is_named(bare: Path) -> None:
    place(bare, "git")
    place(bare, "dnf")
    place(bare, "python3", "exit 1")

    done = build(bare)

    assert (done.returncode, done.stderr) == (
        1,
        "build.sh: what is in PATH is not Python 3.11 or newer; install it: dnf install python3, "
        "or name it: GZIA_PYTHON=/path/to/python3.11\n",
    )


def test_a_named_python_that_does_not_fit_is_named(bare: Path) -> None:
    place(bare, "git")

    done = build(bare, "test", GZIA_PYTHON="/no/such python")

    assert done.returncode == 1
    assert done.stderr.startswith(
        "build.sh: /no/such python is not Python 3.11 or newer; install it: ask your system's"
    )


def test_a_missing_venv_module_is_named(bare: Path) -> None:
    """As on Debian, where it is a package of its own."""
    place(bare, "git")
    place(bare, "apt-get")
    real = f'case "$*" in *ensurepip*) exit 1;; esac\nexec "{sys.executable}" "$@"'
    place(bare, "python3", real.replace(sys.executable, str(bare / "bin/real")))
    place(
        bare,
        "real",
        f'case "$*" in *ensurepip*) exit 1;; *executable*) echo "$0";; *) exec "{sys.executable}" "$@";; esac',
    )

    done = build(bare)

    assert done.returncode == 1
    assert done.stderr == f"build.sh: {bare}/bin/real has no venv module; install it: apt-get install python3-venv\n"


def test_a_word_that_is_no_command_shows_the_commands(bare: Path) -> None:
    done = build(bare, "tset")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: ./build.sh [COMMAND]\n")


def test_help_is_asked_for_and_given(bare: Path) -> None:
    done = build(bare, "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert "test-long" in done.stdout
