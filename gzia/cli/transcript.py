"""The lines of a journal as a person reads them: who said what, which tools ran, what was asked and answered."""

from __future__ import annotations

from typing import Any

from gzia.cli.output import Output
from gzia.cli.visible import Part, visible

ENDED = {"completed": ("✓", "green"), "failed": ("✗", "red")}


class Page:
    """Writes a transcript, line after line of the journal.

    A journal may come from another version of gzia: whatever is missing or strange in a line is passed over.
    """

    def __init__(self, out: Output) -> None:
        self._out = out
        self._at_line_start = True
        self._shown = False
        self._titles: dict[str, str] = {}

    def add(self, line: dict[str, Any]) -> None:
        """Show one line of the journal, if it says something to a person."""
        match line:
            case {"kind": "input", "input": "prompt", "blocks": list(blocks)}:
                self._said(blocks)
            case {"kind": "input", "input": "cancel"}:
                self._mark(("■", "yellow"), "cancelled")
            case {"kind": "update", "update": dict(update)}:
                self._update(update)
            case {"kind": "permission", "state": "answered", "allowed": bool(allowed), "by": str(by)}:
                self._mark(("?", "cyan"), f"{'allowed' if allowed else 'refused'} by {by}")
            case {"kind": "prompt", "stop_reason": str(reason)} if reason != "end_turn":
                self._mark(("■", "yellow"), f"the turn ended: {reason}")
            case {"error": {"message": str(message)}, "turn": int()}:  # between turns an agent may end as it likes
                self._mark(("✗", "red"), message)
            case {"kind": "session", "state": "lost", "record": {"reason": str(reason)}}:
                self._mark(("✗", "red"), reason)

    def end(self) -> None:
        """End the last line; what follows the transcript stands apart."""
        self._fresh_line()
        if self._shown:
            self._out.text("\n")

    def _said(self, blocks: list[Any]) -> None:
        texts = [str(block.get("text") or f"[{block.get('type')}]") for block in blocks if isinstance(block, dict)]
        self._fresh_line()
        self._write(("> " + "\n".join(texts).replace("\n", "\n> "), "bold"), "\n")

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
        self._fresh_line()
        self._write(mark, " ", visible(text), "\n")

    def _write(self, *parts: Part) -> None:
        self._shown = True
        self._out.text(*parts)

    def _fresh_line(self) -> None:
        if not self._at_line_start:
            self._out.text("\n")
            self._at_line_start = True


def titled(titles: dict[str, str], id: str, update: dict[str, Any]) -> str:
    """What a tool call is called: as it says, else as it said before (kept in ``titles``), else by its kind."""
    titles[id] = str(update.get("title") or titles.get(id) or update.get("kind") or "tool")
    return titles[id]
