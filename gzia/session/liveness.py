"""What a session is doing just now: computed from processes and the worktree whenever somebody looks, never stored."""

from __future__ import annotations

from typing import Literal

from gzia.session.layout import Layout
from gzia.session.record import ANSWER, AWAITS, PROMPT, Record
from gzia.system.identity import identity_of, is_alive

Live = Literal["starting", "working", "input-needed", "idle", "broken"]


def live(record: Record, layout: Layout) -> Live | None:
    """None: nobody has the session open.

    ``starting``: gzia runs it and the agent is not up yet; ``working``: a turn runs; ``input-needed``: a permission
    question is open; ``idle``: open, and no turn runs; ``broken``: its worktree is gone, or its agent died under a turn
    that gzia has not ended yet.
    """
    if record.is_isolated and not layout.worktree(record.id).is_dir():
        return "broken"
    if holder(record) is None:
        return None
    awaits = record.metadata.get(AWAITS)
    runs = record.status == "running" and awaits != PROMPT
    if runs and record.pid is None:
        return "starting"
    if runs and record.pid and not _runs(record.pid, record.pid_identity):
        return "broken"
    if awaits == ANSWER:
        return "input-needed"
    return "working" if runs else "idle"


def holder(record: Record) -> int | None:
    """The process that has the session open: the gzia that runs it, else an agent that outlived it."""
    for pid, identity in ((record.host_pid, record.host_identity), (record.pid, record.pid_identity)):
        if pid is not None and _runs(pid, identity):
            return pid
    return None


def is_lost(record: Record) -> bool:
    """Whether the record says ``running`` and nobody is left to end it."""
    if record.status != "running":
        return False
    if record.host_pid is None:  # of a program that does not tell: its agent stands for it
        return record.pid is None or not _runs(record.pid, record.pid_identity)
    return not _runs(record.host_pid, record.host_identity)


def _runs(pid: int, identity: str) -> bool:
    # Without an identity only the absence of the process can be proved.
    return is_alive(pid, identity) if identity else identity_of(pid) is not None
