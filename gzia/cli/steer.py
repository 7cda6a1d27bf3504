"""``gzia steer ID TEXT``: put a message into the turn that runs, and say what became of it."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any, NamedTuple

from gzia.acp import steering
from gzia.cli import durations, sessions, settings
from gzia.cli.follow import follow
from gzia.cli.output import Output
from gzia.cli.remote import PATIENCE, Remote
from gzia.driver.steer import SteerOutcome, SteerRequest, invalid
from gzia.errors import DEADLINE, INTERRUPTED, OK, DeadlineError, GziaError
from gzia.session.record import Record
from gzia.session.service import Service

STATUS = {
    SteerOutcome.INJECTED: OK,
    SteerOutcome.FALLBACK_REQUIRED: 10,
    SteerOutcome.UNSUPPORTED: 11,
    SteerOutcome.ADMISSION_UNKNOWN: 12,
    SteerOutcome.DELIVERY_UNKNOWN: 13,
    SteerOutcome.DELIVERED_UNTRACKABLE: 14,
}
NEXT = "nothing of it was sent; as the next turn: gzia steer --or-queue {id} “…”"
LOOK = "look before you send it again, the agent may have it: gzia watch {id}"
MEANS = {
    SteerOutcome.INJECTED: ("The running turn has it.", ""),
    SteerOutcome.FALLBACK_REQUIRED: ("It was not delivered.", NEXT),
    SteerOutcome.UNSUPPORTED: ("It cannot be put in now.", NEXT),
    SteerOutcome.ADMISSION_UNKNOWN: ("It is not known whether it reached the agent.", LOOK),
    SteerOutcome.DELIVERY_UNKNOWN: ("It reached the agent, and what came of it is not known.", LOOK),
    SteerOutcome.DELIVERED_UNTRACKABLE: ("The agent took it into a turn of its own, which gzia cannot follow.", LOOK),
}
ACTED = {
    "yes": "The agent acted on it.",
    "unlikely": "The agent probably did not act on it.",
    "unknown": "Whether the agent acted on it cannot be told.",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ID, the text and what to do when it cannot be put in."""
    parser.add_argument("id", metavar="ID", help="the session")
    parser.add_argument("text", nargs="?", metavar="TEXT", help="what to say; - or nothing reads standard input")
    fallback = parser.add_mutually_exclusive_group()
    fallback.add_argument(
        "--or-queue", dest="fallback", action="store_const", const="queue",
        help="where it was surely not delivered, make it the next turn",
    )  # fmt: skip
    fallback.add_argument(
        "--interrupt", dest="fallback", action="store_const", const="interrupt",
        help="the same, and stop the running turn for it",
    )  # fmt: skip
    parser.add_argument("--id", dest="steer_id", default="", metavar="NAME", help="what the message is called")
    parser.add_argument("--wait", action="store_true", help="wait until it is known whether the agent acted on it")
    parser.add_argument("--timeout", type=durations.seconds, metavar="TIME", help="wait no longer, as in 90s or 5m")


def run(args: argparse.Namespace) -> int:
    """Send it; the outcome's own status, 0 also when it became a turn."""
    with sessions.service_of(args) as service:
        record = service.get(args.id)
        request = SteerRequest([{"type": "text", "text": read_text(args)}])
        fallback = args.fallback or settings.load(args.directory, root=service.root).steer_fallback
        return Steer(service, record, args).run(request, fallback)


def read_text(args: argparse.Namespace) -> str:
    """The message from the argument or from standard input."""
    if args.text not in (None, "-"):
        return str(args.text)
    if args.text is None and sys.stdin.isatty():
        raise invalid("The message is empty.")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


class Outcome(NamedTuple):
    """What a session said of a steer.  ``turn``: the turn that it became, ``note``: what came of it."""

    steer_id: str
    outcome: SteerOutcome
    reason: str
    write_admitted: bool
    turn: int | None
    note: dict[str, Any] | None = None

    @property
    def status(self) -> int:
        """The exit status."""
        return OK if self.turn is not None else STATUS[self.outcome]


