"""How a running turn is shown: to a script, only its answer, or not at all; to a person: gzia.cli.person."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any, Protocol

from gzia.cli.output import Output
from gzia.cli.visible import json_text, visible
from gzia.errors import GziaError
from gzia.session.host import Live
from gzia.session.journal import Entry
from gzia.session.turns import TurnEnd
from gzia.system.pump import Writer

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


def text_of(update: dict[str, Any], kind: str) -> str:
    """The text of a chunk of this kind; empty for anything else."""
    content = update.get("content")
    if update.get("sessionUpdate") != kind or not isinstance(content, dict):
        return ""
    text = content.get("text")
    return text if isinstance(text, str) else ""
