"""What the commands on sessions share: the service for where they work, and a word about what it had to mend."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from gzia.cli.output import Output
from gzia.cli.transcript import text_of_blocks
from gzia.cli.visible import Part
from gzia.driver.turn import Block
from gzia.errors import NotFoundError, UsageError
from gzia.session import liveness
from gzia.session.ledger import Ledger
from gzia.session.record import Record, moment
from gzia.session.service import Service
from gzia.session.store import DamagedRecord

STYLES = {
    "starting": "green", "working": "green", "running": "green", "idle": "cyan", "failed": "red", "broken": "red",
    "killed": "yellow", "cancelled": "yellow", "closed": "yellow", "permission refused": "yellow",
    "input-needed": "yellow",
}  # fmt: skip


@contextmanager
def service_of(args: argparse.Namespace) -> Iterator[Service]:
    """The sessions of ``args.directory``; afterwards damaged records that were met and mended are named."""
    service = Service(args.directory)
    try:
        yield service
    finally:
        warn(service.repairs, args.out)


def warn(damaged: Iterable[DamagedRecord], out: Output) -> None:
    """A line on standard error for each damaged record."""
    for one in damaged:
        out.note(("Warning:", "yellow"), " ", one.message)


def is_open(service: Service, id: str) -> bool:
    """Whether somebody has the session open; one that was deleted meanwhile is not."""
    try:
        return is_held(service.get(id))
    except NotFoundError:
        return False


def is_held(record: Record) -> bool:
    """Whether some process has the session open."""
    return liveness.holder(record) is not None


def cursor(number: int, hint: str) -> int:
    """A cursor that was typed; UsageError ``invalid-cursor``."""
    if number < 0:
        raise UsageError("invalid-cursor", f"{number} is not a cursor.", hint)
    return number


def document(record: Record, service: Service) -> dict[str, Any]:
    """The record as JSON, with ``live``: what it is doing now, null when nobody has it open."""
    return {**record.to_json(), "live": service.live(record)}


def owed(record: Record, service: Service) -> Ledger:
    """What its journal leaves open; the turn that runs just now is not owed."""
    ledger = service.ledger(record.id)
    if service.live(record) in ("working", "input-needed"):
        return replace(ledger, unanswered=ledger.unanswered[:-1])
    return ledger


def table(records: Iterable[Record], service: Service, out: Output) -> None:
    """The sessions for a person."""
    rows: list[list[Part]] = []
    for record in records:
        state = service.live(record) or ended(record)
        painted = (state, STYLES.get(state, ""))
        rows.append([(record.id, "bold"), painted, record.provider, age(record.started_at), title(record)])
    out.table(("SESSION", "STATE", "AGENT", "AGE", "TITLE"), rows)


def ended(record: Record) -> str:
    """How the last turn ended: the status, or why it was not done although nothing failed."""
    return record.reason if record.status == "completed" and record.reason else record.status


def title(record: Record) -> str:
    """What the session is about: its title, else the first line of what was asked."""
    return _first(record.title or record.initial_prompt)


def first_line(blocks: Sequence[Block]) -> str:
    """The first line of a prompt."""
    return _first(text_of_blocks(list(blocks)))


def _first(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def age(started_at: str, now: datetime | None = None) -> str:
    """How long ago, in its largest unit: ``12s``, ``5m``, ``3h``, ``9d``."""
    seconds = int(((now or datetime.now(UTC)) - moment(started_at)).total_seconds())
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{seconds // length}{unit}"
    return f"{max(0, seconds)}s"
