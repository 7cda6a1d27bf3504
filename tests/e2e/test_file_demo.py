"""./build.sh demo: what a newcomer sees first."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.e2e.conftest import CHECKOUT


def demo(file: Path, home: Path, temporary: Path) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(home),
        "TMPDIR": str(temporary),
    }
    return subprocess.run(
        [sys.executable, "-m", "gzia.packaging.demo", file],
        env=env, cwd=CHECKOUT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100,
    )  # fmt: skip


def test_it_shows_the_main_job_and_leaves_nothing(gzia_file: Path, tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()

    done = demo(gzia_file, home, temporary)

    assert (done.returncode, done.stderr) == (0, "")
    shown = [
        r"\$ gzia run -a demo", r"session [a-z0-9]+", r"I see 1 entries here: README\.md", r"Allow\? Write NOTES\.md",
        r"  > y", r"\$ gzia list", r"completed", r"\$ gzia diff", r"\+\+\+ b/NOTES\.md", r"\$ ls\nREADME\.md\n\n",
        r"\$ gzia merge", r"\$ cat NOTES\.md\n# Notes", r"\$ git log --oneline",
        r"\$ gzia steer talk", r"The running turn has it", r"\$ gzia wait talk\ntalk  done  completed",
    ]  # fmt: skip
    assert re.search(".*".join(shown), done.stdout, re.DOTALL)
    assert "\x1b" not in done.stdout
    assert [*home.iterdir(), *temporary.iterdir()] == []


def test_it_fails_when_a_command_does_not_do_its_part(tmp_path: Path) -> None:
    file = tmp_path / "gzia"
    file.write_text('#!/bin/sh\necho "it broke"\nexit 3\n')
    file.chmod(0o755)

    done = demo(file, tmp_path, tmp_path)

    assert done.returncode == 1
    assert "it broke" in done.stdout
    assert done.stderr == "demo: gzia run -a demo 'Look around and note down what you find' ended with status 3\n"
