"""The process between gzia and one agent: whatever becomes of gzia, nothing of the agent's tree is left behind.

gzia starts one guardian per agent, in a session of its own, so that a signal to gzia's terminal, process group or
session does not reach it.  The guardian starts the agent as the leader of a process group and then waits for one of:

- the agent ends: its status is reported, and whatever it left running is ended;
- gzia asks for the end, or is gone (the socket closes, even after a SIGKILL).

The end is SIGTERM to the whole tree, a grace, SIGKILL; the guardian exits when nothing is left.  On Linux it is a child
subreaper (prctl(2)): every orphan of the tree, also one that made a session of its own, becomes its child, so "nothing
is left" is exactly "I have no child".  The agent carries a parent-death signal: a guardian that is killed takes the
agent with it.

Elsewhere (macOS), and on a Linux without ctypes, there are neither: the guardian then knows the process group and the
children that are still attached, and a daemon that left both escapes.  The macOS branch could not be tried by its
authors.

On the socket, from gzia: four bytes of length and a marshalled ``(argv, cwd, env, fds, grace)``, texts as bytes,
then ``end SECONDS\\n``.  To gzia: ``pid N IDENTITY`` or ``failed directory|program ERRNO``, then ``exited CODE`` (a
signal is negative), and ``left PID…`` for what could not be ended.  Only light imports here: an agent waits for them.
"""

from __future__ import annotations

import errno
import marshal
import os
import select
import sys
import time

from gzia.system import procfs
from gzia.system.identity import identity_of

TYPE_CHECKING = False  # what typing.TYPE_CHECKING is, without the import
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:
    import _signal as signal  # its C half: the enums of ``signal`` cost half as much as the start of the interpreter

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>

KILL_SECONDS = 5.0
"""How long SIGKILL is repeated, against processes that fork faster than they are found, or cannot be ended at all."""

ROUND_SECONDS = 0.02


def main() -> int:
    """Run as a process: ``argv[1]`` is the socket to gzia; 0, 1 and 2 are the agent's."""
    control = int(sys.argv[1])
    os.set_inheritable(control, False)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # whoever started gzia may have had it ignored: then no status
    argv, cwd, env, fds, grace = marshal.loads(_read_exactly(control, int.from_bytes(_read_exactly(control, 4), "big")))
    adopts = _prctl(PR_SET_CHILD_SUBREAPER, 1)
    agent, failure = start(argv, cwd, env, fds)
    _let_go(fds)
    if failure:
        _report(control, f"failed {failure}")
        return 1
    _report(control, f"pid {agent} {identity_of(agent) or ''}")
    Guard(control, Tree(agent, adopts), grace).run()
    return 0


def start(argv: list[bytes], cwd: bytes, env: dict[bytes, bytes], fds: list[int]) -> tuple[int, str]:
    """Start the agent; the pid and what failed: nothing, or ``directory ERRNO`` or ``program ERRNO``."""
    told, tell = os.pipe()
    guardian = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(argv, cwd, env, fds, guardian, tell)
    os.close(tell)
    _quietly(os.setpgid, pid, pid)  # the child does it too: whoever is first
    failure = os.read(told, 100).decode()  # the end of the pipe is a successful exec
    os.close(told)
    if failure:
        os.waitpid(pid, 0)
    return pid, failure


def _become(argv: list[bytes], cwd: bytes, env: dict[bytes, bytes], fds: list[int], guardian: int, tell: int) -> None:
    """In the child: turn into the agent, with every signal as a program expects it."""
    step = "directory"
    try:
        os.setpgid(0, 0)
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guardian:  # it died before the line above
            os._exit(127)
        for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        for fd in fds:
            os.set_inheritable(fd, True)
        os.chdir(cwd)
        step = "program"
        os.execvpe(argv[0], argv, env)
    except (OSError, ValueError) as error:  # the latter for a NUL byte in a word
        os.write(tell, f"{step} {getattr(error, 'errno', errno.EINVAL)}".encode())
    finally:
        os._exit(127)


