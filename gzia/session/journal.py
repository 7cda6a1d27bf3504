"""The journal of a session: every observation in order, on disk, and the newest ones in memory.

The journal is the buffer between the agent and everyone who looks.  A reader keeps a cursor (the number of the last
line it has taken); one that is caught up is served from memory, one that lags behind from the file, so that nobody's
pace slows the agent and memory stays bounded.  The shape of a line is protocol/gzia/observation.schema.json.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gzia.system import clock, jsonl

REMEMBERED = 4 << 20  # characters of the newest lines kept in memory
AT_ONCE = 2048  # entries handed to a reader at a time
INDEX_STEP = 512  # lines between two remembered file offsets

made = tuple.__new__  # a named tuple's own constructor costs twice as much, and an entry is made for every line
dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


class Draft(NamedTuple):
    """A line before it has a number.

    ``fields`` is the JSON text of the members after ``kind``, without braces.  ``body`` is what readers in this process
    want: for an update the raw JSON text of the update, else the members as a dict.
    """

    kind: str
    turn: int | None
    fields: str
    body: Any


class Entry(NamedTuple):
    """A line of the journal; ``line`` is its text without the newline."""

    n: int
    kind: str
    turn: int | None
    body: Any
    line: str


def draft(kind: str, turn: int | None, body: dict[str, Any]) -> Draft:
    """A line whose members are ``body`` (JSON values)."""
    return Draft(kind, turn, dumps(body)[1:-1], body)


class Journal:
    """The one writer of a session's journal.  Any number of readers in this process."""

    def __init__(self, path: Path, session: str) -> None:
        self.path = path
        self._file = jsonl.Appender(path)
        self._file.mend()
        self.n = last_number(path)
        self._head = f',"session":{dumps(session)},"turn":'
        self._tail: list[Entry] = []
        self._tail_size = 0
        self._index: list[tuple[int, int]] = []  # (n, offset of that line), sparse
        self._waiting: list[asyncio.Future[None]] = []
        self._damage_told = 0
        self.closed = False

    def write(self, drafts: Sequence[Draft], *, durable: bool = False) -> None:
        """Number the drafts and append them in one write; ``durable`` returns when they are on the disk.

        GziaError ``journal-not-writable`` when the disk refuses.
        """
        if not drafts:
            return
        at = f',"at":"{clock.now()}"{self._head}'
        first = self.n + 1
        lines = [
            f'{{"v":1,"n":{n}{at}{"null" if turn is None else turn},"kind":"{kind}",{fields}}}'
            for n, (kind, turn, fields, _) in enumerate(drafts, first)
        ]
        entries = [
            made(Entry, (n, kind, turn, body, line))
            for n, ((kind, turn, _, body), line) in enumerate(zip(drafts, lines, strict=True), first)
        ]
        text = "\n".join(lines) + "\n"
        # A lone surrogate can only stand inside a JSON string, where its backslash form means the same.
        offset = self._file.append(text.encode("utf-8", "backslashreplace"))
        if durable:
            self._file.sync()
        self._remember(entries, offset, len(text))
        self.n = first + len(lines) - 1
        self._wake()
        self._tell_damage()

    def _tell_damage(self) -> None:
        """A torn tail that was set aside gets a line of its own, once."""
        found = self._file.damage[self._damage_told :]
        if found:
            self._damage_told += len(found)
            kept = jsonl.damaged_path(self.path).name
            torn = [{"offset": one.offset, "length": one.length} for one in found]
            self.write([draft("session", None, {"state": "damaged", "damage": torn, "kept": kept})])

    def _remember(self, entries: list[Entry], offset: int, size: int) -> None:
        if not self._index or entries[0].n >= self._index[-1][0] + INDEX_STEP:
            self._index.append((entries[0].n, offset))
        self._tail += entries
        self._tail_size += size
        if self._tail_size > 2 * REMEMBERED:
            self._forget()

    def _forget(self) -> None:
        keep, size = len(self._tail), 0
        while keep and size < REMEMBERED:
            keep -= 1
            size += len(self._tail[keep].line)
        del self._tail[:keep]
        self._tail_size = size

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def close(self) -> None:
        """Close the file; readers that have everything are told that nothing follows."""
        self.closed = True
        self._file.close()
        self._wake()

    def follow(self, cursor: int = 0) -> Follower:
        """A reader that starts after line ``cursor``."""
        return Follower(self, cursor)

    @property
    def oldest_remembered(self) -> int:
        """The number of the oldest line in memory."""
        return self._tail[0].n if self._tail else self.n + 1

    def remembered(self, cursor: int) -> list[Entry] | None:
        """The next entries after ``cursor`` from memory; None when they are on disk only."""
        first = self.oldest_remembered
        if cursor + 1 < first:
            return None
        start = cursor + 1 - first
        return self._tail[start : start + AT_ONCE]

    def offset_before(self, cursor: int) -> int:
        """A file offset at or before the line that follows ``cursor``."""
        best = 0
        for n, offset in self._index:
            if n > cursor + 1:
                break
            best = offset
        return best

    async def beyond(self, cursor: int) -> None:
        """Wait until there is a line after ``cursor`` or the journal is closed."""
        while self.n <= cursor and not self.closed:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(future)
            await future


class Follower:
    """One reader's place in a journal."""

    def __init__(self, journal: Journal, cursor: int) -> None:
        self._journal = journal
        self.cursor = cursor
        self._offset: int | None = None  # where to go on reading the file, while lagging

    async def next(self) -> list[Entry]:
        """The next entries, at least one; empty when the journal is closed and everything was taken."""
        await self._journal.beyond(self.cursor)
        found = self._journal.remembered(self.cursor)
        if found is None and not (found := self._from_disk()):
            # The file lost these lines under us; go on with what memory still holds.
            self.cursor = self._journal.oldest_remembered - 1
            return await self.next()
        if self.cursor + 1 >= self._journal.oldest_remembered:
            self._offset = None
        if found:
            self.cursor = found[-1].n
        return found

    def _from_disk(self) -> list[Entry]:
        if self._offset is None:
            self._offset = self._journal.offset_before(self.cursor)
        found: list[Entry] = []
        for line in jsonl.read(self._journal.path, self._offset):
            if line.value is not None and number_of(line.value) > self.cursor:
                found.append(entry_of(line.value, line.raw))
            self._offset = line.end
            if len(found) == AT_ONCE:
                break
        return found


def last_number(path: Path) -> int:
    """The number of the last line of a journal; found from its end, unless strange lines stand there."""
    newest = jsonl.last(path)
    if newest is None or newest.value is None:
        return 0
    return number_of(newest.value) or max(number_of(line.value) for line in jsonl.read(path) if line.value is not None)


def number_of(value: dict[str, Any]) -> int:
    """The number of a line that was read from the file; 0 for one that is no line of a journal."""
    n, kind = value.get("n"), value.get("kind")
    known = isinstance(kind, str) and (kind != "update" or "update" in value)
    return n if known and type(n) is int else 0


def entry_of(value: dict[str, Any], raw: bytes) -> Entry:
    """A line that was read from the file as an entry."""
    body = dumps(value["update"]) if value["kind"] == "update" else value
    return Entry(value["n"], value["kind"], value.get("turn"), body, raw.decode("utf-8", "replace").rstrip("\n"))
