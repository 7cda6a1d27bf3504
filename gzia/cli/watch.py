"""``gzia watch ID``: a session's journal, what is there and then what happens, until nobody has the session open."""

from __future__ import annotations

import argparse
import time
from typing import Any

from gzia.cli import sessions, transcript
from gzia.cli.follow import follow
from gzia.cli.output import Output
from gzia.session.journal import number_of
from gzia.session.service import Service

LAST_LINE = 0.5  # seconds that the journal's closing line may come after the record says that the session is closed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID and where to go on."""
    parser.add_argument("id", metavar="ID", help="the session")
    parser.add_argument("--cursor", type=int, default=0, metavar="N", help="only what follows line N of its journal")


def run(args: argparse.Namespace) -> int:
    """Print it; a program gets the lines of the journal as they are."""
    cursor = sessions.cursor(args.cursor, "use 0, or the n of a line")
    with sessions.service_of(args) as service:
        Watch(service, service.get(args.id).id, cursor, args.out).run()
    return 0


class Watch:
    """One look at one journal, from the line after ``cursor`` on."""

    def __init__(self, service: Service, id: str, cursor: int, out: Output) -> None:
        self._service = service
        self._id = id
        self._cursor = cursor
        self._out = out
        self._page = transcript.Page(out)
        self._has_ended = False  # the newest line says that the session was closed
        self._closed_since: float | None = None

    def run(self) -> None:
        """Show it to the end."""
        for line in follow(self._service.journal_path(self._id), 0, self._is_over, self._out.wait):
            if line is None:
                self._out.flush()
            elif line.value is None:
                self._page.fresh_line()
                self._out.note(transcript.WARNING, transcript.damaged(line.offset))
            else:
                self._take(line.value, line.raw)
        self._page.fresh_line()

    def _take(self, value: dict[str, Any], raw: bytes) -> None:
        self._has_ended = (value.get("kind"), value.get("state")) in (("session", "closed"), ("session", "lost"))
        if (n := number_of(value)) <= self._cursor:
            return
        self._cursor = n
        if self._out.json:
            self._out.raw(raw)
        else:
            self._page.add(value)

    def _is_over(self) -> bool:
        if sessions.is_open(self._service, self._id):
            self._closed_since = None
            return False
        self._closed_since = self._closed_since or time.monotonic()
        return self._has_ended or time.monotonic() - self._closed_since > LAST_LINE