class Tree:
    """The agent and all that came of it."""

    def __init__(self, agent: int, adopts: bool) -> None:
        self.agent = agent
        self.adopts = adopts
        self.status: int | None = None  # of the agent, once it ended; a signal is negative
        self.deadline: float | None = None  # when asking turns into killing
        self.has_more = False  # to collect

    def is_gone(self) -> bool:
        """Collect those who ended; whether nobody is left."""
        self.has_more = False
        end = time.monotonic() + ROUND_SECONDS  # some trees make orphans faster than they can be collected
        try:
            while time.monotonic() < end:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return False
                if pid == self.agent:
                    self.status = os.waitstatus_to_exitcode(status)
        except ChildProcessError:
            return self.adopts or not _quietly(os.killpg, self.agent, 0)
        self.has_more = True
        return False

    def end(self, grace: float) -> None:
        """Ask everybody to end, once; asked again, only the time they have can become shorter."""
        deadline = time.monotonic() + grace
        if self.deadline is None:
            self.deadline = deadline
            self.send(signal.SIGTERM)
            self.send(signal.SIGCONT)  # who is stopped would not hear it
        self.deadline = min(self.deadline, deadline)

    def kill(self) -> None:
        """Freeze everybody first, so that nobody forks while the others are killed."""
        self.send(signal.SIGSTOP)
        self.send(signal.SIGKILL)

    def send(self, number: int) -> None:
        """To the group at once (nobody in it can fork past that), then to each process that left the group."""
        processes = procfs.table()
        members = procfs.descendants(processes, os.getpid())
        if not processes or any(processes[pid].group == self.agent for pid in members):
            _quietly(os.killpg, self.agent, number)
        for pid in members:
            if processes[pid].group != self.agent:
                _quietly(os.kill, pid, number)

    def left(self) -> list[int]:
        """Who could not be ended."""
        return sorted(procfs.descendants(procfs.table(), os.getpid())) or [self.agent]


class Guard:
    """Waits for the agent, for gzia and for time."""

    def __init__(self, control: int, tree: Tree, grace: float) -> None:
        self.control, self.tree, self.grace = control, tree, grace
        self.reported = False
        self.waits = select.poll()
        self.waits.register(control, select.POLLIN)
        self.woken, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.waits.register(self.woken, select.POLLIN)

    def run(self) -> None:
        """Return when nothing is left, or what is left cannot be ended."""
        while not self.is_over():
            for fd, _ in self.waits.poll(self.patience()):
                self.hear() if fd == self.control else os.read(self.woken, 4096)

    def is_over(self) -> bool:
        """One look at everything, and what follows from it."""
        gone = self.tree.is_gone()
        if self.tree.status is not None and not self.reported:
            self.reported = True
            _report(self.control, f"exited {self.tree.status}")
            self.tree.end(self.grace)
        if gone or self.overtime() < 0:
            return gone
        if self.overtime() > KILL_SECONDS:
            _report(self.control, f"left {' '.join(map(str, self.tree.left()))}")
            return True
        self.tree.kill()
        return False

    def hear(self) -> None:
        """``end SECONDS`` from gzia; or nothing: gzia is gone."""
        orders = _read(self.control)
        for order in orders.splitlines():
            self.tree.end(float(order.split()[1]))
        if not orders:
            self.waits.unregister(self.control)
            self.tree.end(self.grace)

    def overtime(self) -> float:
        """Seconds since asking turned into killing; negative until then."""
        return -float("inf") if self.tree.deadline is None else time.monotonic() - self.tree.deadline

    def patience(self) -> float | None:
        """Milliseconds to wait at most: what is not our child gives no sign when it ends."""
        if self.tree.has_more:
            return 0
        if self.tree.deadline is None:
            return None
        is_due = self.overtime() >= 0 or not self.tree.adopts
        return 1000 * (ROUND_SECONDS if is_due else -self.overtime()) + 1


def _prctl(option: int, value: int) -> bool:
    if sys.platform != "linux":
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(option, ctypes.c_ulong(value), 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _let_go(fds: list[int]) -> None:
    """The agent's descriptors and directory are the agent's alone: their end must be its end."""
    for fd in fds:
        os.close(fd)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    os.chdir("/")


def _read_exactly(fd: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(fd, size - len(data))
        if not more:
            raise SystemExit(1)  # gzia ended before it had said what to start
        data += more
    return data


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 4096)
    except OSError:  # reset: as good as closed
        return b""


def _report(control: int, line: str) -> None:
    _quietly(os.write, control, f"{line}\n".encode())


def _quietly(function: Callable[..., object], *arguments: object) -> bool:
    """Whether it worked; a process, a group or a gzia that vanished meanwhile is no error."""
    try:
        function(*arguments)
    except OSError:
        return False
    return True
