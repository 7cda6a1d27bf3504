"""gzia's end of a guardian: start it, hear what it reports, ask it for the end, know when it is gone.

No child watcher and no SIGCHLD handler: the guardian's socket says everything, and only its own pid is ever waited for.
"""

from __future__ import annotations

import asyncio
import marshal
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gzia.errors import GziaError
from gzia.system.identity import identity_of
from gzia.system.pump import Reader, Writer
from gzia.system.selfexec import module_command
from gzia.system.tree import end_tree


class Exit(NamedTuple):
    """How a process ended: one of the two is None."""

    code: int | None
    signal: int | None

    @property
    def status(self) -> int:
        """As a shell gives it: 128 + n for signal n."""
        return 128 + self.signal if self.signal is not None else self.code or 0

    def describe(self) -> str:
        """``exit status 3`` or ``signal 9 (SIGKILL)``."""
        if self.signal is None:
            return f"exit status {self.code}"
        named = {number.value: f" ({number.name})" for number in signal.Signals}
        return f"signal {self.signal}{named.get(self.signal, '')}"


class Command(NamedTuple):
    """What to start, where, with which variables and descriptors; ``grace``: seconds between SIGTERM and SIGKILL."""

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    pass_fds: Sequence[int]
    grace: float

    def encode(self) -> bytes:
        """As the guardian reads it."""
        words = [os.fsencode(word) for word in self.argv]
        variables = {os.fsencode(name): os.fsencode(value) for name, value in self.env.items()}
        request = (words, os.fsencode(self.cwd.absolute()), variables, list(self.pass_fds), self.grace)
        data = marshal.dumps(request)
        return len(data).to_bytes(4, "big") + data


class StartError(Exception):
    """The agent was not started: ``step`` is ``directory``, ``program`` or ``guardian`` (then ``number`` may be 0)."""

    def __init__(self, step: str, number: int = 0) -> None:
        super().__init__(step, number)
        self.step = step
        self.number = number


class Leash:
    """One guardian and, through it, one agent.

    ``started``: pid and identity of the agent, or StartError.  ``exited``: how the agent itself ended.  ``gone``:
    nothing of the tree is left, but for ``left``, the pids of processes that could not be ended.  ``on_gone`` is called
    right before ``gone`` is done.
    """

    def __init__(self, command: Command, pipes: Sequence[int], on_gone: Callable[[], None]) -> None:
        """``pipes``: the agent's ends of its standard streams, which stay the caller's to close."""
        loop = asyncio.get_running_loop()
        self.started: asyncio.Future[tuple[int, str]] = loop.create_future()
        self.exited: asyncio.Future[Exit] = loop.create_future()
        self.gone: asyncio.Future[None] = loop.create_future()
        self.left: tuple[int, ...] = ()
        self._env, self._on_gone = command.env, on_gone
        self._heard = b""
        self._finishing: asyncio.Task[None] | None = None
        self._guardian, control = _start_guardian(pipes, command.pass_fds)
        self._reports = Reader(os.dup(control), self._hear)
        self._reports.start()
        self._orders = Writer(control)
        self._orders.write(command.encode())

    def end(self, grace: float) -> None:
        """Ask for the end of the tree; ``gone`` tells when it is done."""
        self._orders.write(f"end {grace}\n".encode())

    def _hear(self, data: bytes) -> None:
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            self._note(*line.decode().split(" ", 1))
        if not data:
            self._finishing = asyncio.get_running_loop().create_task(self._finish())

    def _note(self, word: str, rest: str) -> None:
        if word == "exited":
            status = int(rest)
            self.exited.set_result(Exit(None, -status) if status < 0 else Exit(status, None))
        elif word == "left":
            self.left = tuple(int(pid) for pid in rest.split())
        elif not self.started.done() and word == "pid":
            pid, identity = rest.split(" ", 1)
            self.started.set_result((int(pid), identity))
        elif not self.started.done():
            step, number = rest.split()
            self.started.set_exception(StartError(step, int(number)))

    async def _finish(self) -> None:
        try:
            while self._guardian.poll() is None:  # noqa: ASYNC110 -- its socket closed: it is in the middle of its exit
                await asyncio.sleep(0.001)
            if self._was_lost():
                await asyncio.to_thread(self._end_the_rest)
        finally:
            self._settle()

    def _was_lost(self) -> bool:
        is_started = self.started.done() and not self.started.cancelled() and self.started.exception() is None
        return is_started and not self.exited.done()

    def _end_the_rest(self) -> None:
        """The guardian was killed, and the agent with it; its group and what carries its mark can still be found."""
        pid, identity = self.started.result()
        if identity_of(pid) in (None, identity):  # a moment ago it was ours: nobody else can have the number yet
            try:
                os.killpg(pid, signal.SIGKILL)
            except OSError:
                pass
        session, root = self._env.get("GZIA_SESSION", ""), self._env.get("GZIA_ROOT", "")
        try:
            end_tree(pid, identity, session=session, root=root, grace=0)
        except GziaError as error:
            self.left = tuple(error.data["pids"])

    def _settle(self) -> None:
        self._reports.close()
        self._orders.abort()
        if not self.started.done():
            self.started.set_exception(StartError("guardian"))
        if not self.exited.done():
            self.exited.set_result(Exit(None, signal.SIGKILL))
        self._on_gone()
        self.gone.set_result(None)


def _start_guardian(pipes: Sequence[int], pass_fds: Sequence[int]) -> tuple[subprocess.Popen[bytes], int]:
    """The process and our side of its socket.  Takes about a millisecond: no shell, no fork of our memory."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        command, fds = module_command("gzia.system.guardian", str(theirs.fileno()))
        stdin, stdout, stderr = pipes
        guardian = subprocess.Popen(
            command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            pass_fds=(theirs.fileno(), *fds, *pass_fds),
            start_new_session=True,
        )
        ours.setblocking(False)
        return guardian, ours.detach()
