"""The action events of one session in ``<id>.events.jsonl``, written by any number of processes at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gzia.errors import UsageError
from gzia.events.model import Event, from_json
from gzia.system import jsonl
from gzia.system.jsonl import Appender, Damage


@dataclass(frozen=True, slots=True)
class Page:
    """What was read: the events in the order of the file, the lines that are none, and where to go on reading."""

    events: tuple[Event, ...]
    damage: tuple[Damage, ...]
    cursor: int


class Events:
    """The events in one file.  Nothing is opened or created before the first append.  Close it after appending."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer: Appender | None = None

    def append(self, event: Event) -> int:
        """Write the event and return its offset.  Raises GziaError ``journal-not-writable``.

        A torn tail that is found and set aside is itself told by an event, right after.
        """
        if self._writer is None:
            self._writer = Appender(self.path)
        offset = self._writer.append(jsonl.dump(event.to_json()))
        while self._writer.damage:
            told = _mended(event.session_id, self.path, self._writer.damage.pop())
            self._writer.append(jsonl.dump(told.to_json()))
        return offset

    def read(self, cursor: int = 0) -> Page:
        """What follows byte ``cursor`` (0, or the cursor of an earlier page).

        An unfinished last line is left for the next page.  Raises GziaError ``journal-not-readable``.
        """
        events: list[Event] = []
        damage: list[Damage] = []
        for line in jsonl.read(self.path, cursor):
            cursor = line.end
            try:
                events.append(from_json(line.value if line.value is not None else {}))
            except UsageError:
                damage.append(Damage(line.offset, line.end - line.offset))
        return Page(tuple(events), tuple(damage), cursor)

    def close(self) -> None:
        """May be called twice; a later append opens the file again."""
        if self._writer:
            self._writer.close()
            self._writer = None

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _mended(session_id: str, path: Path, damage: Damage) -> Event:
    kept = jsonl.damaged_path(path).name
    error = f"{damage.length} torn bytes at offset {damage.offset} were set aside in {kept}"
    about = {"offset": damage.offset, "length": damage.length, "kept_in": kept}
    return Event(session_id, "mend the event log", "FINISH", "FAILED", agent_id="gzia", error=error, metadata=about)
