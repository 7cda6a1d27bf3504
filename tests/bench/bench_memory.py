"""The memory of ``gzia acp serve`` while one session goes on: after ten floods against after one."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.agents_for_tests import scripted_command
from tests.bench.report import Gate, Report
from tests.testing.client import Client

FLOOD = 20_000  # updates of 80 characters
TURNS = 10


def measure(file: Path) -> Report:
    flood = {"session/prompt": [{"say": "token " * 13, "count": FLOOD}, {"result": {"stopReason": "end_turn"}}]}
    with tempfile.TemporaryDirectory() as place:
        command = [str(file), "acp", "serve", "--agent-command", scripted_command(flood)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=place) as process:
            assert process.stdin and process.stdout
            client = Client(process.stdin, process.stdout, Path(place))
            client.open()
            sizes = []
            for _ in range(TURNS):
                assert client.prompt("go") == "end_turn"
                sizes.append(resident(process.pid))
            process.stdin.close()
    return Report(
        f"resident memory of gzia acp serve, in MiB, after floods of {FLOOD} updates",
        ("after 1", f"after {TURNS}", "ratio"),
        ((f"{sizes[0]:.1f}", f"{sizes[-1]:.1f}", f"{sizes[-1] / sizes[0]:.3f}"),),
        (Gate("memory after ten floods / after one", sizes[-1] / sizes[0], 1.10),),
    )


def resident(pid: int) -> float:
    """MiB that the process holds now (Linux)."""
    if sys.platform != "linux":
        raise SystemExit("this bench reads /proc")
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024
