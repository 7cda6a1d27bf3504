"""``gzia events ID``: a session's action events."""

from __future__ import annotations

import argparse

from gzia.cli import sessions, transcript
from gzia.cli.follow import follow
from gzia.cli.output import Output
from gzia.errors import UsageError
from gzia.events.model import Event, from_json
from gzia.session.service import Service
from gzia.system.jsonl import Line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID, where to go on, whether to stay."""
    parser.add_argument("id", metavar="ID", help="the session")
    parser.add_argument(
        "--cursor", type=int, default=0, metavar="C", help="only what follows this cursor of an earlier call"
    )
    parser.add_argument("--follow", action="store_true", help="go on until nobody has the session open")


def run(args: argparse.Namespace) -> int:
    """Print them; a program gets one a line and the cursor at last."""
    out: Output = args.out
    with sessions.service_of(args) as service:
        if args.follow:
            _follow(service, args)
            return 0
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
        out.note(transcript.WARNING, f" {len(damaged)} damaged lines were passed over.")
    return 0


def _follow(service: Service, args: argparse.Namespace) -> None:
    """Each event as it comes; for a program with the cursor after it, because nobody knows when it stops reading."""
    out: Output = args.out
    id, cursor = service.get(args.id).id, sessions.cursor(args.cursor, "use 0, or one that gzia events printed")
    for line in follow(service.layout.events(id), cursor, lambda: not sessions.is_open(service, id), out.wait):
        if line is None:
            out.flush()
            continue
        cursor = line.end
        try:
            event = from_json(line.value or {})
        except UsageError:
            _damaged(line, out)
        else:
            out.document({**event.to_json(), "cursor": cursor}) if args.json else _show(event, out)
    if args.json:
        out.document({"cursor": cursor, "damaged": []})


def _damaged(line: Line, out: Output) -> None:
    if out.json:
        out.document({"cursor": line.end, "damaged": [{"offset": line.offset, "length": line.end - line.offset}]})
    else:
        out.note(transcript.WARNING, f" a damaged line was passed over (at byte {line.offset}).")


def _show(event: Event, out: Output) -> None:
    status = (event.status or "", {"OK": "green", "FAILED": "red"}.get(event.status or "", ""))
    took = f" {event.duration_ms} ms" if event.duration_ms is not None else ""
    who = f" {event.agent_id}" if event.agent_id else ""
    out.line(
        (event.timestamp, "dim"), f"  {event.stage:<7}  ", status, f"  {event.action}{who}{took} {event.error}".rstrip()
    )
