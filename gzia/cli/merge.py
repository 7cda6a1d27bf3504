"""``gzia merge ID`` (or ``get``): bring a session's changes into the branch that is checked out."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from gzia.cli import sessions
from gzia.cli.diff import stat_lines
from gzia.cli.output import Output
from gzia.errors import CONFLICT, OK
from gzia.workspace.model import MergeResult


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID and how to merge."""
    parser.add_argument("id", metavar="ID", help="the session")
    parser.add_argument("--squash", action="store_true", help="one commit with everything, without a merge commit")
    parser.add_argument("--no-commit", action="store_true", help="stage the result, do not commit it")
    parser.add_argument("--dry-run", action="store_true", help="only tell what would happen")
    parser.add_argument("--keep", action="store_true", help="on a conflict leave its markers for you to resolve")


def run(args: argparse.Namespace) -> int:
    """Merge; 6 when a dry run finds conflicts."""
    with sessions.service_of(args) as service:
        done = service.merge(
            args.id, squash=args.squash, no_commit=args.no_commit, dry_run=args.dry_run, keep=args.keep
        )
    if args.json:
        args.out.document({"id": args.id, "dry_run": args.dry_run, **asdict(done)})
    else:
        _show(done, args.out, dry_run=args.dry_run)
    return CONFLICT if done.conflicts else OK


def _show(done: MergeResult, out: Output, *, dry_run: bool) -> None:
    stat_lines(done.files, out)
    for path in done.conflicts:
        out.line(("conflict", "red"), "  ", path)
    for note in done.notes:
        out.note(note)
    if done.commit and not dry_run:
        out.note(("Merged", "green"), f" as {done.commit[:12]}")
