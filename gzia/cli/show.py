"""``gzia show ID``: one session's record."""

from __future__ import annotations

import argparse
import json

from gzia.cli import sessions
from gzia.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID."""
    parser.add_argument("id", metavar="ID", help="the session")


def run(args: argparse.Namespace) -> int:
    """Print what is known."""
    out: Output = args.out
    with sessions.service_of(args) as service:
        record = sessions.document(service.get(args.id), service)
    if args.json:
        out.document(record)
        return 0
    known = {key: value for key, value in record.items() if value not in (None, "", {})}
    width = max(map(len, known))
    for key, value in known.items():
        text = value if isinstance(value, str) else json.dumps(value)
        out.line((f"{key:<{width}}", "dim"), "  ", text)
    return 0
