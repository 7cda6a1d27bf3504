"""What a damaged record is rebuilt from: the journal's lines, else what lies on the disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from gzia.driver.turn import PermissionLevel
from gzia.session import ids
from gzia.session.layout import Layout
from gzia.session.record import Record
from gzia.session.recovery import UNKNOWN_END, rebuild
from gzia.system import jsonl

ID = ids.parse("a1")
OPENED = Record(
    ID, "running", "2026-11-30T20:00:00Z", provider="demo", permission_level=PermissionLevel.READONLY, host_pid=7,
    host_identity="boot:1", is_isolated=True, worktree_dir="/w/.harness/worktrees/a1", branch_name="harness/a1",
)  # fmt: skip


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path)
    made.sessions.mkdir(parents=True)
    return made


def journal(layout: Layout, *lines: dict[str, Any]) -> None:
    opened = {"kind": "session", "state": "opened", "at": "2026-11-30T20:00:00Z", "record": OPENED.to_json()}
    layout.journal(ID).write_bytes(b"".join(map(jsonl.dump, [opened, *lines])))


def told(layout: Layout) -> tuple[str, str | None, str]:
    record = rebuild(layout, ID)
    return record.status, record.finished_at, record.reason


STARTED = {"kind": "turn", "state": "started", "at": "2026-11-30T20:01:00Z"}
ANSWERED = {"kind": "prompt", "stop_reason": "end_turn", "at": "2026-11-30T20:02:00Z"}


def test_the_opened_line_is_the_record_at_creation(layout: Layout) -> None:
    journal(layout)

    assert rebuild(layout, ID) == OPENED


def test_the_last_turn_tells_the_status(layout: Layout) -> None:
    journal(layout, STARTED, ANSWERED)
    completed = told(layout)
    journal(layout, STARTED, ANSWERED, STARTED)
    started_again = told(layout)
    journal(layout, STARTED, ANSWERED | {"error": {"code": "agent-gone"}})
    failed = told(layout)

    assert completed == ("completed", "2026-11-30T20:02:00Z", "")
    assert started_again == ("running", None, "")
    assert failed == ("failed", "2026-11-30T20:02:00Z", "")


def test_a_turn_that_was_dropped_while_it_waited_says_nothing_of_the_session(layout: Layout) -> None:
    dropped = {"kind": "prompt", "stop_reason": "cancelled", "write_admitted": False, "at": "2026-11-30T20:03:00Z"}
    journal(layout, STARTED, dropped)
    running = told(layout)
    journal(layout, STARTED, ANSWERED, dropped)
    completed = told(layout)

    assert running == ("running", None, "")
    assert completed == ("completed", "2026-11-30T20:02:00Z", "")


def test_later_session_lines_change_what_they_name(layout: Layout) -> None:
    closing = {"status": "failed", "reason": "lost", "finished_at": "2026-11-30T20:09:00Z"}
    journal(layout, {"kind": "session", "state": "resumed", "record": {"host_pid": 8, "host_identity": "boot:2"}},
            {"kind": "session", "state": "lost", "record": closing})  # fmt: skip

    record = rebuild(layout, ID)

    assert (record.provider, record.host_pid, record.host_identity) == ("demo", 8, "boot:2")
    assert (record.status, record.reason, record.finished_at) == ("failed", "lost", "2026-11-30T20:09:00Z")


def test_damaged_lines_of_the_journal_are_passed_over(layout: Layout) -> None:
    journal(layout, STARTED)
    with layout.journal(ID).open("ab") as file:
        file.write(b"{not json\n\xff\n" + jsonl.dump(ANSWERED) + b'{"kind":"pro')

    assert told(layout) == ("completed", "2026-11-30T20:02:00Z", "")


def test_without_a_journal_the_worktree_stays_within_reach(layout: Layout) -> None:
    layout.worktree(ID).mkdir(parents=True)
    layout.record(ID).write_bytes(b"{")
    os.utime(layout.record(ID), (1_700_000_000, 1_700_000_000))

    assert rebuild(layout, ID) == Record(
        ID, "failed", "2023-11-14T22:13:20.000000Z", working_dir=str(layout.root), reason=UNKNOWN_END,
        is_isolated=True, worktree_dir=str(layout.worktree(ID)), branch_name="harness/a1",
    )  # fmt: skip


@pytest.mark.parametrize("line", [{"kind": "session", "record": {"pid": "seven"}}, {"kind": "prompt", "at": "soon"}])
def test_a_journal_that_tells_nonsense_is_not_listened_to(layout: Layout, line: dict[str, Any]) -> None:
    journal(layout, line)

    assert rebuild(layout, ID).reason == UNKNOWN_END


def test_a_journal_that_cannot_be_read_is_as_good_as_none(layout: Layout) -> None:
    layout.journal(ID).mkdir()

    assert rebuild(layout, ID).reason == UNKNOWN_END
