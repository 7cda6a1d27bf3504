"""``gzia show ID``: one session's record, and what is still owed in it."""

from __future__ import annotations

import argparse
import json
from typing import Any

from gzia.cli import sessions
from gzia.cli.output import Output
from gzia.session.record import Record
from gzia.session.service import Service


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID."""
    parser.add_argument("id", metavar="ID", help="the session")


def run(args: argparse.Namespace) -> int:
    """Print what is known."""
    out: Output = args.out
    with sessions.service_of(args) as service:
        found = document(service.get(args.id), service)
    if args.json:
        out.document(found)
        return 0
    known = {key: value for key, value in found.items() if value not in (None, "", {}, [])}
    width = max(map(len, known))
    for key, value in known.items():
        for at, text in enumerate(texts(value)):
            out.line((f"{'' if at else key:<{width}}", "dim"), "  ", text)
    return 0


def document(record: Record, service: Service) -> dict[str, Any]:
    """The record as JSON with ``live`` and ``steering`` (how a running turn is reached; null: not at all).

    ``waiting`` are turns that were asked and never started, ``unanswered`` such as the agent was given and never
    answered, ``unsettled`` messages of which it was never told what became of them.
    """
    agent = record.metadata.get("agent")
    owed = sessions.owed(record, service)
    return {
        **sessions.document(record, service),
        "steering": (agent.get("steering") or None) if isinstance(agent, dict) else None,
        "waiting": [{"turn": one.turn, "text": sessions.first_line(one.blocks)} for one in owed.waiting],
        "unanswered": list(owed.unanswered),
        "unsettled": list(owed.unsettled),
    }


def texts(value: Any) -> list[str]:
    """A value as the lines that a person reads."""
    match value:
        case str():
            return [value]
        case [{"turn": _}, *_]:
            return [f"turn {one['turn']}: {one['text']}" for one in value]
        case list():
            return [", ".join(map(str, value))]
        case _:
            return [json.dumps(value)]
