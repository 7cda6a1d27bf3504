"""The world of a test: a HOME with one agent's configuration, a repository, a network with only a fake model in it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.real import lab

TIMEOUT = 120  # seconds for one command: a cold start of the slowest agent takes about ten on a busy machine


@dataclass(frozen=True, slots=True)
class World:
    """``within`` starts a program beside the fake model; ``env`` is the whole environment; ``log`` is the model's."""

    agent: str
    repo: Path
    env: dict[str, str]
    log: Path
    within: tuple[str, ...] = ()

    @property
    def worktree(self) -> Path:
        """Where the session ``real`` works."""
        return self.repo / ".harness/worktrees/real"

    def run(self, *command: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a program in the repository."""
        return subprocess.run(
            [*self.within, *command], cwd=self.repo, env=self.env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=TIMEOUT, **options,
        )  # fmt: skip

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a program in the repository, its output in a pipe."""
        return subprocess.Popen(
            [*self.within, *command], cwd=self.repo, env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def gzia(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the built file."""
        return self.run(str(lab.GZIA), *arguments)

    def acpx(self, *arguments: str) -> list[str]:
        """The argv of acpx as a client of ``gzia acp serve``."""
        serve = shlex.join([str(lab.GZIA), "acp", "serve", "-a", self.agent])
        return [str(lab.install("acpx")), "--agent", serve, *arguments]

    def requests(self) -> list[dict[str, Any]]:
        """What the model was asked so far: ``t`` (Unix seconds), the last six ``messages`` ([role, text])."""
        text = self.log.read_text(encoding="utf-8")
        return [line for line in lines(text[: text.rfind("\n") + 1]) if "messages" in line]

    def left_running(self) -> list[str]:
        """The command lines of processes of this world (Linux)."""
        mark, found = f"HOME={self.env['HOME']}".encode(), []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
            except OSError:
                continue
        return [line for line in found if line]


@contextmanager
def world(agent: str, home: Path, repo: Path) -> Iterator[World]:
    """A world for ``agent`` of the lab, or for the demo agent."""
    (home / "tmp").mkdir()
    if agent == "demo":
        yield World(agent, repo, environment(home, {}), Path(os.devnull))
        return
    log = home / "model.jsonl"
    with fake_model(log) as (pid, port):
        spec = lab.agents().SPECS[agent]
        spec.setup(home, repo, port)
        # The lab's own choice of a permission mode would help: gzia must set it.
        own = {name: value for name, value in spec.environment(home, port).items() if name != "INITIAL_AGENT_MODE"}
        inside = ("nsenter", "-t", str(pid), "-n", "--") if lab.alone() else ()
        yield World(agent, repo, environment(home, own, lab.install(agent).parent), log, inside)


def environment(home: Path, own: dict[str, str], *programs: Path) -> dict[str, str]:
    """The test's clean environment with the agent's own variables and the programs on PATH."""
    path = [
        *map(str, programs),
        str(lab.install("node22").parent),
        str(Path(sys.executable).parent),
        os.environ["PATH"],
    ]
    return {**os.environ, **own, "HOME": str(home), "TMPDIR": str(home / "tmp"), "PATH": ":".join(path)}


@contextmanager
def fake_model(log: Path) -> Iterator[tuple[int, int]]:
    """The lab's model server, which writes down what it is asked: the process to enter the network of, and its port."""
    script = lab.find()
    assert script is not None
    command = [*lab.alone(), sys.executable, str(script / "fake_llm.py"), "--port", "0", "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"PATH": os.environ["PATH"]}) as process:
        try:
            assert process.stdout is not None
            yield process.pid, int(process.stdout.readline().removeprefix("LISTENING "))
        finally:
            process.kill()


def lines(output: str) -> list[dict[str, Any]]:
    """NDJSON output as objects."""
    return [json.loads(line) for line in output.splitlines()]
