"""What the tests of this room watch processes with: descriptors and the event loop, never a pause."""

from __future__ import annotations

import asyncio
import functools
import os
import select
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import Any, ParamSpec

from gzia.system import process
from gzia.system.process import Process

P = ParamSpec("P")
BOUND = 20.0
"""Seconds after which something that must happen did not: far more than it takes on a busy machine."""


def in_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Run the test in an event loop of its own."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


def still_running(pids: Iterable[int], seconds: float = BOUND) -> set[int]:
    """Wait until all of ``pids`` have ended; those that have not after ``seconds``."""
    deadline = time.monotonic() + seconds
    return {pid for pid in pids if not _ended(pid, deadline)}


def _ended(pid: int, deadline: float) -> bool:
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(1000 * max(0, deadline - time.monotonic())))
    finally:
        os.close(fd)


def children(pid: int | None = None) -> list[int]:
    """The child processes of ``pid`` (of this process), zombies too."""
    listed = Path(f"/proc/{pid or os.getpid()}/task/{pid or os.getpid()}/children").read_text()
    return [int(child) for child in listed.split()]


async def comes_true(condition: Callable[[], bool]) -> bool:
    """Look again and again, while the loop goes on, for what gives no sign; whether it came true in time."""
    deadline = time.monotonic() + BOUND
    while not condition() and time.monotonic() < deadline:  # noqa: ASYNC110 -- as said
        await asyncio.sleep(0.001)
    return condition()


class Output:
    """Takes what a reader delivers."""

    def __init__(self) -> None:
        self.data = b""
        self.ends = 0
        self._arrived = asyncio.Event()

    def __call__(self, data: bytes) -> None:
        self.data += data
        self.ends += not data
        self._arrived.set()

    async def lines(self, count: int) -> list[str]:
        """Wait for so many lines; all that have come."""
        async with asyncio.timeout(BOUND):
            while self.data.count(b"\n") < count:
                assert not self.ends, f"ended after {self.data!r}"
                self._arrived.clear()
                await self._arrived.wait()
        return self.data.decode().splitlines()

    async def end(self) -> bytes:
        """Wait for the end; everything that has come."""
        async with asyncio.timeout(BOUND):
            while not self.ends:
                self._arrived.clear()
                await self._arrived.wait()
        return self.data


async def started(*argv: str, cwd: Path = Path("/"), env: Mapping[str, str] | None = None) -> tuple[Process, Output]:
    """A process with the PATH of this one and ``env``, and its output."""
    running = await process.start(argv, cwd=cwd, env={"PATH": os.environ["PATH"], **(env or {})}, grace=1.0)
    output = Output()
    running.read(output)
    return running, output
