"""Messages into a running turn: what is written, what became of each, and what is never sent twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gzia.driver.errors import SteerAdmissionError
from gzia.driver.steer import SteerOutcome
from gzia.errors import ConflictError, GziaError
from gzia.session import ledger
from gzia.session.conversation import Cancelled, Fallback, Steered
from gzia.session.queue import LIMIT
from tests.session import live
from tests.session.fake import Mute, Stage, played, soon
from tests.session.live import ID, say

INJECTED, NOT_DELIVERED, UNSUPPORTED, UNTRACKABLE = (
    SteerOutcome.INJECTED, SteerOutcome.FALLBACK_REQUIRED, SteerOutcome.UNSUPPORTED, SteerOutcome.DELIVERED_UNTRACKABLE,
)  # fmt: skip
UNSAFE = [one for one in SteerOutcome if not one.retry_safe]
TOOL = {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Look"}
TOOL_UPDATE = {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"}


def notes(where: Path) -> list[tuple[str, str, int]]:
    return [(line["steer_id"], line["acted"], line["turn"]) for line in live.lines(where, "steer_note")]


# -- one steer -------------------------------------------------------------------------------------------------------


def test_a_steer_is_on_the_disk_before_the_agent_gets_it_and_its_line_tells_what_became_of_it(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a")
        stage.journal.writes.clear()
        steering = stage.steers("left")
        written, given = stage.writes, dict(stage.agent.steers)
        stage.agent.settles("s1", INJECTED)
        stage.agent.hears(stage.agent.said("ok"), stage.agent.answered())
        return written, given, await steering.settled, await steering.noted, stage.journal.n

    written, given, steered, note, n = played(tmp_path, work)

    assert written == [(("input steer",), True)]
    assert given == {"s1": say("left")}
    line = live.lines(tmp_path, "steer")[0]
    assert (steered.steer_id, steered.result.outcome, steered.queued, steered.n) == ("s1", INJECTED, None, line["n"])
    del line["at"]
    assert line == {
        "v": 1, "n": steered.n, "session": "x1", "turn": 1, "kind": "steer", "steer_id": "s1", "receive_sequence": 1,
        "response_sequence": 1, "order_sequence": 1, "outcome": "injected", "write_admitted": True, "reason": "",
    }  # fmt: skip
    asked = live.lines(tmp_path, "input")[1]
    assert (asked["input"], asked["turn"], asked["fallback"], asked["blocks"]) == ("steer", 1, "refuse", say("left"))
    last = live.lines(tmp_path)[n - 1]
    assert (last["kind"], last["turn"]) == ("steer_note", 1)
    assert note == {name: last[name] for name in ("steer_id", "acted", "evidence")}
    assert note == {"steer_id": "s1", "acted": "yes", "evidence": "the agent spoke after the ack, at 2"}


def test_ids_are_minted_past_those_that_were_used_also_by_an_earlier_process(tmp_path: Path) -> None:
    async def first(stage: Stage) -> list[str]:
        return [stage.steers("x", id=id).steer_id for id in ("", "s3", "mine", "")]

    async def second(stage: Stage) -> str:
        for taken in ("s1", "mine"):
            n = stage.journal.n
            with pytest.raises(ConflictError) as caught:
                stage.steers("x", id=taken)
            assert (caught.value.code, stage.journal.n) == ("steer-id-taken", n)
        return stage.steers("x").steer_id

    assert played(tmp_path, first) == ["s1", "s3", "mine", "s4"]
    assert played(tmp_path, second) == "s5"


def test_without_a_turn_or_an_agent_that_can_it_is_unsupported_in_one_write(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        idle = stage.steers("x")
        writes = stage.writes
        stage.asks("a")
        busy = stage.steers("y")
        return writes, (await idle.settled).result, (await busy.settled).result.reason, await busy.noted

    writes, idle, reason, note = played(tmp_path, work, kind=Mute)

    assert writes == [(("input steer", "steer"), True)]
    assert (idle.outcome, idle.write_admitted, idle.reason) == (UNSUPPORTED, False, "no turn is running")
    assert (reason, note) == ("this agent takes no message into a running turn", None)


def test_an_agent_that_is_gone_leaves_no_steer_without_its_outcome(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a")
        steering = stage.steers("x", Fallback.QUEUE)
        stage.agent.die()
        await soon()
        return (await steering.settled), await steering.noted, stage.conversation.waiting

    steered, note, waiting = played(tmp_path, work)

    assert (steered.result.outcome, steered.queued, note, waiting) == (SteerOutcome.ADMISSION_UNKNOWN, None, None, ())
    assert [line["kind"] for line in live.lines(tmp_path)][4:7] == ["steer", "session", "prompt"]


def test_an_outcome_is_told_once_whatever_an_agent_repeats_or_makes_up(tmp_path: Path) -> None:
    async def work(stage: Stage) -> None:
        stage.asks("a")
        stage.steers("x")
        stage.agent.hears(*(stage.agent.settled(id, INJECTED) for id in ("s1", "s1", "s7")))
        stage.agent.answers()

    played(tmp_path, work)

    assert [line["steer_id"] for line in live.lines(tmp_path, "steer")] == ["s1"]
    assert notes(tmp_path) == [("s1", "unlikely", 1)]


def test_a_steer_that_was_taken_back_becomes_nothing(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a")
        steering = stage.steers("x", Fallback.QUEUE)
        taken = stage.conversation.withdraw("s1"), stage.conversation.withdraw("s1"), stage.conversation.withdraw("no")
        return taken, (await steering.settled).result.outcome, stage.conversation.waiting

    assert played(tmp_path, work) == ((True, False, False), NOT_DELIVERED, ())


def test_after_closing_nothing_is_steered(tmp_path: Path) -> None:
    async def work(stage: Stage) -> None:
        await stage.conversation.close()
        with pytest.raises(GziaError, match="being closed"):
            stage.steers("x")

    played(tmp_path, work)


# -- fallbacks -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fallback", [Fallback.QUEUE, Fallback.INTERRUPT])
@pytest.mark.parametrize("outcome", UNSAFE)
def test_what_the_agent_may_have_is_never_sent_again(tmp_path: Path, outcome: SteerOutcome, fallback: Fallback) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a")
        steering = stage.steers("x", fallback)
        stage.agent.settles("s1", outcome)
        stage.agent.answers()
        await soon()
        return (await steering.settled).queued, stage.agent.texts, stage.agent.cancels

    assert played(tmp_path, work) == (None, ["a"], 0)


@pytest.mark.parametrize("outcome", [NOT_DELIVERED, UNSUPPORTED])
def test_queued_it_stands_with_its_outcome_in_one_write_and_runs_after_those_that_wait(
    tmp_path: Path, outcome: SteerOutcome
) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a", "b")
        steering = stage.steers("x", Fallback.QUEUE)
        stage.journal.writes.clear()
        stage.agent.settles("s1", outcome)
        writes, waiting = stage.writes, stage.conversation.waiting
        for _ in range(3):
            stage.agent.answers()
            await soon()
        return writes, waiting, (await steering.settled).queued, stage.agent.texts, stage.agent.cancels

    writes, *rest = played(tmp_path, work)

    assert writes == [(("steer", "input prompt"), True)]
    assert rest == [(2, 3), 3, ["a", "b", "x"], 0]
    assert live.lines(tmp_path, "input")[-1]["steer_id"] == "s1"


@pytest.mark.parametrize("fallback", [Fallback.QUEUE, Fallback.INTERRUPT])
def test_with_no_turn_running_it_simply_becomes_one(tmp_path: Path, fallback: Fallback) -> None:
    async def work(stage: Stage) -> Any:
        steering = stage.steers("x", fallback)
        writes, texts = stage.writes, stage.agent.texts
        await soon()
        stage.agent.answers()
        return writes, texts, (await steering.settled).queued, stage.agent.cancels

    writes, *rest = played(tmp_path, work)

    assert writes == [(("input steer", "steer", "input prompt", "turn started"), True)]
    assert rest == [["x"], 1, 0]


def test_refused_it_is_told_and_nothing_runs(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a")
        steering = stage.steers("x")
        stage.agent.settles("s1", NOT_DELIVERED)
        stage.agent.answers()
        await soon()
        return (await steering.settled).queued, stage.agent.texts

    assert played(tmp_path, work) == (None, ["a"])


def test_an_interrupt_stops_the_running_turn_only_and_goes_before_those_that_wait(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        ends = stage.asks("a", "b")
        steering = stage.steers("x", Fallback.INTERRUPT)
        stage.agent.settles("s1", NOT_DELIVERED)
        await soon()
        order, cancels, texts = stage.conversation.waiting, stage.agent.cancels, stage.agent.texts
        stage.agent.answers("cancelled")
        for _ in range(2):
            await soon()
            stage.agent.answers()
        reasons = [(await end).stop_reason for end in ends]
        return order, cancels, texts, (await steering.settled).queued, reasons, stage.agent.texts

    assert played(tmp_path, work) == ((3, 2), 1, ["a"], 3, ["cancelled", "end_turn"], ["a", "x", "b"])
    assert live.record(tmp_path).metadata["turns"] == 3
    assert live.lines(tmp_path, "prompt")[0]["turn"] == 1


def test_two_interrupts_keep_their_order(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a", "b")
        for text in "xy":
            stage.steers(text, Fallback.INTERRUPT)
        stage.agent.hears(stage.agent.settled("s1", NOT_DELIVERED), stage.agent.settled("s2", NOT_DELIVERED))
        await soon()
        return stage.conversation.waiting, stage.agent.cancels

    assert played(tmp_path, work, crash=True) == ((3, 4, 2), 1)
    found = ledger.read(tmp_path / f".harness/sessions/{ID}.journal.jsonl")
    assert [one.turn for one in found.waiting] == [3, 4, 2]


def test_a_turn_that_ended_by_itself_is_not_cancelled_by_the_steer_that_missed_it(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        ends = stage.asks("a", "b")
        stage.steers("x", Fallback.INTERRUPT)
        stage.agent.hears(stage.agent.settled("s1", NOT_DELIVERED), stage.agent.answered())
        await soon()
        return (await ends[0]).stop_reason, stage.agent.cancels, stage.agent.texts

    assert played(tmp_path, work) == ("end_turn", 0, ["a", "x"])


def test_an_interrupt_works_with_an_agent_that_cannot_be_steered(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a")
        stage.steers("x", Fallback.INTERRUPT)
        await soon()
        stage.agents[0].answers("cancelled")
        await soon()
        return stage.agents[0].cancels, stage.agents[0].texts

    assert played(tmp_path, work, kind=Mute) == (1, ["a", "x"])


def test_a_cancel_clears_what_was_not_sent_yet_too(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a")
        steering = stage.steers("x", Fallback.QUEUE)
        cancelled = stage.conversation.cancel()
        stage.agent.hears(stage.agent.settled("s1", NOT_DELIVERED), stage.agent.answered("cancelled"))
        await soon()
        return cancelled, (await steering.settled).queued, stage.agent.texts

    assert played(tmp_path, work) == (Cancelled(1), None, ["a"])


def test_a_message_that_no_queue_has_room_for_says_so(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Steered:
        stage.asks(*"x" * (1 + LIMIT))
        steering = stage.steers("x", Fallback.QUEUE)
        stage.agent.settles("s1", NOT_DELIVERED)
        return await steering.settled

    steered = played(tmp_path, work)

    assert (steered.queued, steered.error and steered.error.code) == (None, "queue-full")
    assert live.lines(tmp_path, "steer")[0]["error"]["code"] == "queue-full"


def test_a_full_lane_refuses_and_is_on_the_record(tmp_path: Path) -> None:
    async def work(stage: Stage) -> None:
        stage.asks("a")
        stage.agent.limit = 0
        with pytest.raises(SteerAdmissionError) as caught:
            stage.steers("x")
        assert caught.value.result.outcome is NOT_DELIVERED

    played(tmp_path, work)

    line = live.lines(tmp_path, "steer")[0]
    assert (line["outcome"], line["write_admitted"], line["error"]["code"]) == (
        "fallback_required", False, "steering-full",
    )  # fmt: skip


@pytest.mark.parametrize(("fallback", "cancels"), [(Fallback.QUEUE, 0), (Fallback.INTERRUPT, 1)])
def test_a_message_that_a_full_lane_did_not_take_can_be_the_next_turn(
    tmp_path: Path, fallback: Fallback, cancels: int
) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a")
        stage.agent.limit = 0
        steered = await stage.steers("x", fallback).settled
        await soon()
        return steered.queued, stage.conversation.waiting, stage.agent.cancels

    assert played(tmp_path, work) == (2, (2,), cancels)


def test_a_message_that_misses_its_turn_while_it_is_being_settled_is_the_next_one(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a")
        stage.steers("x", Fallback.QUEUE)
        stage.agent.is_done()
        late = await stage.steers("y", Fallback.QUEUE).settled
        stage.agent.hears(stage.agent.settled("s1", NOT_DELIVERED), stage.agent.answered())
        await soon()
        stage.agent.answers()
        await soon()
        return late.result.reason, stage.agent.texts

    assert played(tmp_path, work) == ("no turn is running", ["a", "y", "x"])


def test_after_a_crash_a_steer_without_an_outcome_is_told_as_that_and_not_sent(tmp_path: Path) -> None:
    async def crash(stage: Stage) -> None:
        stage.asks("a")
        stage.steers("x", Fallback.QUEUE)
        stage.steers("y", Fallback.QUEUE)
        stage.agent.settles("s2", NOT_DELIVERED)

    async def later(stage: Stage) -> Any:
        ends = stage.conversation.resume_queue()
        stage.agent.answers()
        return [(await end).number for end in ends], stage.agent.texts

    played(tmp_path, crash, crash=True)
    found = ledger.read(tmp_path / f".harness/sessions/{ID}.journal.jsonl")

    assert ([one.turn for one in found.waiting], found.unanswered, found.unsettled) == ([2], (1,), ("s1",))
    assert played(tmp_path, later) == ([2], ["y"])


# -- a disk that refuses ---------------------------------------------------------------------------------------------


def test_a_steer_that_cannot_be_written_down_is_not_sent_and_its_id_stays_free(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a")
        stage.journal.is_full = True
        for steers in ("", "x"):
            with pytest.raises(GziaError, match="disk is full"):
                stage.steers("x", id=steers)
        given = dict(stage.agent.steers)
        stage.journal.is_full = False
        return given, [stage.steers("x", id=id).steer_id for id in ("x", "")]

    assert played(tmp_path, work) == ({}, ["x", "s2"])


def test_an_idle_steer_that_cannot_be_written_down_becomes_no_turn(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.journal.is_full = True
        with pytest.raises(GziaError, match="disk is full"):
            stage.steers("x", Fallback.QUEUE)
        stage.journal.is_full = False
        stage.asks("a")
        return stage.agent.texts, stage.conversation.turn

    assert played(tmp_path, work) == (["a"], 1)


@pytest.mark.parametrize("outcome", [INJECTED, NOT_DELIVERED])
def test_an_outcome_that_cannot_be_written_down_is_told_and_nothing_is_queued(
    tmp_path: Path, outcome: SteerOutcome
) -> None:
    async def work(stage: Stage) -> Any:
        ended = stage.asks("a")[0]
        told, open_ = stage.steers("x", Fallback.QUEUE), stage.steers("y", Fallback.QUEUE)
        stage.journal.is_full = True
        stage.agent.settles("s1", outcome)
        stage.journal.is_full = False
        steered, lost = await told.settled, await open_.settled
        error = (await ended).error
        return steered, lost, await told.noted, await open_.noted, error and error.code, stage.conversation.waiting

    steered, lost, *rest = played(tmp_path, work)

    assert (steered.result.outcome, steered.queued, steered.n) == (outcome, None, 0)
    assert (lost.result.outcome, lost.queued, lost.n) == (SteerOutcome.ADMISSION_UNKNOWN, None, 0)
    assert rest == [None, None, "journal-not-writable", ()]


# -- what came of it -------------------------------------------------------------------------------------------------


def noted(where: Path, *steps: Any, stop_reason: str = "end_turn") -> str:
    """What the note says of a steer after whose acknowledgement the agent does ``steps``."""

    async def work(stage: Stage) -> str:
        stage.asks("a")
        stage.agent.hears(stage.agent.said("before"), stage.agent.update({"kind": "tool_use", "id": "t1"}, TOOL))
        steering = stage.steers("x")
        stage.agent.settles("s1", INJECTED)
        for step in steps:
            step(stage)
        if stop_reason == "cancelled":
            stage.conversation.cancel()
        stage.agent.hears(stage.agent.answered(stop_reason))
        note = await steering.noted
        assert note
        return str(note["acted"])

    return played(where, work)


def speaks(stage: Stage) -> None:
    stage.agent.says("yes")


def goes_on(stage: Stage) -> None:
    stage.agent.hears(stage.agent.update({"kind": "tool_result", "id": "t1", "status": "completed"}, TOOL_UPDATE))


def begins_another(stage: Stage) -> None:
    stage.agent.hears(stage.agent.update({"kind": "tool_use", "id": "t2"}, {**TOOL, "toolCallId": "t2"}))


def test_the_note_says_what_the_turn_showed_after_the_acknowledgement(tmp_path: Path) -> None:
    scenes: list[tuple[Any, ...]] = [(), (speaks,), (goes_on,), (begins_another,), (goes_on, speaks)]

    said = [noted(tmp_path / str(at), *steps) for at, steps in enumerate(scenes)]

    assert said == ["unlikely", "yes", "unlikely", "yes", "yes"]


def test_after_a_cancel_or_another_stop_nothing_is_known(tmp_path: Path) -> None:
    cancelled = noted(tmp_path / "a", speaks, stop_reason="cancelled")
    refused = noted(tmp_path / "b", stop_reason="refusal")

    assert (cancelled, refused) == ("unknown", "unknown")


def test_each_steer_is_judged_by_what_came_after_its_own_acknowledgement(tmp_path: Path) -> None:
    async def work(stage: Stage) -> None:
        stage.asks("a", "b")
        agent = stage.agent
        for text in "xy":
            stage.steers(text)
        agent.hears(agent.settled("s1", INJECTED), agent.said("ok"), agent.settled("s2", INJECTED), agent.answered())
        await soon()
        agent.hears(agent.said("of the next turn"), agent.answered())

    played(tmp_path, work)

    assert notes(tmp_path) == [("s1", "yes", 1), ("s2", "unlikely", 1)]
    kinds = [line["kind"] for line in live.lines(tmp_path)]
    assert kinds[kinds.index("prompt") :][:3] == ["prompt", "steer_note", "steer_note"]


def test_what_is_said_after_the_prompt_was_answered_proves_nothing(tmp_path: Path) -> None:
    async def work(stage: Stage) -> None:
        stage.asks("a")
        stage.steers("x")
        stage.agent.is_done()
        stage.agent.hears(stage.agent.settled("s1", INJECTED), stage.agent.said("late"), stage.agent.answered())

    played(tmp_path, work)

    assert notes(tmp_path) == [("s1", "unlikely", 1)]


def test_an_acknowledgement_that_comes_after_its_turn_is_noted_as_unknown(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a", "b")
        steering = stage.steers("x")
        stage.agent.answers()
        await soon()
        stage.agent.settles("s1", INJECTED)
        return await steering.noted

    assert played(tmp_path, work)["acted"] == "unknown"


# -- a turn that nobody owns -----------------------------------------------------------------------------------------


def test_STE_01_a_turn_that_the_agent_began_by_itself_is_seen_can_be_cancelled_and_has_an_end(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a")
        stage.steers("x")
        stage.agent.hears(stage.agent.settled("s1", UNTRACKABLE), stage.agent.answered())
        stage.agent.says("by myself")
        cancelled = stage.conversation.cancel(), stage.conversation.cancel()
        return cancelled, stage.agent.cancels

    assert played(tmp_path, work) == ((Cancelled(), Cancelled()), 1)
    assert [line["turn"] for line in live.lines(tmp_path, "update")] == [None]
    states = [(line["state"], line.get("stop_reason")) for line in live.lines(tmp_path, "session")]
    assert states[1:3] == [("untracked-turn", None), ("untracked-turn-ended", "cancelled")]


def test_STE_01_such_a_turn_ends_with_its_agent(tmp_path: Path) -> None:
    async def work(stage: Stage) -> None:
        stage.asks("a")
        stage.steers("x")
        stage.agent.hears(stage.agent.settled("s1", UNTRACKABLE), stage.agent.answered())

    played(tmp_path, work)

    states = [(line["state"], line.get("stop_reason")) for line in live.lines(tmp_path, "session")]
    assert states[1:3] == [("untracked-turn", None), ("untracked-turn-ended", "")]
