"""Which process a number means: a pid comes round again, a pid with its start time does not.

Linux: the boot's id and the start time in clock ticks.  Elsewhere: what ``ps -o lstart=`` prints (whole seconds).
"""

from __future__ import annotations

import sys

from gzia.system import procfs


def identity_of(pid: int) -> str | None:
    """A text that no other process ever has or had under this pid; None if there is no such process.

    A process that ended but was not waited for still has its identity.
    """
    if sys.platform != "linux":
        return _started_by_ps(pid)
    entry = procfs.stat(pid)
    return None if entry is None else _on_linux(entry)


def is_alive(pid: int, identity: str) -> bool:
    """Whether the process that had this pid and identity still runs; a zombie does not."""
    if sys.platform != "linux":
        return _started_by_ps(pid) == identity
    entry = procfs.stat(pid)
    return entry is not None and not entry.ended and _on_linux(entry) == identity


def _on_linux(entry: procfs.Stat) -> str:
    return f"{_boot()}:{entry.start}"


def _boot() -> str:
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:  # noqa: PTH123 -- pathlib is slow to import
        return file.read().strip()


def _started_by_ps(pid: int) -> str | None:
    import subprocess

    done = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)],
        capture_output=True, text=True, check=False, env={"LC_ALL": "C", "TZ": "UTC", "PATH": "/bin:/usr/bin"},
    )  # fmt: skip
    return done.stdout.strip() or None
