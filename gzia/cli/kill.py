"""``gzia kill ID``: end a session's agent and everything that it started.  Its work stays."""

from __future__ import annotations

import argparse

from gzia.cli import durations, sessions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID and the time to end by itself."""
    parser.add_argument("id", metavar="ID", help="the session")
    parser.add_argument(
        "--grace", type=durations.seconds, default=2.0, metavar="TIME", help="time to end by itself (default: 2s)"
    )


def run(args: argparse.Namespace) -> int:
    """End it."""
    with sessions.service_of(args) as service:
        record = service.kill(args.id, args.grace)
    if args.json:
        args.out.document({"id": args.id, "status": record.status})
    else:
        args.out.note(f"Session {args.id} has ended; see gzia diff {args.id}")
    return 0
