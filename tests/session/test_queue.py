"""Turns that wait: how many, in which order, what is written when, and what a crash leaves of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gzia.driver.observation import PromptAnswered
from gzia.errors import ConflictError, GziaError
from gzia.session import ledger
from gzia.session.conversation import Cancelled
from gzia.session.queue import LIMIT
from gzia.session.service import Service
from tests.session import live
from tests.session.fake import Mute, Stage, played, soon
from tests.session.live import ID, say

ASKED, STARTED, ENDED = "input prompt", "turn started", "prompt"


def test_a_turn_that_starts_at_once_says_so_in_the_write_of_its_input(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a")
        return stage.writes, stage.agent.texts

    assert played(tmp_path, work) == ([((ASKED, STARTED), True)], ["a"])


def test_a_turn_that_waits_says_that_it_starts_before_its_frame_leaves(tmp_path: Path) -> None:
    class Looking(Mute):
        def prompt(self, turn: Any) -> None:
            super().prompt(turn)
            seen.append([(line["kind"], line["turn"]) for line in live.lines(tmp_path)][-1])

    seen: list[Any] = []

    async def work(stage: Stage) -> Any:
        stage.asks("a", "b")
        stage.agents[0].answers()
        await soon()
        return stage.writes

    writes = played(tmp_path, work, kind=Looking)

    assert writes == [((ASKED, STARTED), True), ((ASKED,), True), ((ENDED,), True), ((STARTED,), True)]
    assert seen == [("turn", 1), ("turn", 2)]


def test_one_more_than_the_queue_holds_is_refused_and_leaves_no_trace(tmp_path: Path) -> None:
    async def work(stage: Stage) -> tuple[int, ...]:
        stage.asks(*"x" * (1 + LIMIT))
        n = stage.journal.n
        with pytest.raises(ConflictError, match="64 turns") as caught:
            stage.asks("too much")
        assert (caught.value.code, stage.journal.n) == ("queue-full", n)
        stage.agent.answers()
        stage.asks("now it fits")
        return stage.conversation.waiting

    assert played(tmp_path, work) == tuple(range(3, 3 + LIMIT))


def test_between_two_turns_the_session_is_never_completed(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        seen = []
        stage.asks("a", "b")
        for _ in range(2):
            stage.agent.answers()
            seen.append((stage.record().status, stage.conversation.state))
            await soon()
        return seen, stage.store.statuses

    seen, statuses = played(tmp_path, work)

    assert seen == [("running", "working"), ("completed", "idle")]
    assert statuses == ["running"] * (len(statuses) - 2) + ["completed"] * 2  # the last is the closing


def test_a_cancel_says_what_it_stops_and_each_gets_its_line(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        ends = stage.asks("a", "b", "c")
        stage.journal.writes.clear()
        cancelled = stage.conversation.cancel()
        writes = stage.writes
        stage.agent.answers("cancelled")
        await soon()
        return cancelled, writes, [(await end).stop_reason for end in ends], stage.agent.texts

    cancelled, writes, reasons, texts = played(tmp_path, work)

    assert cancelled == Cancelled(1, (2, 3))
    assert writes == [(("input cancel", ENDED, ENDED), True)]
    assert (reasons, texts) == (["cancelled"] * 3, ["a"])
    assert [(line["turn"], line["write_admitted"]) for line in live.lines(tmp_path, "prompt")] == [
        (2, False), (3, False), (1, True),
    ]  # fmt: skip
    assert [event for event in live.events(tmp_path) if event[0] == "turn"].count(("turn", "FINISH", "FAILED")) == 3


def test_a_cancel_between_two_turns_stops_the_one_that_is_next(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        ends = stage.asks("a", "b")
        stage.agent.answers()
        cancelled = stage.conversation.cancel()
        return cancelled, [(await end).stop_reason for end in ends], stage.agent.texts, stage.record().status

    assert played(tmp_path, work) == (Cancelled(2), ["end_turn", "cancelled"], ["a"], "completed")


def test_a_cancel_with_nothing_to_stop_does_nothing(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        return stage.conversation.cancel(), stage.writes, stage.agent.cancels

    assert played(tmp_path, work) == (Cancelled(None, ()), [], 0)


def test_a_turn_that_its_agent_has_answered_can_no_longer_be_cancelled(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        ended = stage.conversation.prompt(say())
        stage.agent.is_done()
        cancelled = stage.conversation.cancel()
        stage.agent.answers()
        return cancelled, (await ended).stop_reason, stage.agent.cancels

    assert played(tmp_path, work) == (Cancelled(None, ()), "end_turn", 0)


def test_a_turn_that_never_ran_is_not_blamed_for_what_was_refused_before_it(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        ends = stage.asks("a", "b")
        stage.agent.asks(7)
        stage.agent.answers()
        stage.conversation.cancel()
        return [(await end).refused for end in ends]

    assert played(tmp_path, work) == [("Write",), ()]


def test_what_is_said_after_the_answer_belongs_to_no_turn(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        ended = stage.conversation.prompt(say())
        stage.agent.hears(stage.agent.said("in"), PromptAnswered(), stage.agent.said("late"))
        stage.agent.says("later")
        stage.agent.answers()
        return (await ended).message

    assert played(tmp_path, work) == "in"
    assert [line["turn"] for line in live.lines(tmp_path, "update")] == [1, None, None]


def test_an_agent_that_dies_takes_its_turn_with_it_and_the_next_one_gets_a_new_process(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        first, second = stage.asks("a", "b")
        stage.agent.die()
        status = stage.record().status, stage.record().pid
        end = await first
        await stage.journal.beyond(stage.journal.n)
        await soon()
        await soon()
        stage.agent.answers()
        return end.error and end.error.code, status, (await second).stop_reason, [one.texts for one in stage.agents]

    assert played(tmp_path, work) == ("agent-exited", ("running", None), "end_turn", [["a"], ["b"]])


# -- after a crash ---------------------------------------------------------------------------------------------------


def crashed(where: Path) -> None:
    """A session whose gzia went away in its first turn, while two others waited."""

    async def work(stage: Stage) -> None:
        stage.asks("a", "b", "c")

    played(where, work, crash=True)


def owed(where: Path) -> tuple[tuple[int, ...], tuple[int, ...]]:
    found = ledger.read(where / f".harness/sessions/{ID}.journal.jsonl")
    return tuple(one.turn for one in found.waiting), found.unanswered


def test_after_a_crash_the_ledger_tells_who_waits_and_who_was_never_answered(tmp_path: Path) -> None:
    crashed(tmp_path)

    assert owed(tmp_path) == ((2, 3), (1,))


def test_after_a_crash_nothing_runs_by_itself_and_an_ordinary_prompt_leaves_the_others_waiting(tmp_path: Path) -> None:
    crashed(tmp_path)

    async def work(stage: Stage) -> Any:
        end = stage.conversation.prompt(say("d"))
        stage.agent.answers()
        await soon()
        return (await end).number, stage.conversation.held, stage.conversation.waiting, stage.agent.texts

    assert played(tmp_path, work) == (4, (2, 3), (), ["d"])
    assert owed(tmp_path) == ((2, 3), (1,))


def test_a_resume_runs_what_waited_before_its_own_prompt_and_never_what_was_started(tmp_path: Path) -> None:
    crashed(tmp_path)

    async def work(stage: Stage) -> Any:
        ends = [*stage.conversation.resume_queue(), stage.conversation.prompt(say("d"))]
        for _ in ends:
            await soon()
            stage.agent.answers()
        return [(await end).number for end in ends], stage.agent.texts, stage.conversation.held

    assert played(tmp_path, work) == ([2, 3, 4], ["b", "c", "d"], ())
    assert owed(tmp_path) == ((), (1,))


def test_held_turns_go_before_those_that_were_asked_since(tmp_path: Path) -> None:
    crashed(tmp_path)

    async def work(stage: Stage) -> Any:
        stage.asks("d", "e")
        return len(stage.conversation.resume_queue()), stage.conversation.waiting, stage.agent.texts

    assert played(tmp_path, work) == (2, (2, 3, 5), ["d"])


def test_a_second_crash_loses_and_doubles_nothing(tmp_path: Path) -> None:
    crashed(tmp_path)

    async def work(stage: Stage) -> list[str]:
        stage.conversation.resume_queue()
        stage.asks("d")
        return stage.agent.texts

    assert played(tmp_path, work, crash=True) == ["b"]
    assert owed(tmp_path) == ((3, 4), (1, 2))


def test_a_cancel_drops_held_turns_too(tmp_path: Path) -> None:
    crashed(tmp_path)

    async def work(stage: Stage) -> Any:
        return stage.conversation.cancel(), stage.conversation.held

    assert played(tmp_path, work) == (Cancelled(None, (2, 3)), ())
    assert owed(tmp_path) == ((), (1,))


def test_the_turns_that_a_dead_session_left_waiting_can_be_dropped_once(tmp_path: Path) -> None:
    crashed(tmp_path)
    service = Service(tmp_path)

    assert (service.drop_queue(ID), service.drop_queue(ID)) == ((2, 3), ())
    assert owed(tmp_path) == ((), (1,))
    assert [line["n"] for line in live.lines(tmp_path)] == list(range(1, len(live.lines(tmp_path)) + 1))


def test_the_queue_of_an_open_session_is_not_dropped_behind_its_back(tmp_path: Path) -> None:
    crashed(tmp_path)
    Service(tmp_path).claim(ID)

    with pytest.raises(ConflictError) as caught:
        Service(tmp_path).drop_queue(ID)

    assert (caught.value.code, owed(tmp_path)) == ("session-running", ((2, 3), (1,)))


def test_a_full_queue_of_held_turns_does_not_forbid_a_turn_that_runs_at_once(tmp_path: Path) -> None:
    async def fill(stage: Stage) -> None:
        stage.asks(*"x" * (1 + LIMIT))

    async def work(stage: Stage) -> list[str]:
        stage.asks("at once")
        with pytest.raises(ConflictError, match="64 turns"):
            stage.asks("too much")
        return stage.agent.texts

    played(tmp_path, fill, crash=True)

    assert played(tmp_path, work) == ["at once"]


def test_closing_cancels_what_waits_and_begins_nothing_more(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        ends = stage.asks("a", "b")
        await stage.conversation.close()
        with pytest.raises(GziaError, match="being closed"):
            stage.asks("x")
        with pytest.raises(GziaError, match="being closed"):
            list(stage.conversation.resume_queue())
        return [(await end).stop_reason for end in ends], stage.agent.texts

    assert played(tmp_path, work) == (["cancelled", "cancelled"], ["a"])
    assert owed(tmp_path) == ((), ())


def test_numbers_of_order_never_go_down_where_gzia_counts_on_by_itself(tmp_path: Path) -> None:
    tool = {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "x"}

    async def work(stage: Stage) -> None:
        ends = stage.asks(*"abcdef")
        stage.agent.hears(stage.agent.said("x"), stage.agent.update({"kind": "tool_use", "id": "t1"}, tool))
        stage.conversation.cancel()
        stage.agent.answers("cancelled")
        ends.append(stage.conversation.prompt(say("d")))
        stage.agent.hears(stage.agent.said("y"), stage.agent.answered())
        for end in ends:
            await end

    played(tmp_path, work)

    path = tmp_path / f".harness/sessions/{ID}.journal.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    orders = [line["order_sequence"] for line in lines if "order_sequence" in line]
    assert orders == sorted(orders)
    assert len(orders) == 11
