"""The journal: one writer, readers by cursor, memory for those that keep up and the file for those that lag."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from gzia.session import journal as room
from gzia.session.journal import Draft, Entry, Journal, draft


def notes(count: int, size: int = 1) -> list[Draft]:
    return [draft("notice", None, {"text": "x" * size, "i": i}) for i in range(count)]


async def taken(journal: Journal, cursor: int = 0) -> list[Entry]:
    """Everything a reader gets until the journal is closed."""
    follower, found = journal.follow(cursor), list[Entry]()
    while entries := await follower.next():
        found += entries
    return found


def test_lines_are_numbered_from_one_and_go_on_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    for _ in range(2):
        journal = Journal(path, "s1")
        journal.write(notes(2))
        journal.close()

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["n"] for line in lines] == [1, 2, 3, 4]
    assert {(line["v"], line["session"], line["kind"], line["turn"]) for line in lines} == {(1, "s1", "notice", None)}


def test_a_reader_gets_history_then_what_is_new_without_gap_or_duplicate(tmp_path: Path) -> None:
    async def work() -> list[int]:
        journal = Journal(tmp_path / "j.jsonl", "s1")
        journal.write(notes(3))
        reading = asyncio.create_task(taken(journal, cursor=1))
        await asyncio.sleep(0)
        journal.write(notes(2))
        journal.close()
        return [entry.n for entry in await reading]

    assert asyncio.run(work()) == [2, 3, 4, 5]


def test_a_reader_waits_for_the_next_line(tmp_path: Path) -> None:
    async def work() -> list[int]:
        journal = Journal(tmp_path / "j.jsonl", "s1")
        follower = journal.follow()
        waiting = asyncio.create_task(follower.next())
        await asyncio.sleep(0)
        assert not waiting.done()
        journal.write(notes(1))
        found = [entry.n for entry in await waiting]
        journal.close()
        return found

    assert asyncio.run(work()) == [1]


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal that remembers next to nothing, so that readers lag."""
    monkeypatch.setattr(room, "REMEMBERED", 200)
    monkeypatch.setattr(room, "AT_ONCE", 7)
    monkeypatch.setattr(room, "INDEX_STEP", 3)


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("cursor", [0, 1, 2, 50, 98, 100])
def test_a_reader_that_lags_is_served_from_the_file(tmp_path: Path, cursor: int) -> None:
    async def work() -> list[Entry]:
        journal = Journal(tmp_path / "j.jsonl", "s1")
        for _ in range(25):
            journal.write(notes(4, size=20))
        reading = asyncio.create_task(taken(journal, cursor))
        await asyncio.sleep(0)
        journal.close()
        return await reading

    found = asyncio.run(work())

    assert [entry.n for entry in found] == list(range(cursor + 1, 101))
    assert all(json.loads(entry.line)["n"] == entry.n for entry in found)


@pytest.mark.usefixtures("forgetful")
def test_an_update_reads_the_same_from_memory_and_from_the_file(tmp_path: Path) -> None:
    raw = '{"sessionUpdate":"plan","entries":[],"text":"é\\ud800"}'
    line = Draft("update", 1, f'"event":{{"kind":"other"}},"update":{raw}', raw)

    async def work() -> list[Entry]:
        journal = Journal(tmp_path / "j.jsonl", "s1")
        journal.write([line])
        remembered = await journal.follow().next()
        journal.write(notes(100, size=20))
        journal.write(notes(100, size=20))
        read = (await journal.follow().next())[:1]
        journal.close()
        return remembered + read

    one, other = asyncio.run(work())

    assert (one.n, one.kind, one.turn, json.loads(one.body)) == (
        other.n,
        other.kind,
        other.turn,
        json.loads(other.body),
    )
    assert json.loads(one.line) == json.loads(other.line)


@pytest.mark.usefixtures("forgetful")
def test_memory_is_bounded_by_what_is_remembered(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl", "s1")

    for _ in range(200):
        journal.write(notes(1, size=50))

    assert len(journal._tail) < 10
    journal.close()


def test_a_lone_surrogate_does_not_lose_the_line(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl", "s1")

    journal.write([draft("notice", None, {"text": "a\ud800b"})])
    journal.close()

    assert json.loads((tmp_path / "j.jsonl").read_bytes())["text"] == "a\ud800b"


def test_JSO_01_numbers_go_on_after_a_torn_tail(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    journal = Journal(path, "s1")
    journal.write(notes(3))
    journal.close()
    path.write_bytes(path.read_bytes()[:-7])

    journal = Journal(path, "s1")
    journal.write(notes(1))
    journal.close()

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["n"], line["kind"]) for line in lines] == [
        (1, "notice"), (2, "notice"), (3, "notice"), (4, "session"),
    ]  # fmt: skip
    assert lines[3]["state"] == "damaged"
    kept = path.with_name(lines[3]["kept"]).read_bytes()
    assert len(kept) >= lines[3]["damage"][0]["length"] > 0
