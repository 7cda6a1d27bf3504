"""How long a steer is on its way through gzia: from a client of the session's socket to the agent's standard input.

The client is connected already and the journal is on.  Both ends read CLOCK_MONOTONIC, which is one for all processes.
What was asked is on the disk before it leaves, so the disk sets the floor: after each batch as many lines are written
and synchronised beside the journal.  The figure is meant for an idle machine: the quietest batch counts.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

from gzia.acp import steering
from gzia.system import local_socket
from tests.bench.report import Gate, Report

BATCHES, STEERS = 5, 500
PAUSE = 0.003  # seconds between two steers: a person's steer meets processes that sleep
AGENT = Path(__file__).with_name("steer_agent.py")
SESSION = "bench"

Json = dict[str, Any]


class Times(NamedTuple):
    """One steer, in milliseconds from the client: until the agent had read it, until the answer; and the disk alone."""

    arrived: float
    answered: float
    disk: float


def measure(file: Path) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        times = steered(file, Path(folder).resolve())
    batches = [times[at : at + STEERS] for at in range(0, len(times), STEERS)]
    quietest = min(batches, key=lambda batch: percentile([one.arrived for one in batch], 99))
    p99 = percentile([one.arrived for one in quietest], 99)
    return Report(
        f"{BATCHES} times {STEERS} steers, one at a time, through the socket of a running session, journal on, in ms",
        ("batch", "p50", "p99", "max", "and back p50", "p99", "disk alone p50", "p99"),
        tuple(row(str(number), batch) for number, batch in enumerate(batches, 1)),
        (Gate("p99 to the agent's stdin, ms, in the quietest batch", p99, 5.0),),
    )


def steered(file: Path, place: Path) -> list[Times]:
    """All steers of a turn that runs in ``place``."""
    sent, alone = [], []
    with session(file, place), connected(place) as client, (place / "beside").open("ab", buffering=0) as disk:
        for batch in range(BATCHES):
            sent += [steer(client, f"steer-{batch}-{number}") for number in range(STEERS)]
            alone += [synchronised(disk) for _ in range(STEERS)]
        client.ask("_gzia/cancel", {"sessionId": SESSION})
    read_at = dict(line.split() for line in (place / "read-at").read_text().splitlines())
    return [
        Times((int(read_at[text]) - start) / 1e6, (back - start) / 1e6, disk_alone / 1e6)
        for (text, start, back), disk_alone in zip(sent, alone, strict=True)
    ]


def synchronised(disk: FileIO) -> int:
    """The nanoseconds that a line takes to the disk."""
    time.sleep(PAUSE)
    start = time.monotonic_ns()
    disk.write(b"x" * 200 + b"\n")
    os.fsync(disk)
    return time.monotonic_ns() - start


def row(name: str, batch: list[Times]) -> tuple[str, ...]:
    arrived, answered, disk = zip(*batch, strict=True)
    figures = (percentile(arrived, 50), percentile(arrived, 99), max(arrived))
    others = (percentile(times, which) for times in (answered, disk) for which in (50, 99))
    return name, *(f"{figure:.2f}" for figure in (*figures, *others))


def percentile(times: Sequence[float], which: int) -> float:
    return statistics.quantiles(times, n=100)[which - 1]


def steer(client: Client, text: str) -> tuple[str, int, int]:
    """The text, and the monotonic nanoseconds when it was sent and when it was answered."""
    params = steering.params(SESSION, [{"type": "text", "text": text}])
    time.sleep(PAUSE)
    sent = time.monotonic_ns()
    result = client.ask(steering.METHOD, params)
    back = time.monotonic_ns()
    if result["outcome"] != steering.INJECTED:
        raise SystemExit(f"a steer was not taken: {result}")
    return text, sent, back


class Client:
    """A client that waits for each answer."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self._count = 0

    def ask(self, method: str, params: Json) -> Json:
        self._count += 1
        request = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        self._connection.sendall(json.dumps(request).encode() + b"\n")
        answer = json.loads(self._lines.readline())
        if answer.get("id") != self._count or "result" not in answer:
            raise SystemExit(f"no answer to {method}: {answer}")
        found: Json = answer["result"]
        return found

    def close(self) -> None:
        self._lines.close()


@contextmanager
def session(file: Path, place: Path) -> Iterator[None]:
    """A turn that runs in ``place``, which is no repository."""
    agent = shlex.join([sys.executable, "-I", str(AGENT), str(place / "read-at")])
    command = [str(file), "run", "--json", "-p", "autonomous", "--id", SESSION, "--agent-command", agent, "go"]
    with subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE) as process:
        assert process.stdout
        next(line for line in process.stdout if b"agent_message_chunk" in line)
        yield
        process.stdout.read()


@contextmanager
def connected(place: Path) -> Iterator[Client]:
    """A client at the session's socket."""
    with local_socket.connect(local_socket.path_for(place, SESSION)) as connection:
        connection.setblocking(True)
        client = Client(connection)
        client.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        yield client
        client.close()
