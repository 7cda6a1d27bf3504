"""gzia starts gzia from where it runs now."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import gzia
from gzia.system.selfexec import module_command

CHECKOUT = Path(gzia.__file__).parents[1]


def test_a_checkout_runs_its_own_modules_isolated(tmp_path: Path) -> None:
    command, fds = module_command("gzia.system.clock:now")

    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": "/poison"}, capture_output=True, check=False)

    assert (done.returncode, fds) == (1, ())  # what is returned is the status, and a text is printed
    assert re.fullmatch(rb"[-0-9]{10}T[0-9:.]{15}Z\n", done.stderr)


def test_arguments_and_our_own_path_reach_the_module(tmp_path: Path) -> None:
    (tmp_path / "told.py").write_text("import sys\ndef main(): print(sys.argv, 'gzia' in sys.modules); return 7\n")
    sys.path.append(str(tmp_path))
    try:
        command, _ = module_command("told", "a b", "-c", "é")
    finally:
        sys.path.remove(str(tmp_path))

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (7, "['told', 'a b', '-c', 'é'] False\n")


def pack(path: Path, version: str = "src") -> None:
    """The checkout as a zip file, below ``version``."""
    with zipfile.ZipFile(path, "w") as archive:
        for source in sorted((CHECKOUT / "gzia").rglob("*.py")):
            archive.write(source, f"{version}/{source.relative_to(CHECKOUT)}")


RUN = """import asyncio, json, os, sys
from pathlib import Path
from gzia.system.process import start
from gzia.system.selfexec import module_command
async def main():
    command, fds = module_command("gzia.system.clock:now")
    Path(sys.argv[1]).write_bytes(b"another version now")
    agent = await start(["sh", "-c", "ls /proc/self/fd | wc -l"], cwd=Path("/"), env={"PATH": os.environ["PATH"]})
    got = []
    agent.read(got.append)
    first = await agent.end()
    module = await start(command, cwd=Path("/"), env={}, pass_fds=fds)
    second = await module.end()
    print(json.dumps([fds, b"".join(got).decode(), first, second, module.stderr_tail()]))
asyncio.run(main())
"""


def test_the_open_file_serves_guardians_and_modules_after_it_was_replaced(tmp_path: Path) -> None:
    pack(tmp_path / "gzia.zip")
    enter = """import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
sys.path[:0] = [f"/proc/self/fd/{fd}/3.11", f"/proc/self/fd/{fd}/src"]
os.unlink(sys.argv[1])
"""

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", enter + RUN, tmp_path / "gzia.zip"],
        env={"PATH": os.environ["PATH"]}, capture_output=True, text=True, check=True,
    )  # fmt: skip

    [fd], listed, first, second, time = json.loads(done.stdout)
    assert fd > 2
    assert (listed, first, second) == ("4\n", [0, None], [1, None])  # ls has 0, 1, 2 and the directory: not the file
    assert time.endswith("Z\n")


def test_a_zip_at_a_path_works_from_any_directory(tmp_path: Path) -> None:
    pack(tmp_path / "gzia.zip")
    enter = "import os, sys; sys.path.insert(0, sys.argv[1] + '/src')\n"
    show = """from gzia.system.selfexec import module_command
os.execv(sys.executable, module_command("gzia.system.clock:now")[0])"""

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", enter + show, tmp_path / "gzia.zip"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr[-2:]) == (1, "Z\n")


def test_the_single_file_says_itself_how_it_is_entered(monkeypatch: pytest.MonkeyPatch) -> None:
    boot = SimpleNamespace(again=lambda: "print('/proc/self/fd/17/src', '/proc/self/fd/17/x')\n")
    monkeypatch.setitem(sys.modules, "gzia_boot", boot)

    command, fds = module_command("gzia.system.guardian", "9")

    assert fds == (17,)
    assert command[-2].startswith(boot.again())
    assert command[-1] == "9"
