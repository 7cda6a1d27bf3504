"""How long ``gzia --version`` takes, as a multiple of an interpreter that does nothing.

Both sides run the same interpreter by its own path, in an empty environment (venv): a version manager's shim costs 50
ms each time, ``.pth`` files of other packages cost up to 20, and either would make gzia look better than it is.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from gzia.packaging.bytecode import ask, pythons
from tests.bench.report import Gate, Report

ROUNDS = 60
SYSTEM = "/usr/bin/python3"


def measure(file: Path) -> Report:
    rows, gates = [], []
    for release, command in interpreters().items():
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([command, "-m", "venv", "--without-pip", folder], check=True)
            nothing, isolated, version, page = medians(f"{folder}/bin/python", file)
        ratios = (version / nothing, version / isolated, page / nothing)
        rows.append((release, f"{nothing:.1f}", f"{version:.1f}", *(f"{ratio:.2f}" for ratio in ratios)))
        gates.append(Gate(f"Python {release}: --version / nothing", ratios[0], 1.5, goal=1.25))
    return Report(
        f"start of {file.name}, warm: medians of {ROUNDS} runs in turns, in ms; nothing is python -I -c pass",
        ("Python", "nothing", "--version", "ratio", "to -I -S -c pass", "--help ratio"),
        tuple(rows),
        tuple(gates),
    )


def interpreters() -> dict[str, str]:
    """Release -> command: the system's Python, and those whose byte code is in the file."""
    found = {python.release: python.command for python in pythons()}
    system = next((python for minor in range(11, 16) if (python := ask(SYSTEM, minor))), None)
    return dict(sorted({**found, **({system.release: SYSTEM} if system else {})}.items()))


def medians(python: str, file: Path) -> list[float]:
    """Milliseconds for: nothing, nothing without the site module, --version, --help."""
    commands: list[list[str | Path]] = [
        [python, "-I", "-c", "pass"],
        [python, "-I", "-S", "-c", "pass"],
        [file, "--version"],
        [file, "--help"],
    ]
    env = {"PATH": os.environ["PATH"], "GZIA_PYTHON": python}
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(ROUNDS):
        for command, taken in zip(commands, times, strict=True):
            start = time.perf_counter()
            subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
            taken.append((time.perf_counter() - start) * 1000)
    return [statistics.median(taken) for taken in times]
