"""Small files of the real build: the real prelude, launcher and packing, around a program of a few lines."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Protocol

import pytest

from gzia.packaging.archive import replace
from gzia.packaging.bytecode import Python, ask
from gzia.packaging.contents import PACKAGING, SHIPPED
from gzia.packaging.pack import EARLIEST, packed

PRELUDE = PACKAGING / "prelude.sh"
EMPTY = {"gzia/__init__.py": "", "gzia/cli/__init__.py": ""}


@cache
def this_python() -> Python:
    """The interpreter that runs the tests."""
    python = ask(sys.executable, sys.version_info.minor)
    assert python is not None, "the tests run on a release of CPython"
    return python


def make_file(path: Path, program: str, modules: Mapping[str, str], pythons: list[Python]) -> Path:
    """A single file at ``path`` whose ``entry()`` is in ``program``, with the byte code of ``pythons``."""
    texts = {**EMPTY, **modules, "gzia/cli/main.py": program}
    entries = {f"src/{name}": text.encode() for name, text in texts.items()}
    entries |= {name: (PACKAGING / file).read_bytes() for name, file in SHIPPED.items()}
    data, _ = packed(entries, pythons, EARLIEST)
    replace(path, data)
    return path


class Make(Protocol):
    """Builds a file in the test's directory; unless ``pythons`` says otherwise, with the byte code of this Python."""

    def __call__(
        self, program: str, modules: Mapping[str, str] = ..., *, name: str = ..., pythons: list[Python] | None = ...
    ) -> Path: ...


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def build(
        program: str, modules: Mapping[str, str] = EMPTY, *, name: str = "gzia", pythons: list[Python] | None = None
    ) -> Path:
        return make_file(tmp_path / name, program, modules, [this_python()] if pythons is None else pythons)

    return build


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with this Python as gzia's, or with what ``environment`` says."""
    env = {"PATH": os.environ["PATH"], "GZIA_PYTHON": sys.executable} | environment
    return subprocess.run([str(word) for word in command], env=env, capture_output=True, text=True, timeout=60)
