"""The file of action events: many writers, cursors, damage that hides nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gzia.events.model import Event
from gzia.events.store import Events, Page
from gzia.system import jsonl
from gzia.system.jsonl import Damage

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "k3v9q2.events.jsonl"


def event(action: str) -> Event:
    return Event("k3v9q2", action, "FINISH", "OK")


def test_events_are_read_in_the_order_of_the_file_and_on_from_a_cursor(log: Path) -> None:
    one, two, three = event("one"), event("two"), event("three")
    with Events(log) as events:
        starts = [events.append(one), events.append(two)]
        first = events.read()
        starts.append(events.append(three))
        second = events.read(first.cursor)
        rest = events.read(second.cursor)

    assert first == Page((one, two), (), starts[2])
    assert second == Page((three,), (), log.stat().st_size)
    assert rest == Page((), (), second.cursor)


def test_nothing_is_created_by_looking(log: Path) -> None:
    with Events(log) as events:
        assert events.read() == Page((), (), 0)

    assert not log.exists()


def test_JSO_01_a_damaged_line_is_reported_and_hides_no_other(log: Path) -> None:
    one, two = (jsonl.dump(event(action).to_json()) for action in ("one", "two"))
    no_event = b'{"action":"neither stage nor time"}\n'
    log.write_bytes(one + b"{not json\n" + no_event + two)

    page = Events(log).read()

    assert [found.action for found in page.events] == ["one", "two"]
    assert page.damage == (Damage(len(one), 10), Damage(len(one) + 10, len(no_event)))
    assert page.cursor == log.stat().st_size


def test_JSO_01_a_torn_tail_is_set_aside_by_the_next_event_and_told_once(log: Path) -> None:
    log.write_bytes(jsonl.dump(event("one").to_json()) + b'{"id":"caf\xc3')
    size = log.stat().st_size

    with Events(log) as events:
        before = events.read()
        events.append(event("two"))
        events.append(event("three"))
        after = events.read()

    told = after.events[2]
    assert (len(before.events), before.damage) == (1, ())
    assert [found.action for found in after.events] == ["one", "two", "mend the event log", "three"]
    assert (told.session_id, told.status, told.metadata) == (
        "k3v9q2", "FAILED", {"offset": size - 11, "length": 11, "kept_in": "k3v9q2.events.jsonl.damaged"},
    )  # fmt: skip
    assert told.error == f"11 torn bytes at offset {size - 11} were set aside in k3v9q2.events.jsonl.damaged"
    assert after.damage == ()
    assert jsonl.damaged_path(log).read_bytes() == b'{"id":"caf\xc3\n'


WRITE_MANY = """
import sys
from pathlib import Path
from gzia.events.model import Event
from gzia.events.store import Events
with Events(Path(sys.argv[1])) as events:
    for k in range(300):
        events.append(Event("k3v9q2", f"{sys.argv[2]}{k}", "READ", metadata={"text": "x" * 9000}))
"""


def test_JSO_03_events_of_four_processes_are_all_there_and_whole(log: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITE_MANY, log, name], cwd=ROOT) for name in "abcd"]

    codes = [writer.wait(timeout=60) for writer in writers]

    page = Events(log).read()
    assert codes == [0, 0, 0, 0]
    assert page.damage == ()
    assert sorted(found.action for found in page.events) == sorted(f"{name}{k}" for name in "abcd" for k in range(300))
    assert len({found.id for found in page.events}) == 1200
    for name in "abcd":
        mine = [found.action for found in page.events if found.action.startswith(name)]
        assert mine == [f"{name}{k}" for k in range(300)]
