"""``gzia acp attach ID``: be a running session for an editor: its socket on standard input and output."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import socket
from typing import Any

from gzia.cli import remote, sessions
from gzia.system.pump import Reader, Writer

BACKLOG = 1 << 20  # bytes that may wait on their way before nothing more is taken
LEAVE = 2.0  # seconds for what is on its way once one of the two has ended


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID."""
    parser.add_argument("id", metavar="ID", help="the session")


def run(args: argparse.Namespace) -> int:
    """Pass bytes on until the editor or the session goes away."""
    with sessions.service_of(args) as service:
        connection = remote.connect(service, service.get(args.id))
    with connection:
        return asyncio.run(relay(connection))


async def relay(connection: socket.socket) -> int:
    """Both ways at once until one of the two ends; the exit status."""
    loop = asyncio.get_running_loop()
    gone: asyncio.Future[int] = loop.create_future()

    def leave(status: int) -> None:
        if not gone.done():
            gone.set_result(status)

    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leave, 128 + number)
    to_session = Writer(os.dup(connection.fileno()), lambda _: leave(0))
    to_editor = Writer(os.dup(1), lambda _: leave(0))
    editor, session = Way(0, to_session), Way(os.dup(connection.fileno()), to_editor)
    await first(None, gone, editor.ended, session.ended)
    if not gone.done() and not session.ended.done():  # the editor has said all: what it asked may be answered
        await first(LEAVE, gone, asyncio.ensure_future(to_session.drained()))
        connection.shutdown(socket.SHUT_WR)
        await first(LEAVE, gone, session.ended)
    editor.close()
    session.close()
    to_session.abort()
    await to_editor.close(LEAVE)
    return gone.result() if gone.done() else 0


async def first(timeout: float | None, *of: asyncio.Future[Any]) -> None:
    """Wait for the first of these."""
    await asyncio.wait(of, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)


class Way:
    """Bytes from a descriptor to a writer.  One who is slow is waited for; nothing more is taken for them meanwhile."""

    def __init__(self, source: int, sink: Writer) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sink = sink
        self._room: asyncio.Task[None] | None = None
        self._reader = Reader(source, self._received)
        self._reader.start()

    def close(self) -> None:
        """Take nothing more."""
        if self._room:
            self._room.cancel()
        self._reader.close()

    def _received(self, data: bytes) -> None:
        self._sink.write(data)
        if not data:
            self.ended.set_result(None)
        elif self._sink.pending > BACKLOG:
            self._reader.pause()
            self._room = asyncio.create_task(self._go_on())

    async def _go_on(self) -> None:
        await self._sink.drained(BACKLOG // 2)
        self._reader.resume()
