"""``gzia list``: the sessions of this project, the newest first."""

from __future__ import annotations

import argparse

from gzia.cli import sessions
from gzia.cli.output import Output
from gzia.session.service import Service


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing but a list of names for completion."""
    parser.add_argument("--names", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Print them."""
    out: Output = args.out
    service = Service(args.directory)
    records, damaged = service.list()
    records.reverse()
    if args.names:
        out.text("".join(f"{record.id}\n" for record in records))
    elif args.json:
        broken = [{"id": one.id, "reason": one.reason, "kept_as": one.kept_as and str(one.kept_as)} for one in damaged]
        out.document({"sessions": [sessions.document(each, service) for each in records], "damaged": broken})
    else:
        sessions.warn(damaged, out)
        if records:
            sessions.table(records, service, out)
        else:
            out.note("No sessions here yet.")
    return 0
