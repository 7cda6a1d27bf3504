"""The journal's lines of one turn, for one reader who takes as long as it likes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from gzia.session.journal import Entry, Journal
from gzia.session.turns import TurnEnd

Line = tuple[Entry, dict[str, Any]]  # and its members


class TurnLines:
    """Reads what follows line ``cursor``; ``end`` is the end of the turn.

    Whoever gives up waiting for :meth:`next` loses nothing.
    """

    def __init__(self, journal: Journal, turn: int | None, cursor: int, end: asyncio.Future[TurnEnd]) -> None:
        self.was_sent = False  # the agent was given the turn
        self.is_garbled = False  # a line of the agent could not be read
        self.has_gap = False  # lines of the journal could not be read
        self.last: dict[str, Any] | None = None  # the line that ends the turn
        self._journal = journal
        self._turn = turn
        self._follower = journal.follow(cursor)
        self._n = cursor
        self.end = end

    async def next(self) -> list[Line]:
        """Some more; empty when the turn has ended and everything was taken."""
        while self.last is None:
            await self._changed()
            if self._journal.n <= self._follower.cursor:
                break  # the line that ends the turn could not be written
            if found := self._taken(await self._follower.next()):
                return found
        return []

    async def _changed(self) -> None:
        """Wait for a line, or for the end of the turn."""
        if self._journal.n <= self._follower.cursor and not self.end.done():
            more = asyncio.create_task(self._journal.beyond(self._follower.cursor))
            either: list[asyncio.Future[Any]] = [more, self.end]
            try:
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            finally:
                more.cancel()

    def _taken(self, entries: list[Entry]) -> list[Line]:
        found: list[Line] = []
        for entry in entries:
            self.has_gap = self.has_gap or entry.n != self._n + 1
            self._n = entry.n
            if entry.turn == self._turn and self.last is None:
                line = json.loads(entry.line)
                self._note(line)
                found.append((entry, line))
        return found

    def _note(self, line: dict[str, Any]) -> None:
        match line:
            case {"kind": "turn", "state": "started"}:
                self.was_sent = True
            case {"kind": "session", "state": "unreadable"}:
                self.is_garbled = True
            case {"kind": "prompt"}:
                self.last = line
