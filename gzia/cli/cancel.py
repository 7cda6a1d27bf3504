"""``gzia cancel ID``: stop the turn that runs and drop those that wait."""

from __future__ import annotations

import argparse
from typing import Any

from gzia.cli import sessions
from gzia.cli.output import Output
from gzia.cli.remote import Remote


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID."""
    parser.add_argument("id", metavar="ID", help="the session")


def run(args: argparse.Namespace) -> int:
    """Do it.  Nothing to cancel is no error: what was asked for is so."""
    with sessions.service_of(args) as service:
        record = service.get(args.id)
        if sessions.is_held(record):
            with Remote(service, record) as remote:
                found = remote.ask("_gzia/cancel", {"sessionId": record.id})
        else:
            found = {"running": None, "dropped": list(service.drop_queue(record.id))}
    _tell(record.id, found, args.out)
    return 0


def _tell(id: str, found: dict[str, Any], out: Output) -> None:
    running, dropped = found["running"], found["dropped"]
    if out.json:
        out.document({"session": id, "running": running, "dropped": dropped})
        return
    if running is not None:
        out.line(("■", "yellow"), f" Turn {running} is being stopped.")
    if dropped:
        out.line(("■", "yellow"), f" Dropped: turn {', '.join(map(str, dropped))}.")
    if running is None and not dropped:
        out.line("Nothing is running or waiting.")