class Steer:
    """One message on its way."""

    def __init__(self, service: Service, record: Record, args: argparse.Namespace) -> None:
        self._service = service
        self._record = record
        self._args = args
        self._out: Output = args.out
        self._until = time.monotonic() + args.timeout if args.timeout else None
        self._journal = service.journal_path(record.id)
        self._begun_at = self._journal.stat().st_size if self._journal.exists() else 0

    def run(self, request: SteerRequest, fallback: str) -> int:
        """Send it and tell what became of it."""
        with Remote(self._service, self._record) as remote:
            ident = remote.begin(steering.METHOD, self._params(request, fallback))
            try:
                found = outcome_of(remote.answer(ident, self._until))
            except KeyboardInterrupt:
                self._tell(self._withdrawn(remote, ident))
                return INTERRUPTED
            except DeadlineError:
                found = self._withdrawn(remote, ident)
        if not self._has_note(found):
            self._tell(found)
            return found.status
        found = found._replace(note=self._note(found.steer_id))
        self._tell(found)
        return DEADLINE if found.note is None and self._is_late() else OK

    def _has_note(self, found: Outcome) -> bool:
        """Whether there is, or will be, a note that was asked for."""
        return bool(self._args.wait) and found.outcome is SteerOutcome.INJECTED

    def _params(self, request: SteerRequest, fallback: str) -> dict[str, Any]:
        params = steering.params(self._record.id, request.blocks)
        own = {"fallback": fallback, **({"steerId": self._args.steer_id} if self._args.steer_id else {})}
        return {**params, "_meta": {**params["_meta"], "gzia": own}}

    def _withdrawn(self, remote: Remote, ident: int) -> Outcome:
        """Take it back; what became of it is told all the same, for it may have been too late."""
        remote.withdraw(ident)
        try:
            return outcome_of(remote.answer(ident, time.monotonic() + PATIENCE))
        except DeadlineError:
            message = "It is not known yet what became of the message."
            raise DeadlineError("steer-not-settled", message, LOOK.format(id=self._record.id)) from None

    def _note(self, steer_id: str) -> dict[str, Any] | None:
        """What came of it, from the journal; None when the time is over or the session has ended before."""

        def is_over() -> bool:
            return self._is_late() or not sessions.is_open(self._service, self._record.id)

        for line in follow(self._journal, self._begun_at, is_over, self._out.wait):
            value = (line and line.value) or {}
            if value.get("kind") == "steer_note" and value.get("steer_id") == steer_id:
                return {"acted": str(value.get("acted")), "evidence": str(value.get("evidence") or "")}
        return None

    def _is_late(self) -> bool:
        return self._until is not None and time.monotonic() >= self._until

    def _tell(self, found: Outcome) -> None:
        if self._out.json:
            self._out.document({
                "session": self._record.id, "steer_id": found.steer_id, "outcome": found.outcome,
                "retry_safe": found.outcome.retry_safe and found.turn is None, "write_admitted": found.write_admitted,
                "reason": found.reason, "turn": found.turn, "note": found.note,
            })  # fmt: skip
            return
        sentence, hint = MEANS[found.outcome]
        self._out.line(("↪", "cyan"), f" {because(sentence, found.reason)}")
        if found.turn is not None:
            self._out.line(f"  It is turn {found.turn} of the session now.")
        elif hint:
            self._out.note(("Hint:", "cyan"), " ", hint.format(id=self._record.id))
        if found.note:
            self._out.line("  ", because(ACTED.get(found.note["acted"], ACTED["unknown"]), found.note["evidence"]))
        elif self._has_note(found):
            self._out.line("  Whether the agent acted on it is not known yet.")


def because(sentence: str, reason: str) -> str:
    """A sentence with its reason in brackets."""
    return f"{sentence[:-1]} ({reason})." if reason else sentence


def outcome_of(result: Any) -> Outcome:
    """What the answer to a steering request says in gzia's own words; GziaError when it has none."""
    match result:
        case {
            "_meta": {"gzia": {"outcome": str(word), "steerId": str(steer_id), "writeAdmitted": bool(admitted)} as own}
        }:
            if word in tuple(SteerOutcome):
                turn = own["turn"] if type(own.get("turn")) is int else None
                return Outcome(steer_id, SteerOutcome(word), str(result.get("reason") or ""), admitted, turn)
    message = "The session answered in words that this gzia does not know."
    raise GziaError("session-refused", message, "use the same version of gzia on both sides")
