"""A script at the other end of ``gzia run --input ndjson``: it says lines and reads the journal, with a real agent."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from tests.real import lab
from tests.real.world import World

Line = dict[str, Any]
Test = Callable[[Line], bool]


class Script:
    """The session ``real`` of a world, driven by lines.  ``lines`` are those of its journal that were read so far."""

    def __init__(self, world: World, process: subprocess.Popen[bytes]) -> None:
        self.world = world
        self.lines: list[Line] = []
        self._process = process

    def say(self, *said: Line) -> None:
        """Input lines, in one write."""
        assert self._process.stdin
        self._process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in said))
        self._process.stdin.flush()

    def until(self, *tests: Test) -> Line:
        """Read until all of the tests were passed, in any order, by lines from here on; the last line that was read."""
        left = list(tests)
        while left:
            line = self._next()
            left = [test for test in left if not test(line)]
        return self.lines[-1]

    def turn(self, prompt: str) -> Line:
        """A whole turn; its prompt line."""
        self.say({"prompt": prompt})
        return self.until(is_kind("prompt"))

    def end(self) -> int:
        """End the input and read the rest; the exit status."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self.lines += [json.loads(line) for line in self._process.stdout]
        return self._process.wait()

    def of(self, kind: str, **fields: Any) -> list[Line]:
        """The lines of a kind with these fields."""
        return [line for line in self.lines if fields.items() <= line.items() and line.get("kind") == kind]

    def only(self, kind: str, **fields: Any) -> Line:
        """The one line of a kind with these fields."""
        (line,) = self.of(kind, **fields)
        return line

    def text(self, turn: int) -> str:
        """What the agent said in a turn."""
        updates = [line["update"] for line in self.of("update", turn=turn)]
        return "".join(one["content"]["text"] for one in updates if one["sessionUpdate"] == "agent_message_chunk")

    def was_received_in(self, turn: int, text: str) -> bool:
        """Whether the model was given ``text`` before the turn ended; its server counts in milliseconds."""
        first = first_received(self.world, text)
        return first is not None and first <= at(self.only("prompt", turn=turn)) + 0.001

    def _next(self) -> Line:
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, f"gzia has ended after {self.lines[-3:]}"
        self.lines.append(json.loads(line))
        return self.lines[-1]


@contextmanager
def script(world: World, level: str = "autonomous") -> Iterator[Script]:
    """A session with its agent, ended in the end."""
    command = [str(lab.GZIA), "run", "--input", "ndjson", "--json", "--id", "real", "-a", world.agent, "-p", level]
    with subprocess.Popen(
        [*world.within, *command], cwd=world.repo, env=world.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        running = Script(world, process)
        yield running
        if process.poll() is None:
            running.end()


def is_kind(kind: str, **fields: Any) -> Test:
    """Whether a line is of this kind and has these fields."""
    return lambda line: line.get("kind") == kind and fields.items() <= line.items()


def is_update(name: str) -> Test:
    """Whether a line is an update of this name."""
    return lambda line: line.get("kind") == "update" and line["update"]["sessionUpdate"] == name


def is_settled(steer_id: str) -> Test:
    """Whether a line says what became of a steer."""
    return is_kind("steer", steer_id=steer_id)


def at(line: Line) -> float:
    """When a line was written, in Unix seconds."""
    return datetime.fromisoformat(line["at"]).timestamp()


def first_received(world: World, text: str) -> float | None:
    """When the model was first given a message of the user that holds ``text``, in Unix seconds."""
    for one in world.requests():
        if any(role == "user" and text in said for role, said in one["messages"]):
            return float(one["t"])
    return None


def wait_until(moment: float) -> None:
    """Wait for a moment of the monotonic clock: a race is aimed in time."""
    time.sleep(max(0.0, moment - time.monotonic()))
