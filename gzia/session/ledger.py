"""What is still owed in a session, told by its journal alone: so it outlives every crash."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from gzia.driver.turn import Block
from gzia.errors import GziaError
from gzia.session.turns import Fallback
from gzia.system import jsonl

HEAD = 256  # bytes of a line in which its kind stands; those before it are short
KIND = re.compile(rb'"kind" ?: ?"([^"]*)')
COUNTED = {b"input", b"turn", b"prompt", b"steer"}  # kinds of lines that change what is owed


class Asked(NamedTuple):
    """A turn that was asked and never started."""

    turn: int
    blocks: tuple[Block, ...]
    steer_id: str = ""
    is_urgent: bool = False


@dataclass(frozen=True, slots=True)
class Ledger:
    """What a journal leaves open.

    ``waiting``: turns that were asked and never started, in the order in which they would run.  ``unanswered``: turns
    that the agent was given and that never ended.  ``unsettled``: steers of which it was never told what became of
    them.  ``turns``: the highest number of a turn.  ``steer_ids``: every id that was used.
    """

    waiting: tuple[Asked, ...] = ()
    unanswered: tuple[int, ...] = ()
    unsettled: tuple[str, ...] = ()
    turns: int = 0
    steer_ids: frozenset[str] = frozenset()


def read(path: Path) -> Ledger:
    """The ledger of a journal, whatever its size; a missing one owes nothing.  GziaError ``journal-not-readable``."""
    return fold(of_kinds(path, COUNTED))


def fold(lines: Iterable[dict[str, Any]]) -> Ledger:
    """The ledger of these lines; other lines than the :data:`COUNTED` may be among them or left out."""
    waiting: list[Asked] = []
    unanswered: dict[int, None] = {}
    unsettled: dict[str, None] = {}
    fallbacks: dict[str, object] = {}
    turns = 0
    for line in lines:
        match line:
            case {"kind": "input", "input": "prompt", "turn": int(turn), "blocks": list(blocks)}:
                steer_id = str(line.get("steer_id") or "")
                asked = Asked(turn, tuple(blocks), steer_id, fallbacks.get(steer_id) == Fallback.INTERRUPT)
                urgent = sum(one.is_urgent for one in waiting)
                waiting.insert(urgent if asked.is_urgent else len(waiting), asked)
                turns = max(turns, turn)
            case {"kind": "turn", "state": "started", "turn": int(turn)}:
                waiting = [one for one in waiting if one.turn != turn]
                unanswered[turn] = None
            case {"kind": "prompt", "turn": int(turn)}:
                waiting = [one for one in waiting if one.turn != turn]
                unanswered.pop(turn, None)
            case {"kind": "input", "input": "steer", "steer_id": str(steer_id)}:
                fallbacks[steer_id] = line.get("fallback")
                unsettled[steer_id] = None
            case {"kind": "steer", "steer_id": str(steer_id)}:
                unsettled.pop(steer_id, None)
    return Ledger(tuple(waiting), tuple(unanswered), tuple(unsettled), turns, frozenset(fallbacks))


def of_kinds(path: Path, kinds: Container[bytes]) -> Iterator[dict[str, Any]]:
    """The lines of these kinds, and those with a strange head; other ones are stepped over, not read as JSON."""
    try:
        with path.open("rb", buffering=jsonl.CHUNK) as file:
            yield from _of_kinds(file, kinds)
    except FileNotFoundError:
        return
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}."
        raise GziaError("journal-not-readable", message, "look at its permissions") from error


def _of_kinds(file: BinaryIO, kinds: Container[bytes]) -> Iterator[dict[str, Any]]:
    while head := file.readline(HEAD):
        if not _is_of(head, kinds):
            while not head.endswith(b"\n") and (head := file.readline(jsonl.CHUNK)):
                pass
            continue
        line = head if head.endswith(b"\n") else head + file.readline(jsonl.MAX_LINE)
        if line.endswith(b"\n") and (value := jsonl.parse(line)) is not None:
            yield value


def _is_of(head: bytes, kinds: Container[bytes]) -> bool:
    """Whether the line may be of these kinds: what has a strange head is read to make sure."""
    found = KIND.search(head)
    return found is None or found[1] in kinds
