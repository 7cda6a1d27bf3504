"""How a running turn is shown: to a person, to a script, or only its answer."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any, Protocol

from gzia.cli.output import Output
from gzia.cli.transcript import ENDED, STEER, text_of_blocks, titled
from gzia.cli.visible import json_text, visible
from gzia.errors import GziaError
from gzia.session.host import Live
from gzia.session.journal import Entry
from gzia.session.permissions import POLICY
from gzia.session.turns import TurnEnd
from gzia.system.pump import Writer
from gzia.system.sink import silence

NOTES = 2.0  # seconds that a reader of standard error has at the end
BACKLOG = 1 << 20  # bytes that may wait for a slow reader; the journal holds the rest


class View(Protocol):
    """What a turn is shown through.  ``asks``: a person may be asked on the terminal."""

    asks: bool

    def start(self, broken: Callable[[OSError], None]) -> None:
        """Open standard output; ``broken`` is told why nothing can be written any more."""

    def begun(self, live: Live) -> None:
        """The session is there and its agent runs."""

    async def show(self, entries: list[Entry]) -> None:
        """The next lines of the journal.  Returns when the reader has nearly kept up."""

    def interrupting(self) -> None:
        """A person asked the turn to stop."""

    def ended(self, live: Live, end: TurnEnd | None) -> None:
        """All turns are over and the agent has ended; ``end`` is that of the last one that was asked for here."""

    async def close(self, timeout: float | None) -> bool:
        """Write what is left, within ``timeout`` seconds; whether all of it was taken.  May be called twice."""


async def drained(writer: Writer, timeout: float | None) -> bool:
    """Close a writer when all is written or the time is over; whether all was written."""
    try:
        await asyncio.wait_for(writer.drained(), timeout)
    except TimeoutError:
        pass
    taken = writer.pending == 0
    await writer.close(0)
    return taken


class Stdout:
    """Standard output that never blocks the turn."""

    asks = False

    def start(self, broken: Callable[[OSError], None]) -> None:
        """Open it."""
        self._writer = Writer(os.dup(1), on_broken=broken)

    def write(self, text: str) -> None:
        """Queue text."""
        self._writer.write(text.encode("utf-8", "backslashreplace"))

    async def kept_up(self) -> None:
        """Wait for a reader that is far behind."""
        if self._writer.pending > BACKLOG:
            await self._writer.drained(BACKLOG)

    async def close(self, timeout: float | None) -> bool:
        """Write the rest."""
        return await drained(self._writer, timeout)

    def begun(self, live: Live) -> None:
        """Nothing to say."""

    def interrupting(self) -> None:
        """Nothing to say."""

    def ended(self, live: Live, end: TurnEnd | None) -> None:
        """Nothing to say."""


class Script(Stdout):
    """``--json``: the journal's lines as they are."""

    async def show(self, entries: list[Entry]) -> None:
        """Pass them on."""
        self.write("".join(f"{entry.line}\n" for entry in entries))
        await self.kept_up()

    def problem(self, error: GziaError) -> None:
        """An error between the lines; dropped when the reader is far behind, for nothing else bounds their number."""
        if self._writer.pending <= BACKLOG:
            self.write(f"{json_text(error.document())}\n")


class Background:
    """Nothing is shown: the terminal belongs to somebody else."""

    asks = False

    def start(self, broken: Callable[[OSError], None]) -> None:
        """Nothing to open."""

    def begun(self, live: Live) -> None:
        """Nothing to say."""

    async def show(self, entries: list[Entry]) -> None:
        """Nothing to show."""

    def interrupting(self) -> None:
        """Nothing to say."""

    def ended(self, live: Live, end: TurnEnd | None) -> None:
        """Nothing to say."""

    async def close(self, timeout: float | None) -> bool:
        """Nothing to write."""
        return True


class Quiet(Stdout):
    """``-q``: the final answer only, after the turn."""

    asks = True

    def __init__(self, out: Output) -> None:
        self._out = out
        self._answer: list[str] = []

    def begun(self, live: Live) -> None:
        """Silent, unless the agent works where the person does not expect it."""
        if not live.service.is_git:
            self._out.note(("●", "yellow"), f" no worktree: {live.directory} is not under git")

    async def show(self, entries: list[Entry]) -> None:
        """Collect the text after the last tool call."""
        for entry in entries:
            if entry.kind == "turn":
                self._answer.clear()
            if entry.kind != "update":
                continue
            update = json.loads(entry.body)
            if update["sessionUpdate"] in ("tool_call", "tool_call_update"):
                self._answer.clear()
            else:
                self._answer.append(text_of(update, "agent_message_chunk"))

    def ended(self, live: Live, end: TurnEnd | None) -> None:
        """Print it."""
        answer = visible("".join(self._answer), breaks=True)
        self.write(answer if answer.endswith("\n") or not answer else f"{answer}\n")


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
                text = self._texts.pop(entry.turn, "")
                if not self._is_first:
                    self._note(("▸", "cyan"), f" turn {entry.turn}: {text}")
                self._is_first = False
            case "steer", {"steer_id": id, "outcome": str(outcome)}:
                self._note(STEER, f" steered: {self._texts.get(id, id)} — {outcome.replace('_', ' ')}")
            case "steer_note", {"steer_id": id, "acted": str(acted)}:
                self._note(STEER, f" steered: {self._texts.pop(id, id)} — acted: {acted}")

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


def text_of(update: dict[str, Any], kind: str) -> str:
    """The text of a chunk of this kind; empty for anything else."""
    content = update.get("content")
    if update.get("sessionUpdate") != kind or not isinstance(content, dict):
        return ""
    text = content.get("text")
    return text if isinstance(text, str) else ""
