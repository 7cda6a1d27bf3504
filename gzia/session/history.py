"""What was said in a session, read from its journal: each message of a user's with all that came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gzia.driver.errors import HistoryError
from gzia.driver.steer import SteerOutcome
from gzia.driver.stream import History, Step, ToolCall
from gzia.errors import GziaError
from gzia.session.journal import number_of
from gzia.system import jsonl

HAD_IT = (SteerOutcome.INJECTED, SteerOutcome.DELIVERED_UNTRACKABLE)


def read(path: Path, last: int) -> History:
    """The history up to line number ``last``.  HistoryError when a line of it cannot be read."""
    try:
        return History(tuple(_steps(_whole(path, last))))
    except GziaError as error:
        raise HistoryError.of(error) from error


def _whole(path: Path, last: int) -> Iterator[dict[str, Any]]:
    n = 0
    for line in jsonl.read(path):
        if n == last:
            return
        if line.value is None or number_of(line.value) != n + 1:
            break
        n += 1
        yield line.value
    if n < last:
        message = f"The journal {path} has lost its line {n + 1}."
        raise GziaError("journal-damaged", message, "what is left of it can be read: gzia read ID")


def _steps(lines: Iterable[dict[str, Any]]) -> Iterator[Step]:
    """A turn that was never given to the agent and a steer that it never had are no steps."""
    asked: dict[int | str, str] = {}
    step = _Open("")
    for line in lines:
        match line:
            case {"kind": "input", "input": "prompt", "turn": turn, "blocks": blocks}:
                asked[turn] = words(blocks)
            case {"kind": "input", "input": "steer", "steer_id": steer_id, "blocks": blocks}:
                asked[steer_id] = words(blocks)
            case {"kind": "turn", "state": "started", "turn": turn}:
                yield from step.closed()
                step = _Open(asked.pop(turn, ""))
            case {"kind": "steer", "outcome": outcome, "steer_id": steer_id}:
                text = asked.pop(steer_id, "")
                if outcome in HAD_IT:
                    yield from step.closed()
                    step = _Open(text)
            case {"kind": "update", "event": event}:
                step.saw(event)
    yield from step.closed()


def words(blocks: list[dict[str, Any]]) -> str:
    """The text of a message; what is no text is named in brackets."""
    return "\n".join(str(block["text"]) if block["type"] == "text" else f"[{block['type']}]" for block in blocks)


class _Open:
    """A step that goes on."""

    def __init__(self, user: str) -> None:
        self._user = user
        self._said: list[str] = []
        self._tools: dict[str, ToolCall] = {}

    def saw(self, event: dict[str, Any]) -> None:
        if event["kind"] == "text_delta":
            self._said.append(event["text"])
        elif event["kind"] in ("tool_use", "tool_result"):
            known = self._tools.get(event["id"], ToolCall(event["id"], "", ""))
            title, status = event.get("title", known.title), event.get("status", known.status)
            self._tools[known.id] = ToolCall(known.id, title, status)

    def closed(self) -> Iterator[Step]:
        if self._user or self._said or self._tools:
            yield Step(self._user, "".join(self._said), tuple(self._tools.values()))
