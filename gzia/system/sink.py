"""Descriptors that can be written to without waiting, whatever they are and whoever else has them.

O_NONBLOCK belongs to the open file, not to the descriptor: set on a standard output that gzia inherited, it would make
writes fail in the shell or the editor that shares it.  So it is never set here.  Instead:

- already non-blocking (our own pipes): written as it is;
- socket (Node gives these to its children): MSG_DONTWAIT on each send;
- pipe or terminal: opened a second time through /proc/self/fd, which makes an open file of our own;
- where that fails (macOS, another user's terminal): small pieces, each only when poll says that there is room.  A pipe
  with room takes PIPE_BUF bytes at once (pipe(7)), if nobody else fills it in between;
- regular files and devices such as /dev/null: written directly, they do not wait for a peer.
"""

from __future__ import annotations

import os
import select
import socket
import stat


class Sink:
    """A descriptor of ours.

    ``waits``: it can be full, so an event loop may watch it for room.  ``can_tell``: it turns readable when its reader
    goes away, so an event loop may watch it for that (pipes do; on sockets that may be data).
    """

    def __init__(self, fd: int, *, given: int | None = None, waits: bool = True, can_tell: bool = False) -> None:
        self.fd = fd
        self._given = fd if given is None else given
        self.waits = waits
        self.can_tell = can_tell

    def send(self, data: memoryview) -> int:
        """Write some of ``data``, say how much; BlockingIOError if there is no room, another OSError if it broke."""
        return os.write(self.fd, data)

    def has_lost_its_reader(self) -> bool:
        """Whether every later write would fail, if it can tell."""
        return bool(_poll(self.fd, 0) & (select.POLLERR | select.POLLHUP))  # Linux says the one, macOS the other

    def close(self) -> None:
        if self.fd != self._given:
            os.close(self.fd)
        release(self._given)


class SocketSink(Sink):
    """A socket, written to without waiting though it may be a blocking one."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._socket = socket.socket(fileno=fd)

    def send(self, data: memoryview) -> int:
        return self._socket.send(data, socket.MSG_DONTWAIT)

    def close(self) -> None:
        release(self._socket.detach())


class PieceSink(Sink):
    """A blocking pipe or terminal that cannot be opened again."""

    def send(self, data: memoryview) -> int:
        if not _poll(self.fd, select.POLLOUT):
            raise BlockingIOError
        return os.write(self.fd, data[: select.PIPE_BUF])


def sink_for(fd: int) -> Sink:
    """The kind of sink that fits ``fd``; it takes the descriptor over."""
    mode = os.fstat(fd).st_mode
    if stat.S_ISSOCK(mode):
        return SocketSink(fd)
    is_pipe = stat.S_ISFIFO(mode)
    if not is_pipe and not os.isatty(fd):
        return Sink(fd, waits=False)
    if not os.get_blocking(fd):
        return Sink(fd, can_tell=is_pipe)
    try:
        own = os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return PieceSink(fd, can_tell=is_pipe)
    return Sink(own, given=fd, can_tell=is_pipe)


def release(fd: int) -> None:
    """Close ``fd``, but leave 0, 1 and 2 open: the next file to be opened must not become a standard stream."""
    if fd > 2:
        os.close(fd)


def silence(fd: int) -> None:
    """What is written to ``fd`` from now on goes nowhere, and waits for nobody."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, fd)
    os.close(nowhere)


def _poll(fd: int, events: int) -> int:
    poll = select.poll()
    poll.register(fd, events)
    return next((found for _, found in poll.poll(0)), 0)
