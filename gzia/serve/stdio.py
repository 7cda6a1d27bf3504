"""Serves one editor on standard input and output until it goes away."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import Any

from gzia.serve.editor import Editor
from gzia.serve.options import Choices
from gzia.session.host import Host
from gzia.system.pump import Reader, Writer
from gzia.system.sink import silence

LEAVE = 4.0  # seconds for everything to end; what is left then dies with its guardian


async def serve(host: Host, choices: Choices, mistaken: Callable[[Exception], object]) -> int:
    """Serve until EOF, a closed pipe, SIGHUP, SIGINT or SIGTERM; the exit status.

    ``mistaken`` takes note of a bug that one request met.
    """
    loop = asyncio.get_running_loop()
    gone: asyncio.Future[int] = loop.create_future()

    def leave(status: int) -> None:
        if not gone.done():
            gone.set_result(status)

    writer = Writer(private_stdout(), on_broken=lambda _: leave(0))
    editor = Editor(host, writer, choices, mistaken)

    def received(data: bytes) -> None:
        editor.received(data)
        if not data:
            leave(0)

    def bug(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not gone.done():
            gone.set_exception(context.get("exception") or RuntimeError(context["message"]))

    # A mistake of ours ends everything and is told, rather than leaving the editor waiting for an answer.
    loop.set_exception_handler(bug)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, leave, 128 + number)
    reader = Reader(0, received)
    reader.start()
    try:
        return await gone
    finally:
        reader.close()
        await asyncio.wait([asyncio.ensure_future(editor.close())], timeout=LEAVE)
        await writer.close(0.5)


def private_stdout() -> int:
    """A descriptor for frames; what anything else prints on standard output goes nowhere from now on."""
    frames = os.dup(1)
    silence(1)
    return frames
