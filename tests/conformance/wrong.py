"""A program that drives an agent, with one mistake: passes on what the right one does, but for what it gets wrong.

    python wrong.py MISTAKE COMMAND...

The mistake is made in the journal lines: ``injected`` says so of every steer, ``drops`` keeps the first update to
itself, ``loses`` does the same and leaves a hole in the numbers, ``swaps`` tells the first update too late.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

Json = dict[str, Any]


def injected(lines: Iterable[Json]) -> Iterator[Json]:
    for line in lines:
        steer = line.get("kind") == "steer"
        yield {**line, "outcome": "injected", "write_admitted": True} if steer else line


def loses(lines: Iterable[Json]) -> Iterator[Json]:
    left = 1
    for line in lines:
        if line.get("kind") == "update" and left:
            left -= 1
        else:
            yield line


def drops(lines: Iterable[Json]) -> Iterator[Json]:
    return numbered(loses(lines))


def swaps(lines: Iterable[Json]) -> Iterator[Json]:
    return numbered(_swaps(lines))


def _swaps(lines: Iterable[Json]) -> Iterator[Json]:
    held: list[Json] = []
    done = False
    for line in lines:
        if line.get("kind") == "update" and not done and not held:
            held = [line]
        else:
            yield line
            yield from held
            done, held = done or bool(held), []


def numbered(lines: Iterable[Json]) -> Iterator[Json]:
    numbers = count(1)
    for line in lines:
        yield {**line, "n": next(numbers)} if "n" in line else line


MISTAKES = {"injected": injected, "loses": loses, "drops": drops, "swaps": swaps}

if __name__ == "__main__":
    _, mistake, *command = sys.argv
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as right:
        assert right.stdout
        for line in MISTAKES[mistake](map(json.loads, right.stdout)):
            print(json.dumps(line), flush=True)
