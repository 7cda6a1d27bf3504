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
from gzia.system.tasks import told

LEAVE = 4.0  # seconds for everything to end; what is left then dies with its guardian


async def serve(host: Host, choices: Choices, mistaken: Callable[[Exception], object]) -> int:
    """Serve until EOF, a closed pipe, SIGHUP, SIGINT or SIGTERM; the exit status.

    Guests that have joined a session keep it when the editor goes; signals end all the same.  ``mistaken`` takes note
    of a bug that one request met.
    """
    loop = asyncio.get_running_loop()
    gone: asyncio.Future[int] = loop.create_future()

    def leave(status: int) -> None:
        if not gone.done():
            gone.set_result(status)

    async def after_guests() -> None:
        await editor.deserted()
        leave(0)

    def deserted() -> None:
        waiting.append(loop.create_task(after_guests()))
        waiting[-1].add_done_callback(told)

    writer = Writer(private_stdout(), on_broken=lambda _: deserted())
    editor = Editor(host, writer, choices, mistaken)
    waiting: list[asyncio.Task[None]] = []

    def received(data: bytes) -> None:
        editor.received(data)
        if not data:
            deserted()

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
        for task in waiting:
            task.cancel()
        await asyncio.wait([asyncio.ensure_future(editor.close())], timeout=LEAVE)
        await writer.close(0.5)


def private_stdout() -> int:
    """A descriptor for frames; what anything else prints on standard output goes nowhere from now on."""
    frames = os.dup(1)
    silence(1)
    return frames
