"""What a journal leaves open, read from the journal alone."""

from __future__ import annotations

import itertools
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gzia.driver.steer import SteerOutcome
from gzia.errors import GziaError
from gzia.session import ledger
from gzia.session.conversation import Fallback
from gzia.session.journal import Journal, last_number
from gzia.session.ledger import Asked, Ledger, fold
from tests.session import live
from tests.session.fake import Stage, played, soon

BLOCKS: list[dict[str, Any]] = [{"type": "text", "text": "go"}]


def asked(turn: int, **more: Any) -> dict[str, Any]:
    return {"kind": "input", "input": "prompt", "turn": turn, "blocks": BLOCKS, **more}


def started(turn: int) -> dict[str, Any]:
    return {"kind": "turn", "state": "started", "turn": turn}


def ended(turn: int) -> dict[str, Any]:
    return {"kind": "prompt", "turn": turn, "stop_reason": "end_turn"}


def steer(steer_id: str, fallback: str) -> dict[str, Any]:
    return {"kind": "input", "input": "steer", "steer_id": steer_id, "blocks": BLOCKS, "fallback": fallback}


def test_an_empty_journal_owes_nothing() -> None:
    assert fold([]) == Ledger()


def test_asked_started_and_ended_are_three_things() -> None:
    found = fold([asked(1), started(1), ended(1), asked(2), started(2), asked(3), asked(4), ended(4)])

    assert found == Ledger(waiting=(Asked(3, tuple(BLOCKS)),), unanswered=(2,), turns=4)


def test_a_steer_is_unsettled_until_its_line_and_its_turn_keeps_its_place() -> None:
    found = fold([
        asked(1), started(1), asked(2), steer("s1", "interrupt"), {"kind": "steer", "steer_id": "s1"},
        asked(3, steer_id="s1"), steer("s2", "queue"), {"kind": "steer_note", "steer_id": "s2"},
    ])  # fmt: skip

    assert [(one.turn, one.steer_id, one.is_urgent) for one in found.waiting] == [(3, "s1", True), (2, "", False)]
    assert (found.unanswered, found.unsettled, found.steer_ids) == ((1,), ("s2",), frozenset({"s1", "s2"}))


@pytest.mark.parametrize("line", [{}, {"kind": "turn"}, {"kind": "input", "input": "prompt"}, {"kind": 7},
                                  {"kind": "prompt", "turn": None}, {"kind": "steer", "steer_id": 7}])  # fmt: skip
def test_lines_that_say_nothing_useful_are_passed_over(line: dict[str, Any]) -> None:
    assert fold([asked(1), line]) == Ledger(waiting=(Asked(1, tuple(BLOCKS)),), turns=1)


async def eventful(stage: Stage) -> None:
    """A session in which nearly everything happens."""
    agent = stage.agent
    stage.asks("a", "b", "c")
    for text, fallback in (("x", Fallback.QUEUE), ("y", Fallback.INTERRUPT)):
        stage.steers(text, fallback)
    agent.hears(agent.settled("s1", SteerOutcome.FALLBACK_REQUIRED), agent.said("one"))
    agent.settles("s2", SteerOutcome.UNSUPPORTED)
    await soon()
    agent.answers("cancelled")
    for _ in range(2):
        await soon()
        agent.answers()
    stage.steers("z")
    await soon()
    stage.conversation.cancel()
    agent.answers()


def test_wherever_a_journal_is_cut_every_turn_has_exactly_one_state(tmp_path: Path) -> None:
    played(tmp_path, eventful)
    lines = live.lines(tmp_path)

    for cut in range(len(lines) + 1):
        found, seen = fold(lines[:cut]), lines[:cut]
        turns = [line["turn"] for line in seen if line.get("input") == "prompt"]
        over = [line["turn"] for line in seen if line["kind"] == "prompt"]
        assert sorted([*(one.turn for one in found.waiting), *found.unanswered, *over]) == sorted(turns)
        given = {line["turn"] for line in seen if line["kind"] == "turn"}
        assert given.isdisjoint(one.turn for one in found.waiting)
        told = [line["steer_id"] for line in seen if line["kind"] == "steer"]
        queued = [line["steer_id"] for line in seen if line.get("input") == "prompt" and "steer_id" in line]
        assert set(queued) <= set(told)
    assert fold(lines).waiting == ()
    assert len(lines) > 20


