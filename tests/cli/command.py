"""Runs gzia as a person or a script would: a process of its own, with no controlling terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[2]
GZIA = [sys.executable, "-m", "gzia"]
LONG = 60.0  # seconds that no command in these tests may take


def environment(env: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(CHECKOUT), **(env or {})}


def start(where: Path, *args: str, env: Mapping[str, str] | None = None, **popen: Any) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own: nobody can be asked on a terminal."""
    pipe = subprocess.PIPE
    given = {"stdin": subprocess.DEVNULL, "stdout": pipe, "stderr": pipe, "start_new_session": True, **popen}
    return subprocess.Popen([*GZIA, *args], cwd=where, env=environment(env), **given)


def gzia(
    where: Path, *args: str, stdin: str = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [*GZIA, *args], cwd=where, env=environment(env), input=stdin, capture_output=True, text=True,
        timeout=LONG, start_new_session=True, check=False,
    )  # fmt: skip


def documents(text: str) -> list[dict[str, Any]]:
    """Standard output as one JSON document a line; anything else is an error."""
    return [json.loads(line) for line in text.splitlines()]
