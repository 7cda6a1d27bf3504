"""``gzia path ID``: where a session works, as in ``cd "$(gzia path ID)"``."""

from __future__ import annotations

import argparse

from gzia.cli import sessions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID."""
    parser.add_argument("id", metavar="ID", help="the session")


def run(args: argparse.Namespace) -> int:
    """Print the directory."""
    with sessions.service_of(args) as service:
        path = service.path(args.id)
    if args.json:
        args.out.document({"id": args.id, "path": str(path)})
    else:
        args.out.path(path)
    return 0
