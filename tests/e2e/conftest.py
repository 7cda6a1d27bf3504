"""The file that ``./build.sh`` makes, as it would be handed to somebody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="session")
def gzia_file() -> Path:
    """``dist/gzia``, up to date."""
    subprocess.run(["./build.sh"], cwd=CHECKOUT, check=True)
    return CHECKOUT / "dist/gzia"


@pytest.fixture(scope="session")
def build(gzia_file: Path) -> dict[str, Any]:
    """What the file says it was made of."""
    with zipfile.ZipFile(gzia_file) as archive:
        document: dict[str, Any] = json.loads(archive.read("build.json"))
    return document


@pytest.fixture(scope="session")
def entries(gzia_file: Path) -> list[str]:
    """The names in the archive."""
    with zipfile.ZipFile(gzia_file) as archive:
        return archive.namelist()


def run(*words: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with little but this Python in its environment."""
    env = {"PATH": os.environ["PATH"], "GZIA_PYTHON": sys.executable} | environment
    return subprocess.run(
        [str(word) for word in words],
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
    )
