"""``gzia log ID --action A``: add an action event, for agents and scripts."""

from __future__ import annotations

import argparse
import json
from typing import Any

from gzia.cli import sessions
from gzia.errors import UsageError
from gzia.events.model import STAGES, STATUSES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID and what happened."""
    parser.add_argument("id", metavar="ID", help="the session")
    parser.add_argument("--action", required=True, metavar="ACTION", help="what is done, as a word or two")
    parser.add_argument("--stage", choices=STAGES, default="FINISH", help="default: FINISH")
    parser.add_argument("--status", choices=STATUSES, help="how it ended")
    parser.add_argument("--agent-id", default="", metavar="NAME", help="who did it")
    parser.add_argument("--role", default="", metavar="ROLE", help="in which role")
    parser.add_argument("--duration-ms", type=int, metavar="N", help="how long it took, in milliseconds")
    parser.add_argument("--error", default="", metavar="TEXT", help="what went wrong")
    parser.add_argument("--metadata", type=_object, default={}, metavar="JSON", help="anything else, as a JSON object")


def run(args: argparse.Namespace) -> int:
    """Append the event; a program is told which."""
    with sessions.service_of(args) as service:
        event = service.log_event(
            args.id, action=args.action, stage=args.stage, status=args.status, agent_id=args.agent_id, role=args.role,
            duration_ms=args.duration_ms, error=args.error, metadata=args.metadata,
        )  # fmt: skip
    if args.json:
        args.out.document(event.to_json())
    return 0


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UsageError(
            "invalid-event", "The metadata is not a JSON object.", """write for example '{"key": "value"}'"""
        )
    return value
