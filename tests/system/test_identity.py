"""A pid is not a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from gzia.system.identity import identity_of, is_alive


def test_a_process_keeps_its_identity_and_no_two_have_the_same() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as first:
        own, other = identity_of(os.getpid()), identity_of(first.pid)

        assert own == identity_of(os.getpid())
        assert own is not None and other is not None and own != other
        assert is_alive(first.pid, other)
        assert not is_alive(first.pid, own)


def test_a_process_that_is_gone_has_none() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        before = identity_of(process.pid)
    assert before is not None

    assert identity_of(process.pid) is None
    assert not is_alive(process.pid, before)


def test_a_zombie_still_has_its_identity_but_is_not_alive() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        before = identity_of(process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)

        assert before is not None
        assert identity_of(process.pid) == before
        assert not is_alive(process.pid, before)


def test_a_name_with_spaces_and_parentheses_does_not_confuse(tmp_path: Path) -> None:
    program = tmp_path / ") R 1 ("
    program.symlink_to(sys.executable)
    with subprocess.Popen(
        [program, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        identity = identity_of(process.pid)

        assert identity is not None
        assert is_alive(process.pid, identity)
        ticks = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19])
        assert identity.endswith(f":{ticks}")
