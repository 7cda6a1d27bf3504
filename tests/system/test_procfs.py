"""The process table, and who came of whom."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gzia.system import procfs


def line(parent: int) -> procfs.Stat:
    return procfs.Stat(f"7 (a b) c) S {parent} 3 0 0 0 {'0 ' * 12}0 99 0".encode())


def test_the_fields_are_found_behind_any_name() -> None:
    entry = line(5)

    assert (entry.state, entry.parent, entry.group, entry.start, entry.ended) == ("S", 5, 3, "99", False)


def test_descendants_are_found_at_any_depth_and_a_loop_ends() -> None:
    processes = {pid: line(parent) for pid, parent in {1: 0, 2: 1, 3: 2, 4: 3, 5: 1, 8: 9, 9: 8}.items()}

    assert procfs.descendants(processes, 2) == {3, 4}
    assert procfs.descendants(processes, 2, 3) == {4}
    assert procfs.descendants(processes, 5) == set()
    assert procfs.descendants(processes, 8) == {9}


def test_this_process_and_its_children_are_in_the_table() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        table = procfs.table()

        assert table[child.pid].parent == os.getpid()
        assert child.pid in procfs.descendants(table, os.getpid())
    assert procfs.stat(child.pid) is None


def can_unshare(*options: str) -> bool:
    try:
        return subprocess.run(["unshare", *options, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not can_unshare("-pf"), reason="no process namespace can be made here")
def test_a_proc_of_another_namespace_is_not_believed() -> None:
    look = "from gzia.system import procfs; import os; print(os.getpid(), procfs.stat(1), procfs.table())"

    done = subprocess.run(
        ["unshare", "-pf", sys.executable, "-S", "-c", look],
        capture_output=True, text=True, check=True, env={"PYTHONPATH": str(Path(procfs.__file__).parents[2])},
    )  # fmt: skip

    assert done.stdout == "1 None {}\n"
