"""``gzia events ID``: a session's action events."""

from __future__ import annotations

import argparse

from gzia.cli import sessions
from gzia.cli.output import Output
from gzia.events.model import Event


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID and where to go on."""
    parser.add_argument("id", metavar="ID", help="the session")
    parser.add_argument(
        "--cursor", type=int, default=0, metavar="C", help="only what follows this cursor of an earlier call"
    )


def run(args: argparse.Namespace) -> int:
    """Print them; a program gets one a line and the cursor at last."""
    out: Output = args.out
    with sessions.service_of(args) as service:
        page = service.events(args.id, args.cursor)
    for event in page.events:
        if args.json:
            out.document(event.to_json())
        else:
            _show(event, out)
    damaged = [{"offset": each.offset, "length": each.length} for each in page.damage]
    if args.json:
        out.document({"cursor": page.cursor, "damaged": damaged})
    elif damaged:
        out.note(("Warning:", "yellow"), f" {len(damaged)} damaged lines were passed over.")
    return 0


def _show(event: Event, out: Output) -> None:
    status = (event.status or "", {"OK": "green", "FAILED": "red"}.get(event.status or "", ""))
    took = f" {event.duration_ms} ms" if event.duration_ms is not None else ""
    who = f" {event.agent_id}" if event.agent_id else ""
    out.line(
        (event.timestamp, "dim"), f"  {event.stage:<7}  ", status, f"  {event.action}{who}{took} {event.error}".rstrip()
    )
