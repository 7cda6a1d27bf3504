"""What Linux says in /proc about the processes of this machine.  Light, because the guardian imports it.

Elsewhere, and where /proc belongs to another process namespace than ours (then its numbers mean other processes),
``stat`` is None and ``table`` empty.  Fields: proc(5), ``/proc/pid/stat``.
"""

from __future__ import annotations

import os


class Stat:
    """One line of ``/proc/<pid>/stat``: ``start`` is the start time in clock ticks since boot, as text."""

    # A plain class: dataclasses and typing would double the guardian's start-up.
    __slots__ = ("group", "parent", "start", "state")

    def __init__(self, line: bytes) -> None:
        fields = line[line.rindex(b")") + 2 :].split()  # the name before it may hold spaces and parentheses
        self.state = fields[0].decode()
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.start = fields[19].decode()

    @property
    def ended(self) -> bool:
        """Dead, though its parent may not have asked for its status yet."""
        return self.state in "ZX"


def stat(pid: int) -> Stat | None:
    """What /proc says about ``pid``; None if there is no such process."""
    return _read(pid) if _is_ours() else None


def table() -> dict[int, Stat]:
    """Every process that can be seen, by its number."""
    if not _is_ours():
        return {}
    found = ((int(name), _read(int(name))) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208 -- pathlib is slow to import
    return {pid: entry for pid, entry in found if entry is not None}


def descendants(processes: dict[int, Stat], *roots: int) -> set[int]:
    """Children of ``roots``, their children and so on; the roots themselves are not among them."""
    children: dict[int, list[int]] = {}
    for pid, entry in processes.items():
        children.setdefault(entry.parent, []).append(pid)
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        new = [pid for pid in children.get(waiting.pop(), ()) if pid not in found]
        found.update(new)
        waiting += new
    return found - set(roots)


def _is_ours() -> bool:
    try:
        return os.readlink("/proc/self") == str(os.getpid())  # noqa: PTH115 -- as above
    except OSError:
        return False


def _read(pid: int) -> Stat | None:
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return Stat(os.read(fd, 4096))
    except OSError:  # it ended between the two calls
        return None
    finally:
        os.close(fd)
