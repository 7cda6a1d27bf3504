"""Plays vectors of steering/ and journal/ against a program that drives an agent.

    python3 run.py [-j N] [-k TEXT] NAME... -- COMMAND...

NAME is a folder beside this file or a file of vectors.  COMMAND starts the program; in its arguments, AGENT stands for
the command line of an agent.  -j: how many vectors at a time (default: one for each processor); -k: only those whose
description holds TEXT.  gzia itself: ``-- gzia run --input ndjson -p autonomous --agent-command AGENT``.

Prints a line for each vector, and what is wrong; the status is 1 when anything is.  Needs Python 3.11 and, as the
agent, gzia/testing/scripted.py of the same checkout.  The format of a vector is told in ../README.md.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

from judge import covers, judge, short, unfolded

Json = dict[str, Any]

HERE = Path(__file__).resolve().parent
PLAYER = HERE.parent.parent / "gzia/testing/scripted.py"
PATIENCE = 30.0  # seconds that a vector may take
LINE = 1 << 24  # bytes
SHOWN = 40  # lines of a session that went wrong


class Session:
    """A running program: its input, and all lines that came so far."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin and process.stdout
        self._in, self._out = process.stdin, process.stdout
        self.lines: list[Json] = []
        self._told: Json = {}  # the members of the lines that were waited for

    async def play(self, steps: list[Json]) -> None:
        """Do the client's steps, end the input, and take the rest."""
        for step in steps:
            if "when" in step:
                await self._until(step["when"])
            await asyncio.sleep(step.get("after", 0))
            await self._send([self._filled(line) for line in unfolded(step.get("send", []))])
        self._in.close()
        while await self._next():
            pass

    async def _until(self, wanted: Json) -> None:
        while line := await self._next():
            if covers(line, wanted):
                self._told |= line
                return

    async def _next(self) -> Json | None:
        text = await self._out.readline()
        if not text:
            return None
        self.lines.append(json.loads(text))
        return self.lines[-1]

    async def _send(self, lines: list[Any]) -> None:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        self._in.write("".join(f"{text}\n" for text in texts).encode("utf-8", "surrogateescape"))
        try:
            await self._in.drain()
        except ConnectionError:
            pass  # it has ended; what it said tells why

    def _filled(self, value: Any) -> Any:
        if isinstance(value, dict) and "repeat" in value:
            text, times = value["repeat"]
            return text * times
        if isinstance(value, dict):
            return {name: self._filled(part) for name, part in value.items()}
        if isinstance(value, list):
            return [self._filled(part) for part in value]
        return self._told.get(value[1:], value) if isinstance(value, str) and value.startswith("$") else value


async def tried(vector: Json, command: list[str]) -> list[str]:
    """Play one vector in a directory of its own; what is wrong."""
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        (room / "work").mkdir()
        (room / "agent.json").write_text(json.dumps({**vector["agent"], "log": str(room / "log")}))
        agent = shlex.join([sys.executable, "-I", "-S", str(PLAYER), str(room / "agent.json")])
        lines, problems = await ran([part.replace("AGENT", agent) for part in command], vector["client"], room)
        received = [entry["in"] for entry in map(json.loads, read(room / "log")) if isinstance(entry.get("in"), dict)]
        problems += judge(vector, lines, received)
        return [*problems, "", *cut([*map(short, lines), *read(room / "stderr")])] if problems else []


def cut(lines: list[str]) -> list[str]:
    """All that came, or its begin and its end."""
    left_out = len(lines) - SHOWN
    return [*lines[: SHOWN // 2], f"… {left_out} more …", *lines[-SHOWN // 2 :]] if left_out > 0 else lines


def read(file: Path) -> list[str]:
    """The lines of a text; none when there is no file."""
    return file.read_text(encoding="utf-8", errors="replace").splitlines() if file.exists() else []


async def ran(argv: list[str], steps: list[Json], room: Path) -> tuple[list[Json], list[str]]:
    """Start the program and play; its lines, and what went wrong on the way."""
    with (room / "stderr").open("w") as stderr:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=PIPE, stdout=PIPE, stderr=stderr, cwd=room / "work", limit=LINE, start_new_session=True
        )
    session = Session(process)
    problems = []
    try:
        async with asyncio.timeout(PATIENCE):
            await session.play(steps)
            await process.wait()
    except TimeoutError:
        problems = [f"it had not ended after {PATIENCE:g} s"]
    except ValueError as error:
        problems = [f"a line that is no JSON, or too long: {error}"]
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return session.lines, problems


async def run(vectors: list[tuple[str, Json]], command: list[str], at_once: int) -> int:
    """Play all, ``at_once`` at a time; how many went wrong."""
    places = asyncio.Semaphore(at_once)

    async def one(name: str, vector: Json) -> bool:
        async with places:
            problems = await tried(vector, command)
        say("FAIL" if problems else "ok", f"{name}: {vector['description']}", *problems)
        return bool(problems)

    return sum(await asyncio.gather(*(one(name, vector) for name, vector in vectors)))


def say(verdict: str, *lines: str) -> None:
    """A verdict and what belongs to it."""
    sys.stdout.write(f"{verdict:4} " + "\n       ".join(lines) + "\n")
    sys.stdout.flush()


def chosen(names: list[str], text: str) -> list[tuple[str, Json]]:
    """The vectors of these folders and files."""
    paths = [path for name in names for path in (sorted((HERE / name).glob("*.json")) or [Path(name)])]
    found = [(path.stem, vector) for path in paths for vector in json.loads(path.read_text(encoding="utf-8"))]
    return [(name, vector) for name, vector in found if text in vector["description"]]


def main(arguments: list[str]) -> int:
    """The command line."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(usage="run.py [-j N] [-k TEXT] NAME... -- COMMAND...")
    parser.add_argument("-j", type=int, default=os.cpu_count() or 1)
    parser.add_argument("-k", default="")
    parser.add_argument("names", nargs="+")
    args = parser.parse_args(arguments[:at])
    if not arguments[at + 1 :]:
        parser.error("what shall be tried? give its command after --")
    vectors = chosen(args.names, args.k)
    wrong = asyncio.run(run(vectors, arguments[at + 1 :], args.j))
    say("", f"{len(vectors)} vectors, {wrong} not kept")
    return 1 if wrong or not vectors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
