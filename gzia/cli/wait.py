"""``gzia wait ID…``: block until sessions are in a state, and print each as it gets there."""

from __future__ import annotations

import argparse
import time

from gzia.cli import durations, sessions
from gzia.cli.output import Output
from gzia.errors import DeadlineError
from gzia.session.record import Record
from gzia.session.service import Service

POLL = 0.05  # seconds between two looks at the records
STATES = ("idle", "input-needed", "done")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """IDs, the state and a limit."""
    parser.add_argument("ids", nargs="+", metavar="ID", help="the sessions")
    parser.add_argument("--for", dest="state", choices=STATES, default="done", help="which state (default: done)")
    parser.add_argument("--timeout", type=durations.seconds, metavar="TIME", help="wait no longer, as in 90s or 5m")
    parser.epilog = (
        "idle: between two turns.  input-needed: a permission is being asked.  done: nobody has it open.\n"
        "Each session is printed once, as soon as it is there; one that has ended counts for every state."
    )


def run(args: argparse.Namespace) -> int:
    """Wait; 3 when the time is over."""
    until = time.monotonic() + args.timeout if args.timeout else None
    with sessions.service_of(args) as service:
        waiting = {id: service.get(id) for id in args.ids}  # all of them exist, or nobody waits
        while True:
            for id in list(waiting):
                record = service.get(id)
                if (state := reached(record, service, args.state)) is not None:
                    del waiting[id]
                    _tell(record, state, args.out)
            if not waiting:
                return 0
            if until is not None and time.monotonic() >= until:
                raise _too_late(list(waiting), args)
            args.out.wait(POLL)


def reached(record: Record, service: Service, wanted: str) -> str | None:
    """The state that the session is in, if that is the wanted one or the end of it."""
    if not sessions.is_held(record):
        return "done"
    state = service.live(record)
    return state if state == wanted else None


def _tell(record: Record, state: str, out: Output) -> None:
    if out.json:
        out.document({"id": record.id, "state": state, "status": record.status, "reason": record.reason or None})
    else:
        out.line((record.id, "bold"), f"  {state}", f"  {sessions.ended(record)}" if state == "done" else "")


def _too_late(ids: list[str], args: argparse.Namespace) -> DeadlineError:
    are = "is" if len(ids) == 1 else "are"
    return DeadlineError(
        "timeout", f"After {args.timeout:g} s {', '.join(ids)} {are} not {args.state} yet.",
        "see gzia list", data={"ids": ids},
    )  # fmt: skip
