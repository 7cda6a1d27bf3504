"""End an agent's tree from outside: ``gzia kill`` from another terminal, or after gzia itself is gone.

A process belongs to the session if it is the recorded one (pid and identity), in its group, below one of these, or
carries the session's mark in its environment: ``GZIA_SESSION`` and ``GZIA_ROOT``, which gzia gives to every agent.  The
mark also finds daemons that left the group and whose parents are gone.  Outside of Linux there is the group alone; that
branch could not be tried by its authors.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from gzia.errors import GziaError
from gzia.system import procfs
from gzia.system.identity import identity_of

KILL_SECONDS = 5.0
"""How long SIGKILL is repeated before the call says that something cannot be ended."""


def marked(session: str, root: str) -> list[int]:
    """The running processes whose environment names this session of this project; not the caller itself."""
    return sorted(_marked(procfs.table(), session, root))


def end_tree(pid: int, identity: str, *, session: str, root: str, grace: float) -> bool:
    """SIGTERM to all of the tree, up to ``grace`` seconds of waiting, SIGKILL; blocks until nothing is left.

    False: it was already gone, and nothing was signalled.  A process that only has the recorded pid, but not the
    identity, is left alone, and so is its group.  GziaError ``processes-left`` if some could not be ended, for example
    because they belong to another user.
    """
    tree = _Tree(pid, identity, session, root)
    if not tree.members():
        return False
    tree.send(signal.SIGTERM)
    tree.send(signal.SIGCONT)  # who is stopped would not hear it
    if tree.is_gone_within(grace):
        return True
    end = time.monotonic() + KILL_SECONDS
    while time.monotonic() < end:
        tree.send(signal.SIGKILL)
        if tree.is_gone_within(0.05):
            return True
    left = sorted(tree.members())
    raise GziaError(
        "processes-left",
        f"Some processes of session {session} could not be ended: {', '.join(map(str, left))}.",
        f"look at them with: ps -o pid,user,stat,args -p {','.join(map(str, left))}",
        data={"pids": left},
    )


class _Tree:
    def __init__(self, pid: int, identity: str, session: str, root: str) -> None:
        self.pid, self.session, self.root = pid, session, root
        self.has_group = identity_of(pid) == identity  # if so, the number stays taken while the group has a member

    def members(self) -> dict[int, procfs.Stat | None]:
        """Who still runs; without /proc the recorded process stands for its whole group."""
        processes = procfs.table()
        if not processes:
            return {self.pid: None} if self.has_group and _quietly(os.killpg, self.pid, 0) else {}
        roots = _marked(processes, self.session, self.root)
        if self.has_group:
            roots |= {pid for pid, entry in processes.items() if self.pid in (pid, entry.group)}
        found = roots | procfs.descendants(processes, *roots)
        return {pid: processes[pid] for pid in found - {os.getpid()} if pid in processes and not processes[pid].ended}

    def send(self, number: int) -> None:
        """To the group at once, then to each who is outside of it."""
        members = self.members()
        if self.has_group and any(entry is None or entry.group == self.pid for entry in members.values()):
            _quietly(os.killpg, self.pid, number)
        for pid, entry in members.items():
            if entry is not None and not (self.has_group and entry.group == self.pid) and _is_still(pid, entry):
                _quietly(os.kill, pid, number)

    def is_gone_within(self, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while self.members():
            if time.monotonic() >= end:
                return False
            time.sleep(0.01)
        return True


def _marked(processes: dict[int, procfs.Stat], session: str, root: str) -> set[int]:
    wanted = {b"GZIA_SESSION=" + os.fsencode(session), b"GZIA_ROOT=" + os.fsencode(root)}
    alive = (pid for pid, entry in processes.items() if not entry.ended and pid != os.getpid())
    return {pid for pid in alive if wanted <= set(_environment(pid).split(b"\0"))}


def _environment(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:  # it ended, or is another user's
        return b""


def _is_still(pid: int, entry: procfs.Stat) -> bool:
    now = procfs.stat(pid)
    return now is not None and now.start == entry.start


def _quietly(function: Callable[[int, int], None], pid: int, number: int) -> bool:
    """Whether the signal could be sent; who vanished meanwhile, or is another user's, is no error here."""
    try:
        function(pid, number)
    except OSError:
        return False
    return True
