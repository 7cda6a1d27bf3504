"""The same commit and the same Pythons give the same bytes, wherever and by whomever the file is built."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.e2e.conftest import CHECKOUT

PYENV = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")  # before the tests' own HOME
PARTS = ("build.sh", "LICENSE", "pyproject.toml", "gzia", "protocol")


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """The parts that the build reads, at two places, written in opposite orders."""
    one, two = tmp_path / "one", tmp_path / "a longer name"
    files = [path for part in PARTS for path in [CHECKOUT / part, *(CHECKOUT / part).rglob("*")] if path.is_file()]
    names = sorted(path.relative_to(CHECKOUT) for path in files if "__pycache__" not in path.parts)
    copy(CHECKOUT, one, names)
    copy(one, two, names[::-1])
    return one, two


def copy(source: Path, target: Path, names: list[Path]) -> None:
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)
    (target / "build.sh").chmod(0o755)


def built(where: Path, umask: int, *command: str | Path, **environment: str) -> bytes:
    """The bytes of the file that a command makes at a place."""
    before = os.umask(umask)
    try:
        env = {"PATH": os.environ["PATH"], "SOURCE_DATE_EPOCH": "1700000000"} | environment
        subprocess.run(
            [str(word) for word in command], cwd=where, env=env, check=True, capture_output=True, timeout=500
        )
    finally:
        os.umask(before)
    return (where / "dist/gzia").read_bytes()


def checksums(data: bytes) -> dict[str, int]:
    """Which entry differs, if one does."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {entry.filename: entry.CRC for entry in archive.infolist()}


def test_packing_at_two_places_gives_the_same_bytes(gzia_file: Path, places: tuple[Path, Path], tmp_path: Path) -> None:
    """With one Python, of which byte code is made in the time that a test may take."""
    dependencies = next((CHECKOUT / ".cache").glob("dependencies-*.pyz"))
    command: list[str | Path] = [sys.executable, "-m", "gzia.packaging.pack", dependencies, "dist/gzia"]
    python = tmp_path / f"bin/python3.{sys.version_info.minor}"
    python.parent.mkdir()
    python.symlink_to(os.path.realpath(sys.executable))
    common = {"PATH": f"{python.parent}", "PYENV_ROOT": "/nonexistent"}
    other = {"TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7", "HOME": "/nonexistent", "path": "x"}

    one = built(places[0], 0o022, *command, **common)
    two = built(places[1], 0o077, *command, **common, **other)

    assert len(one) > 1_000_000
    assert checksums(two) == checksums(one)
    assert two == one


@pytest.mark.long
@pytest.mark.timeout(1000)
def test_two_builds_from_nothing_give_the_same_bytes(places: tuple[Path, Path], tmp_path: Path) -> None:
    """All of ./build.sh: its environment, the dependencies as fetched, and every Python that is here."""
    pyenv = {"PYENV_ROOT": str(PYENV)}

    one = built(places[0], 0o022, "./build.sh", **pyenv, HOME=str(tmp_path))
    two = built(places[1], 0o077, "./build.sh", **pyenv, HOME="/nonexistent", TZ="Asia/Tokyo", LC_ALL="C")

    assert checksums(two) == checksums(one)
    assert two == one
