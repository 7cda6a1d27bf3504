"""``gzia delete ID…``: remove sessions with their worktrees and branches."""

from __future__ import annotations

import argparse

from gzia.cli import sessions
from gzia.cli.output import Output
from gzia.errors import OK, GziaError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """IDs and --force."""
    parser.add_argument("ids", nargs="+", metavar="ID", help="the sessions")
    parser.add_argument(
        "--force", action="store_true", help="also with work that is nowhere else; it is kept under a ref"
    )


def run(args: argparse.Namespace) -> int:
    """Remove each of them; one that cannot be removed does not stop the others, but its status is the command's."""
    status = OK
    with sessions.service_of(args) as service:
        for id in args.ids:
            try:
                kept = service.delete(id, force=args.force)
            except GziaError as error:
                error.data.setdefault("id", id)
                args.out.problem(error)
                status = status or error.exit_status
            else:
                _tell(id, kept, args.out)
    return status


def _tell(id: str, kept: str | None, out: Output) -> None:
    if out.json:
        out.document({"id": id, "deleted": True, "preserved": kept})
    elif kept:
        out.note(f"Session {id} is removed; its work is kept: git branch {id} {kept}")
    else:
        out.note(f"Session {id} is removed.")
