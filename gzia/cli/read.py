"""``gzia read ID``: a session's conversation and its changes together."""

from __future__ import annotations

import argparse
from pathlib import Path

from gzia.cli import diff, sessions, transcript
from gzia.cli.output import Output
from gzia.system import jsonl


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID and --stat."""
    parser.add_argument("id", metavar="ID", help="the session")
    parser.add_argument("--stat", action="store_true", help="the changes as one line a file")


def run(args: argparse.Namespace) -> int:
    """Print it; a program gets the journal's lines and at last one line of kind ``changes``.

    A session without a worktree has no changes of its own to show.
    """
    out: Output = args.out
    with sessions.service_of(args) as service:
        record = service.get(args.id)
        _conversation(service.journal_path(record.id), out)
        if not record.is_isolated:
            out.note(f"This session has no worktree: its agent worked in {record.working_dir} itself.")
            return 0
        changes = service.diff(record.id)
    if args.json:
        out.document({"kind": "changes", "session": record.id, **diff.document(changes, stat=args.stat)})
    else:
        diff.show(changes, out, stat=args.stat)
    return 0


def _conversation(journal: Path, out: Output) -> None:
    page = transcript.Page(out)
    for line in jsonl.read(journal):
        if line.value is None:
            out.note(transcript.WARNING, transcript.damaged(line.offset))
        elif out.json:
            out.document(line.value)
        else:
            page.add(line.value)
    page.end()
