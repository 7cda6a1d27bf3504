"""However an editor goes away, ``gzia acp serve`` ends within 5 s and nothing that it started outlives it."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents_for_tests import scripted_command
from tests.serve.editor import CHECKOUT
from tests.testing.client import Client

ENDS = 5.0  # seconds

# The agent, and what it leaves behind: a child in a session of its own that holds every pipe, and one that is deaf.
SCRIPT = {
    "session/prompt": [
        {"spawn": ["sleep", "600"], "setsid": True},
        {"spawn": ["sh", "-c", "trap '' TERM HUP; sleep 600"]},
        {"say": "started"},
        {"wait": "never"},
    ]
}


def close_stdin(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin
    process.stdin.close()


def close_stdout(process: subprocess.Popen[bytes]) -> None:
    """The editor reads no more; gzia meets that at its next frame."""
    assert process.stdin and process.stdout
    process.stdout.close()
    process.stdin.write(b'{"jsonrpc":"2.0","id":99,"method":"no/such"}\n')
    process.stdin.flush()


def by(number: int) -> Callable[[subprocess.Popen[bytes]], None]:
    return lambda process: process.send_signal(number)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """What Emacs does."""
    os.killpg(process.pid, signal.SIGKILL)


WAYS = {
    "EOF": close_stdin,
    "closed pipe": close_stdout,
    "SIGHUP": by(signal.SIGHUP),
    "SIGTERM": by(signal.SIGTERM),
    "SIGINT": by(signal.SIGINT),
    "SIGKILL": by(signal.SIGKILL),
    "SIGKILL of its group": kill_group,
}


@pytest.mark.parametrize("leave", WAYS.values(), ids=WAYS)
def test_nothing_is_left_running(repo: Path, tmp_path: Path, leave: Callable[[subprocess.Popen[bytes]], None]) -> None:
    log = tmp_path / "log"
    command = [
        sys.executable,
        "-m",
        "gzia",
        "acp",
        "serve",
        "--agent-command",
        scripted_command({"log": str(log), **SCRIPT}),
    ]
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=repo, env=environment, start_new_session=True
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        client = Client(process.stdin, process.stdout, repo)
        client.open()
        client.start_prompt("go")
        client.read_until(lambda frame: frame.get("method") == "session/update")
        started = watched(log)

        leave(process)

        process.wait(ENDS)
        assert process.stderr.read() == b""
    assert all(gone(pidfd) for pidfd in started)


def watched(log: Path) -> list[int]:
    """Descriptors of the agent and its children, by which their end can be awaited."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    pids = [line["start"]["pid"] for line in lines if "start" in line] + [
        line["spawned"] for line in lines if "spawned" in line
    ]
    assert len(pids) == 3
    return [os.pidfd_open(pid) for pid in pids]


def gone(pidfd: int) -> bool:
    """Whether the process ended, or does so within the time that everything has."""
    try:
        return bool(select.select([pidfd], [], [], ENDS)[0])
    finally:
        os.close(pidfd)
