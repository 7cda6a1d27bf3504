"""Start an agent, talk to it, and end it with everything that came of it.

Each agent has a guardian (see ``guardian.py``), so that the promise "nothing outlives gzia" does not depend on gzia.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from gzia.errors import GziaError, NotFoundError
from gzia.system.leash import Command, Leash, StartError
from gzia.system.leash import Exit as Exit
from gzia.system.pump import Reader, Writer

EOF_SECONDS = 0.3
"""How long an agent may take to end by itself once its input has ended, before it gets a signal."""

PIPE_BYTES = 1024 * 1024
"""What an unprivileged process may make of a pipe on Linux (pipe(7)); the more is in it, the more is read at once."""

TAIL_BYTES = 8192


class Process:
    """A running agent; made by ``start``.

    ``stdin`` takes its input.
    """

    def __init__(self, command: Command) -> None:
        fds: list[int] = []
        kept: tuple[int, ...] = ()
        try:
            for _ in range(3):
                fds += os.pipe()
            self._leash = Leash(command, (fds[0], fds[3], fds[5]), self._wind_up)
            kept = (fds[1], fds[2], fds[4])
        finally:
            for fd in set(fds) - set(kept):
                os.close(fd)
        for fd in kept:
            os.set_blocking(fd, False)  # nobody shares our ends
        _enlarge(fds[2])
        self.stdin = Writer(fds[1])
        self._on_data: Callable[[bytes], None] | None = None
        self._stdout = Reader(fds[2], self._deliver)
        self._tail = b""
        self._stderr = Reader(fds[4], self._keep)
        self._stderr.start()

    @property
    def pid(self) -> int:
        """Of the agent itself; also the number of its process group."""
        return self._leash.started.result()[0]

    @property
    def identity(self) -> str:
        """What ``identity_of(pid)`` said when it started."""
        return self._leash.started.result()[1]

    @property
    def exited(self) -> asyncio.Future[Exit]:
        """Done when the agent itself ended; its last output may come after that.  To cancel it harms nobody else."""
        return asyncio.shield(self._leash.exited)

    @property
    def left(self) -> tuple[int, ...]:
        """After the end: the pids of what could not be ended (another user's, stuck in the kernel); normally none."""
        return self._leash.left

    def read(self, on_data: Callable[[bytes], None]) -> Reader:
        """Deliver the standard output, all of it, and once ``b""`` at its end; to be called once.

        When the whole tree is gone the end is delivered even if a process elsewhere still holds the pipe, and also to a
        paused reader, after what was in the pipe.
        """
        self._on_data = on_data
        self._stdout.start()
        if self._leash.gone.done():
            asyncio.get_running_loop().call_soon(self._wind_up)
        return self._stdout

    def stderr_tail(self) -> str:
        """The last 8 KiB of the standard error output, for error messages."""
        return self._tail.decode(errors="replace")

    async def end(self, grace: float = 2.0) -> Exit:
        """End the agent and everything it started; return when nothing of it is left.

        First its input ends, which is how good agents are asked to end, for ``EOF_SECONDS``; then SIGTERM to the whole
        tree; after ``grace`` seconds SIGKILL.  Called again meanwhile, a shorter grace counts.
        """
        await self._end_input(min(EOF_SECONDS, grace))
        self._leash.end(grace)
        await asyncio.shield(self._leash.gone)
        self._stdout.close()
        return self._leash.exited.result()

    async def _end_input(self, seconds: float) -> None:
        end = asyncio.get_running_loop().time() + seconds
        await self.stdin.close(seconds)
        await asyncio.wait([self._leash.exited], timeout=end - asyncio.get_running_loop().time())

    async def _started(self) -> None:
        try:
            await self._leash.started
        except BaseException:  # also cancelled: even then nothing may be left
            self._leash.end(0)
            await asyncio.shield(self._leash.gone)
            self._stdout.close()
            raise

    def _deliver(self, data: bytes) -> None:
        if self._on_data is not None:
            self._on_data(data)

    def _keep(self, data: bytes) -> None:
        self._tail = (self._tail + data)[-TAIL_BYTES:]

    def _wind_up(self) -> None:
        """The tree is gone: take what is still in the pipes.  Bounded, for somebody outside may hold and fill them."""
        self.stdin.abort()
        for reader in (self._stderr, self._stdout):
            if reader is self._stderr or self._on_data is not None:
                reader.finish(2 * PIPE_BYTES)
                reader.close()


async def start(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], pass_fds: Sequence[int] = (), grace: float = 2.0
) -> Process:
    """Start ``argv`` in ``cwd`` with exactly the environment ``env``, in which its program is looked up (PATH).

    ``pass_fds``: descriptors that the agent inherits under the same numbers, as ``module_command`` asks for.
    ``grace``: seconds between SIGTERM and SIGKILL when the agent ends by itself and leaves processes, or when gzia is
    gone.  GziaError: ``agent-not-found``, ``agent-not-executable``, ``directory-not-found``, ``agent-not-started``.
    """
    try:
        process = Process(Command(argv, cwd, env, pass_fds, grace))
    except OSError as error:
        raise _no_guardian(os.strerror(error.errno or 0)) from error
    try:
        await process._started()
    except StartError as failure:
        raise _explain(failure, argv[0], cwd, env, process.stderr_tail()) from None
    return process


def _explain(failure: StartError, program: str, cwd: Path, env: Mapping[str, str], stderr: str) -> GziaError:
    reason = os.strerror(failure.number)
    if failure.step == "guardian":
        return _no_guardian(stderr.strip().rpartition("\n")[2])  # of a traceback, the line that says what it was
    if failure.step == "directory":
        return NotFoundError(
            "directory-not-found",
            f"The directory {cwd} cannot be entered: {reason}.",
            f"look at it with: ls -ld {shlex.quote(str(cwd))}",
        )
    found = shutil.which(cwd / program if "/" in program else program, path=env.get("PATH"))
    if failure.number in (errno.ENOENT, errno.ENOTDIR) and found is None:
        return NotFoundError(
            "agent-not-found",
            f"The program {program} was not found.",
            "install it, add its directory to PATH, or choose another agent with -a",
            data={"program": program},
        )
    if failure.number == errno.ENOENT:
        reason = "its first line names an interpreter that is not there"
    return GziaError(
        "agent-not-executable",
        f"The program {found or program} could not be started: {reason}.",
        f"try it by hand: {shlex.quote(program)} --version",
        data={"program": program},
    )


def _no_guardian(reason: str) -> GziaError:
    return GziaError(
        "agent-not-started",
        f"No process could be started for the agent: {reason or 'it ended at once'}.",
        "look at the free memory, and at the limits: ulimit -a",
    )


def _enlarge(pipe: int) -> None:
    """A larger pipe where the system allows it; the usual one will do."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        try:
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        except OSError:
            pass
