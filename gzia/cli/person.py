"""How a running turn is shown to a person: the answer on standard output, what happens on standard error."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

from gzia.cli.output import Output
from gzia.cli.transcript import ENDED, STEER, steered, text_of_blocks, titled
from gzia.cli.views import BACKLOG, Stdout, drained, text_of
from gzia.cli.visible import visible
from gzia.session.host import Live
from gzia.session.journal import Entry
from gzia.session.permissions import POLICY
from gzia.session.turns import TurnEnd
from gzia.system.pump import Writer
from gzia.system.sink import silence

NOTES = 2.0  # seconds that a reader of standard error has at the end


class Person(Stdout):
    """The answer on standard output as it comes; what the agent does, in short lines on standard error."""

    asks = True

    def __init__(self, out: Output) -> None:
        self._out = out
        self._titles: dict[str, str] = {}
        self._texts: dict[Any, str] = {}  # turn or steer id -> what was said
        self._is_first = True  # no turn has begun
        self._at_line_start = True

    def start(self, broken: Callable[[OSError], None]) -> None:
        """Open both outputs; nobody listening to the notes is no reason to stop."""
        super().start(broken)
        self._notes = Writer(os.dup(2))

    async def close(self, timeout: float | None) -> bool:
        """Write the rest; the notes for as long as anything may take."""
        taken = await super().close(timeout)
        if not await drained(self._notes, NOTES):
            silence(2)  # nobody takes it: what follows must not wait for that
        return taken

    def begun(self, live: Live) -> None:
        """Say which session this is and where it works."""
        where = live.directory if live.record.is_isolated else f"{live.directory} (no worktree)"
        self._note(("●", "green"), f" session {live.id} · {live.conversation.facts.name} · {where}")

    async def show(self, entries: list[Entry]) -> None:
        """Text to standard output, everything else as notes."""
        for entry in entries:
            if entry.kind == "update":
                self._update(json.loads(entry.body))
            elif entry.kind == "permission":
                self._permission(entry.body)
            elif entry.kind in ("input", "turn", "steer", "steer_note"):
                self._asked(entry)
            elif entry.body.get("state") == "unreadable":
                self._note(("!", "yellow"), f" lost: {entry.body['reason']}")
        await self.kept_up()

    def _asked(self, entry: Entry) -> None:
        """What is asked besides the first turn, here or elsewhere, and what becomes of it."""
        body = entry.body
        match entry.kind, body:
            case "input", {"input": "prompt" | "steer" as what, "blocks": list(blocks)}:
                self._texts[body.get("steer_id") if what == "steer" else entry.turn] = text_of_blocks(blocks)
            case "turn", {"state": "started"}:
                self._started(entry.turn)
            case "steer", {"steer_id": id, "outcome": str(outcome)}:
                self._note(STEER, f" {steered(self._texts.get(id, id), outcome)}")
            case "steer_note", {"steer_id": id, "acted": str(acted)}:
                self._note(STEER, f" {steered(self._texts.pop(id, id), f'acted: {acted}')}")

    def _started(self, turn: int | None) -> None:
        """Name each turn but the first that was typed just now."""
        text = self._texts.pop(turn, None)
        if text is None:
            self._note(("▸", "cyan"), f" turn {turn}, which waited")
        elif not self._is_first:
            self._note(("▸", "cyan"), f" turn {turn}: {text}")
        self._is_first = False

    def _update(self, update: dict[str, Any]) -> None:
        text = text_of(update, "agent_message_chunk")
        if text:
            self.write(visible(text, breaks=True))
            self._at_line_start = text.endswith("\n")
        elif update["sessionUpdate"] in ("tool_call", "tool_call_update"):
            self._tool(update)

    def _tool(self, update: dict[str, Any]) -> None:
        id = str(update.get("toolCallId"))
        new = id not in self._titles
        title = titled(self._titles, id, update)
        if mark := ENDED.get(str(update.get("status"))):
            self._note(mark, f" {title}")
        elif new:
            self._note(("▸", "dim"), f" {title}")

    def _permission(self, body: dict[str, Any]) -> None:
        if body["state"] == "answered" and not body["allowed"]:
            by = "the permission level" if body["by"].startswith(POLICY) else body["by"]
            self._note(("✗", "yellow"), f" refused by {by}")

    def interrupting(self) -> None:
        """Tell how to end it at once."""
        self._note(("■", "yellow"), " stopping the turn; press Ctrl-C again to end it at once")

    def ended(self, live: Live, end: TurnEnd | None) -> None:
        """Tell what can be typed next."""
        if end is None:
            return
        how = "failed" if end.error else "cancelled" if end.stop_reason == "cancelled" else "done"
        mark = "red" if end.error else "yellow" if how == "cancelled" or end.refused else "green"
        if live.record.is_isolated:
            self._note(("●", mark), f" {how} · gzia diff {live.id} · gzia merge {live.id}")

    def _note(self, mark: tuple[str, str], text: str) -> None:
        if not self._at_line_start:
            self.write("\n")
            self._at_line_start = True
        if self._notes.pending < BACKLOG:
            self._notes.write(self._out.noted(mark, text))
