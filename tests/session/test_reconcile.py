"""Records that say running although nobody runs them any more."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gzia.session import ids
from gzia.session.reconcile import REASON, reconcile
from gzia.session.record import Record
from gzia.session.store import FileStore
from gzia.system import jsonl
from tests.schemas import schema
from tests.session.conftest import Pair

ROOT = Path(__file__).parent.parent.parent
ID = ids.parse("a1")
OPENED: dict[str, Any] = {
    "v": 1, "n": 1, "at": "2026-11-30T20:00:01Z", "session": "a1", "turn": None, "kind": "session", "state": "opened",
}  # fmt: skip
ASKED = OPENED | {"n": 2, "at": "2026-11-30T20:00:05Z", "turn": 1, "kind": "input", "input": "prompt", "blocks": []}


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path)


def running(store: FileStore, host: Pair, *lines: dict[str, Any]) -> Record:
    """A stored session that says it runs."""
    record = Record(ID, "running", "2026-11-30T20:00:00Z", host_pid=host[0], host_identity=host[1])
    store.create(record)
    if lines:
        store.layout.journal(ID).write_bytes(b"".join(map(jsonl.dump, lines)))
    return record


def now() -> str:
    return "2026-11-30T21:00:00Z"


def journal(store: FileStore) -> list[dict[str, Any] | None]:
    return [line.value for line in jsonl.read(store.layout.journal(ID))]


def test_a_lost_session_is_failed_dated_by_its_last_sign_of_life_and_its_journal_closed(
    store: FileStore, dead: Pair
) -> None:
    record = running(store, dead, OPENED, ASKED)
    store.layout.worktree(ID).mkdir(parents=True)

    found = reconcile(store, record, now)

    lines = journal(store)
    assert found == store.get(ID)
    assert (found.status, found.reason, found.finished_at, found.duration_ms, found.exit_code) == (
        "failed", REASON, "2026-11-30T20:00:05Z", 5000, None,
    )  # fmt: skip
    assert lines[:2] == [OPENED, ASKED]
    assert lines[2:] == [
        OPENED | {"n": 3, "at": now(), "state": "lost", "record": {
            "status": "failed", "reason": REASON, "finished_at": "2026-11-30T20:00:05Z", "duration_ms": 5000,
        }},
    ]  # fmt: skip
    schema("observation").validate(lines[2])
    assert store.layout.worktree(ID).is_dir()


def test_what_is_put_right_once_is_not_touched_again(store: FileStore, dead: Pair) -> None:
    first = reconcile(store, running(store, dead, OPENED), now)

    second = reconcile(store, store.get(ID), lambda: "2026-11-30T22:00:00Z")

    assert second == first
    assert len(journal(store)) == 2


def test_a_session_whose_gzia_lives_is_believed_even_if_its_agent_is_gone(
    store: FileStore, process: Callable[[], Pair], dead: Pair
) -> None:
    running(store, process(), OPENED)

    def agent_died(record: Record) -> None:
        record.pid, record.pid_identity = dead

    record = store.update(ID, agent_died)

    assert reconcile(store, record, now) == record == store.get(ID)
    assert journal(store) == [OPENED]


def test_a_reader_that_saw_an_old_record_changes_nothing_that_went_on(
    store: FileStore, dead: Pair, process: Callable[[], Pair]
) -> None:
    old = running(store, dead, OPENED)
    store.update(ID, lambda record: record.begin(*process()))

    found = reconcile(store, old, now)

    assert found == store.get(ID)
    assert found.status == "running"
    assert journal(store) == [OPENED]


def test_killed_between_journal_and_record_the_closing_line_is_not_written_twice(store: FileStore, dead: Pair) -> None:
    closing = OPENED | {"n": 2, "state": "lost"}
    record = running(store, dead, OPENED, closing)

    found = reconcile(store, record, now)

    assert found.status == "failed"
    assert journal(store) == [OPENED, closing]


def test_a_journal_that_the_crash_tore_is_mended_and_closed(store: FileStore, dead: Pair) -> None:
    record = running(store, dead, OPENED)
    with store.layout.journal(ID).open("ab") as file:
        file.write(b'{"v":1,"n":2,"text":"caf\xc3')

    reconcile(store, record, now)

    assert [line and line["n"] for line in journal(store)] == [1, 2]
    assert jsonl.damaged_path(store.layout.journal(ID)).read_bytes() == b'{"v":1,"n":2,"text":"caf\xc3\n'


def test_without_a_journal_none_is_made_and_the_end_is_now(store: FileStore, dead: Pair) -> None:
    found = reconcile(store, running(store, dead), now)

    assert (found.status, found.finished_at, found.duration_ms) == ("failed", now(), 3_600_000)
    assert not store.layout.journal(ID).exists()


@pytest.mark.parametrize("at", [None, 7, "soon", "2026-11-30T20:00:01", "2001-01-01T00:00:00Z"])
def test_a_journal_that_tells_no_believable_time_does_not_date_the_end(store: FileStore, dead: Pair, at: Any) -> None:
    found = reconcile(store, running(store, dead, OPENED | {"at": at}), now)

    assert found.finished_at == now()


def test_where_nothing_can_be_written_the_truth_is_told_all_the_same(nobodys: FileStore, dead: Pair) -> None:
    record = running(nobodys, dead, OPENED)
    nobodys.layout.sessions.chmod(0o500)

    found = reconcile(nobodys, record, now)

    nobodys.layout.sessions.chmod(0o700)
    assert (found.status, found.reason, found.finished_at) == ("failed", REASON, now())
    assert nobodys.get(ID).status == "running"


LIST = """
import sys
from pathlib import Path
from gzia.session.service import Service
service = Service(Path(sys.argv[1]))
sys.stdin.readline()
print(*{record.status for record in service.list().records})
"""


def test_of_readers_at_once_one_closes_the_journal(store: FileStore, dead: Pair) -> None:
    names = [ids.parse(f"s{k}") for k in range(20)]
    for id in names:
        store.create(Record(id, "running", "2026-11-30T20:00:00Z", host_pid=dead[0], host_identity=dead[1]))
        store.layout.journal(id).write_bytes(jsonl.dump(OPENED))
    command = [sys.executable, "-c", LIST, str(store.layout.root)]
    readers = [subprocess.Popen(command, cwd=ROOT, text=True, stdin=-1, stdout=-1) for _ in range(3)]

    said = [reader.communicate("go\n", timeout=60)[0] for reader in readers]

    assert said == ["failed\n"] * 3
    for id in names:
        states = [line.value and line.value["state"] for line in jsonl.read(store.layout.journal(id))]
        assert states == ["opened", "lost"]
