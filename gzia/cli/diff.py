"""``gzia diff ID``: what a session changed, committed or not, new files included."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from gzia.cli import sessions
from gzia.cli.output import Output
from gzia.cli.visible import Part
from gzia.workspace.model import Diff, FileChange

LETTERS = {"added": "A", "modified": "M", "deleted": "D", "renamed": "R", "type-changed": "T", "submodule": "S"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID and --stat."""
    parser.add_argument("id", metavar="ID", help="the session")
    parser.add_argument("--stat", action="store_true", help="only which files, and how many lines")


def run(args: argparse.Namespace) -> int:
    """Print the changes: a patch that ``git apply`` takes, or one line a file."""
    with sessions.service_of(args) as service:
        found = service.diff(args.id)
    if args.json:
        args.out.document({"id": args.id, **document(found, stat=args.stat)})
    else:
        show(found, args.out, stat=args.stat)
    return 0


def show(found: Diff, out: Output, *, stat: bool) -> None:
    """The changes for a person on a terminal, or for the program behind a pipe."""
    if stat:
        stat_lines(found.files, out)
    elif out.is_terminal:
        from gzia.cli.render import patch_parts

        for parts in patch_parts(found.patch):
            out.text(*parts)
    else:
        out.raw(found.patch)


def document(found: Diff, *, stat: bool) -> dict[str, Any]:
    """The changes as JSON.  Bytes of the patch that are not UTF-8 are lone surrogates (surrogateescape)."""
    patch = {} if stat else {"patch": found.patch.decode("utf-8", "surrogateescape")}
    return {"base": found.base, "files": [asdict(change) for change in found.files], **patch}


def stat_lines(files: Sequence[FileChange], out: Output) -> None:
    """One line a file: what happened, how many lines came and went, its name."""
    for change in files:
        out.line(f"{LETTERS.get(change.status, '?')}  ", *_counts(change), "  ", _name(change))


def _counts(change: FileChange) -> list[Part]:
    if change.added is None or change.deleted is None:
        return [f"{'binary':>11}"]
    return [(f"{f'+{change.added}':>5}", "green"), " ", (f"{f'-{change.deleted}':>5}", "red")]


def _name(change: FileChange) -> str:
    return f"{change.old_path} → {change.path}" if change.old_path else change.path
