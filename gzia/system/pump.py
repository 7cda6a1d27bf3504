"""Bytes in and out of descriptors, under asyncio, without transports and streams.

asyncio's own pipe transports set O_NONBLOCK on what they are given, refuse regular files and hand over at most 64 KiB a
wake-up or one line at a time.  A pump moves large pieces, so that many messages are handled at once.  Both kinds take
their descriptor over and close it, but for 0, 1 and 2, which stay open.
"""

from __future__ import annotations

import asyncio
import errno
import os
import stat
from collections import deque
from collections.abc import Callable

from gzia.system.sink import release, sink_for

READ_BYTES = 256 * 1024
BURST_BYTES = 1024 * 1024
"""One turn of the event loop reads, or writes, at most this much of one descriptor: the others have their turn too."""


class Reader:
    """Calls ``on_data`` with each piece that arrives, and once with ``b""`` at the end.

    A reset peer and the EIO of a terminal whose program ended are ends.  Starts silent: see ``start``.
    """

    def __init__(self, fd: int, on_data: Callable[[bytes], None]) -> None:
        self._fd: int | None = fd
        self._on_data = on_data
        self._loop = asyncio.get_running_loop()
        self._has_ended = False
        self._next: asyncio.Handle | None = None
        mode = os.fstat(fd).st_mode
        self._never_waits = stat.S_ISREG(mode) or (stat.S_ISCHR(mode) and not os.isatty(fd))  # epoll refuses these

    def start(self) -> None:
        """Deliver from now on."""
        if self._fd is None or self._has_ended:
            return
        if not self._never_waits:
            self._loop.add_reader(self._fd, self._read)
        elif self._next is None:
            self._next = self._loop.call_soon(self._read_on)

    def pause(self) -> None:
        """Deliver nothing until ``resume``; the peer will find its pipe full."""
        if self._next is not None:
            self._next.cancel()
            self._next = None
        elif self._fd is not None and not self._never_waits:
            self._loop.remove_reader(self._fd)

    resume = start

    def close(self) -> None:
        """Close the descriptor; nothing is delivered any more."""
        self.pause()
        if self._fd is not None:
            release(self._fd)
            self._fd = None

    def finish(self, limit: int) -> None:
        """Deliver what is there now, up to ``limit`` bytes, then the end; even if somebody still holds the other side.

        For a descriptor that does not block.
        """
        while limit > 0 and self._is_open() and (data := self._take()):
            limit -= len(data)
            self._on_data(data)
        if self._is_open():
            self._deliver(b"")

    def _is_open(self) -> bool:
        return self._fd is not None and not self._has_ended

    def _take(self) -> bytes | None:
        """One piece; empty at the end, None if there is nothing now."""
        assert self._fd is not None
        try:
            return os.read(self._fd, READ_BYTES)
        except (BlockingIOError, InterruptedError):
            return None
        except OSError:
            return b""

    def _read(self) -> None:
        data = self._take()
        if data is not None:
            self._deliver(data)

    def _read_on(self) -> None:
        self._next = self._loop.call_soon(self._read_on)
        self._read()

    def _deliver(self, data: bytes) -> None:
        if not data:
            self.pause()
            self._has_ended = True
        self._on_data(data)


class Writer:
    """Writes everything it is given, in order, without ever making the caller wait.

    ``on_broken`` is told once, from the event loop, when nobody will read any more: the reader is gone or the disk is
    full.  What was pending then, and what is written later, is dropped.
    """

    def __init__(self, fd: int, on_broken: Callable[[OSError], None] | None = None) -> None:
        self._sink = sink_for(fd)
        self._on_broken = on_broken
        self._loop = asyncio.get_running_loop()
        self._queue: deque[memoryview] = deque()
        self.is_closed = False
        """Nothing is taken any more: nobody would read it, or it was closed."""
        self._is_full = False  # the loop will say when there is room
        self._waiters: list[tuple[int, asyncio.Future[None]]] = []
        self._written = 0  # bytes that were taken from us
        self._marks: deque[tuple[int, Callable[[], None]]] = deque()
        self.pending = 0
        """Bytes that were given and not yet written."""
        if self._sink.waits and self._sink.can_tell:
            self._loop.add_reader(self._sink.fd, self._look)

    def write(self, data: bytes | memoryview) -> None:
        """Take ``data``, which must not change any more."""
        view = memoryview(data).cast("B")
        if self.is_closed or not view:
            return
        self._queue.append(view)
        self.pending += len(view)
        if not self._is_full:
            self._flush()

    def when_written(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` once the system has taken every byte that was given so far; now, if it has.

        Never called when the writer breaks or is closed before that.  It may write.
        """
        if self.is_closed:
            return
        if self.pending:
            self._marks.append((self._written + self.pending, callback))
        else:
            callback()

    async def drained(self, below: int = 0) -> None:
        """Wait until at most ``below`` bytes are pending, or the writer is broken or closed."""
        if self.pending > below:
            done = self._loop.create_future()
            self._waiters.append((below, done))
            await done

    async def close(self, timeout: float) -> None:
        """Give what is pending at most ``timeout`` seconds to be written, drop the rest and close the descriptor."""
        try:
            await asyncio.wait_for(self.drained(), timeout)
        except TimeoutError:
            pass
        finally:
            self.abort()

    def abort(self) -> None:
        """Close the descriptor now; what is pending is dropped."""
        if self.is_closed:
            return
        self.is_closed = True
        if self._sink.waits:
            self._loop.remove_reader(self._sink.fd)
            self._loop.remove_writer(self._sink.fd)
        self._sink.close()
        self._queue.clear()
        self._marks.clear()
        self.pending = 0
        self._wake()

    def _flush(self) -> None:
        burst = BURST_BYTES
        try:
            while self._queue and (burst > 0 or not self._sink.waits):
                burst -= self._send()
        except (BlockingIOError, InterruptedError):
            pass
        except OSError as error:
            self._break(error)
            return
        self._watch(bool(self._queue))
        self._tell_written()
        self._wake()

    def _tell_written(self) -> None:
        while self._marks and self._marks[0][0] <= self._written:
            self._marks.popleft()[1]()

    def _send(self) -> int:
        first = self._queue.popleft()
        sent = 0
        try:
            sent = self._sink.send(first)
        finally:
            self.pending -= sent
            self._written += sent
            if sent < len(first):
                self._queue.appendleft(first[sent:])
        return sent

    def _watch(self, is_full: bool) -> None:
        if is_full and not self._is_full:
            self._loop.add_writer(self._sink.fd, self._flush)
        elif self._is_full and not is_full:
            self._loop.remove_writer(self._sink.fd)
        self._is_full = is_full

    def _look(self) -> None:
        """Something to read on a pipe's writing side: its reader is gone, or it is open for both and we do not care."""
        self._loop.remove_reader(self._sink.fd)
        if self._sink.has_lost_its_reader():
            self._break(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))

    def _break(self, error: OSError) -> None:
        self._tell_written()  # what was taken just before is not undone
        if self.is_closed:
            return
        self.abort()
        if self._on_broken is not None:
            self._loop.call_soon(self._on_broken, error)

    def _wake(self) -> None:
        still = []
        for below, done in self._waiters:
            if self.pending > below:
                still.append((below, done))
            elif not done.done():
                done.set_result(None)
        self._waiters = still
