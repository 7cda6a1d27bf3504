"""``gzia read ID``: a session's conversation and its changes together."""

from __future__ import annotations

import argparse
from pathlib import Path

from gzia.cli import diff, sessions, transcript
from gzia.cli.output import Output
from gzia.session import ledger
from gzia.session.record import Record
from gzia.session.service import Service
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
        if not args.json:
            _owed(record, service, out)
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
    page = transcript.Page(out, {} if out.json else _acted(journal))
    for line in jsonl.read(journal):
        if line.value is None:
            out.note(transcript.WARNING, transcript.damaged(line.offset))
        elif out.json:
            out.document(line.value)
        else:
            page.add(line.value)
    page.end()


def _acted(journal: Path) -> dict[str, str]:
    """What came of each steer: it stands behind the end of its turn, and is told where the steer was."""
    notes = (line for line in ledger.of_kinds(journal, {b"steer_note"}) if line.get("kind") == "steer_note")
    return {str(note.get("steer_id")): str(note.get("acted")) for note in notes}


def _owed(record: Record, service: Service, out: Output) -> None:
    owed = sessions.owed(record, service)
    for turn in owed.unanswered:
        out.line(("!", "yellow"), f" turn {turn} was never answered")
    for one in owed.waiting:
        out.line(transcript.QUEUED, f" turn {one.turn} waits: {sessions.first_line(one.blocks)}")
    if owed.waiting and not sessions.is_held(record):
        out.note(("Hint:", "cyan"), f" run what waits with: gzia resume {record.id}")
