"""Data is found beside the package, in a checkout and inside a single file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gzia.errors import GziaError
from gzia.system.resources import read_resource

ROOT = Path(__file__).parents[2]
NAME = "protocol/gzia/config.schema.json"
PARTS = ("gzia/__init__.py", "gzia/errors.py", "gzia/system/__init__.py", "gzia/system/resources.py")
READ = f"from gzia.system.resources import read_resource; print(read_resource({NAME!r}).decode())"


def test_in_a_checkout() -> None:
    assert json.loads(read_resource(NAME))["title"] == "gzia settings"


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(GziaError) as missing:
        read_resource("protocol/none.json")

    assert missing.value.code == "program-damaged"
    assert missing.value.message == "gzia lacks a part of itself: protocol/none.json."


@pytest.mark.parametrize("code_tree", ["src", "3.11"])
def test_inside_a_zip_also_when_code_and_data_lie_in_different_trees(code_tree: str, tmp_path: Path) -> None:
    archive = tmp_path / "one"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(f"src/{NAME}", '{"here": true}')
        for part in PARTS:
            file.write(ROOT / part, f"{code_tree}/{part}")
    boot = f"import sys; sys.path[:0] = [{str(archive / code_tree)!r}, {str(archive / 'src')!r}]; {READ}"

    done = subprocess.run([sys.executable, "-I", "-S", "-c", boot], capture_output=True, text=True, check=True)

    assert done.stdout == '{"here": true}\n'


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc/self/fd")
def test_inside_an_open_file_that_was_replaced_since(tmp_path: Path) -> None:
    archive = tmp_path / "one"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(f"src/{NAME}", '{"here": true}')
        for part in PARTS:
            file.write(ROOT / part, f"src/{part}")
    boot = f"import sys; sys.path.insert(0, '/proc/self/fd/' + sys.argv[1] + '/src'); {READ}"

    fd = os.open(archive, os.O_RDONLY)
    archive.unlink()
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", boot, str(fd)], capture_output=True, text=True, check=True, pass_fds=[fd]
    )
    os.close(fd)

    assert done.stdout == '{"here": true}\n'
