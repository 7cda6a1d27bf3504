"""The lines of a journal as a person reads them: who said what, which tools ran, what was asked and answered."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gzia.cli.output import Output
from gzia.cli.visible import Part, visible

ENDED = {"completed": ("✓", "green"), "failed": ("✗", "red")}
WARNING = ("Warning:", "yellow")
STEER = ("↪", "cyan")
QUEUED = ("▹", "cyan")


class Page:
    """Writes a transcript, line after line of the journal.

    A journal may come from another version of gzia: whatever is missing or strange in a line is passed over.
    """

    def __init__(self, out: Output, acted: Mapping[str, str] = MappingProxyType({})) -> None:
        """``acted``: what is known already of what came of steers, by their ids; it is told together with the steer."""
        self._out = out
        self._acted = acted
        self._at_line_start = True
        self._shown = False
        self._titles: dict[str, str] = {}
        self._steers: dict[str, str] = {}  # id -> what was said
        self._queued: dict[Any, list[Any]] = {}  # turn -> what was asked, until it starts
        self._turn: int | None = None  # the turn that runs

    def add(self, line: dict[str, Any]) -> None:
        """Show one line of the journal, if it says something to a person."""
        match line:
            case {"kind": "input", "input": "prompt", "blocks": list(blocks)}:
                self._asked(line.get("turn"), blocks)
            case {"kind": "turn", "state": "started", "turn": int(turn)}:
                self._started(turn)
            case {"kind": "input", "input": "steer", "steer_id": str(id), "blocks": list(blocks)}:
                self._steers[id] = text_of_blocks(blocks)
            case {"kind": "steer", "steer_id": str(id), "outcome": str(outcome)}:
                self._steered(id, outcome)
            case {"kind": "steer_note", "steer_id": str(id), "acted": str(acted)}:
                self._noted(id, acted)
            case {"kind": "input", "input": "cancel"}:
                self._mark(("■", "yellow"), "cancelled")
            case {"kind": "update", "update": dict(update)}:
                self._update(update)
            case {"kind": "permission", "state": "answered", "allowed": bool(allowed), "by": str(by)}:
                self._mark(("?", "cyan"), f"{'allowed' if allowed else 'refused'} by {by}")
            case {"kind": "prompt"}:
                self._ended(line)
            case {"error": {"message": str(message)}, "turn": int()}:  # between turns an agent may end as it likes
                self._mark(("✗", "red"), message)
            case {"kind": "session", "state": "lost", "record": {"reason": str(reason)}}:
                self._turn = None
                self._mark(("✗", "red"), reason)

    def fresh_line(self) -> None:
        """End a line that is not ended, before somebody else writes."""
        if not self._at_line_start:
            self._out.text("\n")
            self._at_line_start = True

    def end(self) -> None:
        """End the last line; what follows the transcript stands apart."""
        self.fresh_line()
        if self._shown:
            self._out.text("\n")

    def _asked(self, turn: Any, blocks: list[Any]) -> None:
        if self._turn is None:
            self._turn = turn
            self._said(blocks)
        else:
            self._queued[turn] = blocks
            self._mark(QUEUED, f"queued: {text_of_blocks(blocks)}")

    def _started(self, turn: int) -> None:
        self._turn = turn
        if turn in self._queued:
            self._said(self._queued.pop(turn))

    def _ended(self, line: dict[str, Any]) -> None:
        if (turn := line.get("turn")) == self._turn:
            self._turn = None
        self._queued.pop(turn, None)
        match line:
            case {"stop_reason": str(reason)} if reason not in ("", "end_turn"):
                self._mark(("■", "yellow"), f"the turn ended: {reason}")
            case {"error": {"message": str(message)}}:
                self._mark(("✗", "red"), message)

    def _said(self, blocks: list[Any]) -> None:
        self.fresh_line()
        self._write(("> " + text_of_blocks(blocks).replace("\n", "\n> "), "bold"), "\n")

    def _steered(self, id: str, outcome: str) -> None:
        acted = f"; acted: {self._acted[id]}" if id in self._acted else ""
        self._mark(STEER, steered(self._steers.get(id, id), outcome) + acted)

    def _noted(self, id: str, acted: str) -> None:
        said = self._steers.pop(id, id)
        if id not in self._acted:
            self._mark(STEER, steered(said, f"acted: {acted}"))

    def _update(self, update: dict[str, Any]) -> None:
        match update:
            case {"sessionUpdate": "agent_message_chunk", "content": {"text": str(text)}}:
                self._write(text)
                self._at_line_start = text.endswith("\n") if text else self._at_line_start
            case {"sessionUpdate": "tool_call" | "tool_call_update", "toolCallId": str(id)}:
                self._tool(id, update)

    def _tool(self, id: str, update: dict[str, Any]) -> None:
        title = titled(self._titles, id, update)
        if mark := ENDED.get(str(update.get("status"))):
            self._mark(mark, title)

    def _mark(self, mark: tuple[str, str], text: str) -> None:
        self.fresh_line()
        self._write(mark, " ", visible(text), "\n")

    def _write(self, *parts: Part) -> None:
        self._shown = True
        self._out.text(*parts)


def titled(titles: dict[str, str], id: str, update: dict[str, Any]) -> str:
    """What a tool call is called: as it says, else as it said before (kept in ``titles``), else by its kind."""
    titles[id] = str(update.get("title") or titles.get(id) or update.get("kind") or "tool")
    return titles[id]


def text_of_blocks(blocks: list[Any]) -> str:
    """What was asked, as text; a block that is none is named by its type."""
    return "\n".join(str(one.get("text") or f"[{one.get('type')}]") for one in blocks if isinstance(one, dict))


def steered(said: str, what: str) -> str:
    """What became of a message: its outcome, or whether anything came of it."""
    return f"steered: {said} — {what.replace('_', ' ')}"


def damaged(offset: int) -> str:
    """What is told of a line that cannot be read."""
    return f" a damaged line of the journal was passed over (at byte {offset})."
