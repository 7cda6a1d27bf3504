"""The command line as a person or a script meets it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from io import FileIO
from pathlib import Path
from typing import NamedTuple, Protocol

import pytest

from gzia.cli import main

ROOT = Path(__file__).parents[2]
STARTED = [sys.executable, "-I", "-S", "-c"]
BOOT = f"import sys; sys.path[:0] = [{str(ROOT)!r}, *{[p for p in sys.path if 'site-packages' in p]!r}]\n" + (
    "from gzia.cli.main import entry; sys.exit(entry())"
)
GZIA = [*STARTED, BOOT]


class Answer(NamedTuple):
    """What a command gave back."""

    status: int
    out: str
    err: str


class Gzia(Protocol):
    """Runs gzia as a process."""

    def __call__(self, *words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Answer: ...


@pytest.fixture
def gzia(tmp_path: Path) -> Gzia:
    """gzia as a process of its own, as scripts start it."""

    def run(*words: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Answer:
        done = subprocess.run(
            [*GZIA, *words], cwd=cwd or tmp_path, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="surrogateescape", timeout=60,
        )  # fmt: skip
        return Answer(done.returncode, done.stdout, done.stderr)

    return run


Call = Callable[..., Answer]


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Call]:
    """gzia in this process: faster, where a test asks what a command does and not how a process behaves."""
    monkeypatch.chdir(tmp_path)
    signals = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def run(*words: str) -> Answer:
        status = main.run(words)
        return Answer(status, *capfd.readouterr())

    yield run
    for number, handler in signals.items():
        signal.signal(number, handler)


def on_terminal(*words: str, cwd: Path, env: Mapping[str, str] | None = None, columns: int = 80) -> Answer:
    """gzia with a real terminal as standard output; ``out`` is what the terminal received."""
    leader, follower = pty.openpty()
    with FileIO(leader, "r") as terminal:
        size = {"COLUMNS": str(columns), "LINES": "24", "TERM": "xterm-256color"}
        with subprocess.Popen(
            [*GZIA, *words], cwd=cwd, env={**os.environ, **size, **(env or {})}, stdin=subprocess.DEVNULL,
            stdout=follower, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            os.close(follower)
            received = b""
            while piece := _read(terminal):
                received += piece
            assert process.stderr
            complaints = process.stderr.read().decode()
    return Answer(process.returncode, received.decode("utf-8", "surrogateescape").replace("\r\n", "\n"), complaints)


def _read(terminal: FileIO) -> bytes:
    try:
        return terminal.read(65536)
    except OSError:  # EIO: the last one who had the terminal open is gone
        return b""