def test_a_steer_and_its_turn_are_never_parted_by_a_crash(tmp_path: Path) -> None:
    async def work(stage: Stage) -> list[tuple[str, ...]]:
        await eventful(stage)
        return [words for words, _ in stage.journal.writes]

    writes = played(tmp_path, work)

    assert [words for words in writes if "steer" in words and "input prompt" in words] == [
        ("steer", "input prompt", "update"), ("steer", "input prompt"),
    ]  # fmt: skip


def test_the_file_is_read_as_its_lines_are_whatever_lies_between(tmp_path: Path) -> None:
    path = tmp_path / "j"
    strange = {"turn": 2, "blocks": BLOCKS, "padding": "x" * 1000, "input": "prompt", "kind": "input"}
    said = {"v": 1, "kind": "update", "update": {"text": json.dumps(asked(9))}}
    lines = [asked(1), said, strange, {"kind": "update", "update": "x" * 100_000}, started(1)]
    text = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines)
    path.write_bytes(text.encode() + b'\n{"kind":"input",torn\n\xff\n\n' + json.dumps(asked(3)).encode())

    assert ledger.read(path) == fold(lines)


def test_a_missing_journal_owes_nothing_and_one_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    assert ledger.read(tmp_path / "none") == Ledger()

    with pytest.raises(GziaError, match="cannot be read"):
        ledger.read(tmp_path)


# -- large journals --------------------------------------------------------------------------------------------------


def large(path: Path, big: int, small: int) -> None:
    """A journal of ``big`` lines of 10 MB and ``small`` short ones, in which turn 2 waits."""
    image = {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "A" * 10_000_000}}

    def lines() -> Iterator[dict[str, Any]]:
        yield from (asked(1), asked(2), started(1))
        for k in range(small):
            yield {"kind": "update", "turn": 1, "event": {"kind": "text_delta", "text": str(k)}, "update": {}}
            if k % (small // big) == 0:
                yield {"kind": "update", "turn": 1, "event": {"kind": "other"}, "update": image}

    with path.open("w") as file:
        for n, line in zip(itertools.count(1), lines(), strict=False):
            file.write(json.dumps({"v": 1, "n": n, "at": "2026-11-30T20:03:05Z", "session": "x1", **line}) + "\n")


@pytest.mark.parametrize(
    ("big", "small", "memory"), [(3, 3000, 2 << 20), pytest.param(30, 10_000, 2 << 20, marks=pytest.mark.long)]
)
def test_JSO_07_a_large_journal_is_folded_in_little_memory(tmp_path: Path, big: int, small: int, memory: int) -> None:
    large(tmp_path / "j", big, small)

    tracemalloc.start()
    found = ledger.read(tmp_path / "j")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert ([one.turn for one in found.waiting], found.unanswered) == ([2], (1,))
    assert peak < memory


def test_JSO_07_a_large_journal_is_opened_and_gone_on_with_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "j"
    large(path, 2, 100)

    tracemalloc.start()
    n = last_number(path)
    journal = Journal(path, "x1")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    journal.close()

    assert (n, journal.n) == (105, 105)
    assert peak < 2 << 20


def test_JSO_07_what_waits_in_a_large_journal_is_still_all_there(tmp_path: Path) -> None:
    async def crash(stage: Stage) -> None:
        stage.asks("a", "b" * 10_000_000)

    async def work(stage: Stage) -> list[int]:
        stage.conversation.resume_queue()
        return [len(text) for text in stage.agent.texts]

    played(tmp_path, crash, crash=True)

    assert played(tmp_path, work, crash=True) == [10_000_000]
