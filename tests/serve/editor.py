"""An editor that drives ``gzia acp serve`` over pipes, keeps every frame, and decides what it answers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.testing.client import Client

CHECKOUT = Path(__file__).parents[2]
ENDS = 5.0  # seconds in which gzia must be gone once its editor is


class Editor(Client):
    """The client, with the process of gzia behind it."""

    process: subprocess.Popen[bytes]


@contextmanager
def editor(cwd: Path, *args: str, env: Mapping[str, str] | None = None, open: bool = True) -> Iterator[Editor]:
    """``gzia acp serve ARGS`` with a session in ``cwd``; it must end by itself, silently, when its input closes."""
    command = [sys.executable, "-m", "gzia", "acp", "serve", *args]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), **(env or {})}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, cwd=cwd) as process:
        assert process.stdin and process.stdout and process.stderr
        client = Editor(process.stdin, process.stdout, cwd)
        client.process = process
        try:
            if open:
                client.open()
            yield client
        finally:
            if not process.stdin.closed:
                process.stdin.close()
            status = process.wait(ENDS)
            complaints = process.stderr.read().decode()
            assert complaints == "", complaints
            assert status in (0, -9), status
