"""The lane of an ACP agent over real pipes: what each answer and each moment makes of a steer, and what a pipe adds."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from gzia.driver.agent import Steerer
from gzia.driver.errors import SteerAdmissionError
from gzia.driver.lane import LIMIT
from gzia.driver.observation import (
    Lost,
    PromptObservation,
    Question,
    SteerObservation,
    Unreadable,
    UpdateObservation,
)
from gzia.driver.steer import SteerOutcome, SteerRequest
from gzia.system.process import PIPE_BYTES
from gzia.transports.acp import AcpAgent
from tests.transports.hearing import (
    END,
    GO,
    OVER,
    STEERING,
    UNTIL_OVER,
    Hearer,
    Json,
    begin,
    methods,
    move,
    play,
    received,
    text,
)

INJECTED, FALLBACK = SteerOutcome.INJECTED, SteerOutcome.FALLBACK_REQUIRED
UNSUPPORTED, UNKNOWN = SteerOutcome.UNSUPPORTED, SteerOutcome.DELIVERY_UNKNOWN
SAYS_YES: Json = {"result": {"outcome": "injected"}}


def test_an_acp_agent_is_a_steerer(tmp_path: Path) -> None:
    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        assert isinstance(agent, Steerer)
        assert agent.facts.steering == "acp"

    play(tmp_path, {}, work)


def test_a_steer_in_one_burst_with_its_prompt_is_told_before_the_end_of_the_turn(tmp_path: Path) -> None:
    script = {
        "session/prompt": [{"wait": "_session/steering"}, {"after": 0.01}, {"say": "blue"}, END],
        "_session/steering": [{"result": {"outcome": "injected"}}],
    }

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("a", text())
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.kinds()[:3] == ["SteerObservation", "UpdateObservation", "PromptObservation"]
    assert hearer.outcomes() == [("a", INJECTED)]


def test_updates_in_the_grace_come_between_the_answer_and_the_end_of_the_turn(tmp_path: Path) -> None:
    script = {
        "session/prompt": [{"wait": "_session/steering"}, END, {"say": "late"}],
        "_session/steering": [],
    }

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("a", text())
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.kinds()[:4] == ["PromptAnswered", "UpdateObservation", "SteerObservation", "PromptObservation"]
    assert hearer.outcomes() == [("a", UNKNOWN)]
    ordered = (SteerObservation, UpdateObservation, PromptObservation)
    orders = [one.order_sequence for one in hearer.all if isinstance(one, ordered)]
    assert orders == sorted(orders)


def test_half_a_frame_in_the_pipe_of_a_process_that_ends_was_never_delivered(tmp_path: Path) -> None:
    script = {"session/prompt": [{"say": "busy"}, {"freeze": True}]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(UpdateObservation)
        agent.steer("half", text("x" * 4 * PIPE_BYTES))
        agent.steer("behind", text())
        assert agent.process.stdin.pending > 0
        await agent.process.end(0)
        await hearer.first(Lost)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("half", FALLBACK), ("behind", FALLBACK)]
    assert not any(one.result.write_admitted for one in hearer.all if isinstance(one, SteerObservation))
    assert isinstance(hearer.all[-1], Lost)


def test_a_whole_frame_in_the_pipe_of_a_process_that_ends_may_have_been_read(tmp_path: Path) -> None:
    script = {"session/prompt": [{"say": "busy"}, {"freeze": True}]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(UpdateObservation)
        agent.steer("whole", text())
        await agent.process.end(0)
        await hearer.first(Lost)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("whole", UNKNOWN)]


def test_what_waits_behind_a_busy_pipe_can_be_taken_back(tmp_path: Path) -> None:
    script = {"session/prompt": [{"say": "busy"}, {"freeze": True}]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(UpdateObservation)
        agent.steer("half", text("x" * 4 * PIPE_BYTES))
        agent.steer("behind", text())
        assert not agent.withdraw("half")
        assert agent.withdraw("behind")
        await hearer.first(SteerObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes()[0] == ("behind", FALLBACK)


def test_a_steer_with_what_the_agent_does_not_take_is_not_tried(tmp_path: Path) -> None:
    script = {"session/prompt": [{"say": "busy"}, {"wait": "_session/steering"}, END]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("picture", SteerRequest([{"type": "image", "data": "", "mimeType": "image/png"}]))
        await hearer.first(SteerObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("picture", UNSUPPORTED)]


def test_STE_01_a_turn_that_nobody_owns_can_be_cancelled(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = {
        "session/prompt": [{"wait": "_session/steering"}, END],
        "_session/steering": [{"result": {"outcome": "startedNewTurn"}}, {"say": "on my own"}],
        "session/cancel": [{"say": "stopped"}],
    }

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("a", text())
        await hearer.first(PromptObservation)
        agent.cancel()
        await hearer.first(SteerObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("a", SteerOutcome.DELIVERED_UNTRACKABLE)]
    assert '"session/cancel"' in log.read_text()


@pytest.mark.parametrize("method", ["_vendor/drainMessages", "craft/drainMidTurnQueue"])
def test_STE_03_a_request_that_nobody_knows_reaches_whoever_has_the_session(tmp_path: Path, method: str) -> None:
    script = {"session/prompt": [{"request": method, "params": {"sessionId": "$session"}, "id": "d1"}, END]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        question = await hearer.first(Question)
        agent.refuse(question.key, -32601, "no client offers it")  # as a session without a taker does, at once
        await hearer.first(PromptObservation)

    play(tmp_path, script, work)

    [answer] = [frame for frame in received(tmp_path) if "method" not in frame]
    assert (answer["id"], answer["error"]["code"]) == ("d1", -32601)


def test_STE_03_a_request_without_the_mark_of_an_extension_is_answered_at_once(tmp_path: Path) -> None:
    script = {"session/prompt": [{"request": "vendor/drainMessages", "id": "d1"}, END]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work)

    [answer] = [frame for frame in received(tmp_path) if "method" not in frame]
    assert (answer["id"], answer["error"]["code"]) == ("d1", -32601)
    assert not hearer.of(Question)


# -- what the agent answers ------------------------------------------------------------------------------------------


def error(code: int) -> Json:
    return {"error": {"code": code, "message": "no"}}


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (SAYS_YES, INJECTED),
        ({"result": {"outcome": "promptRequired", "reason": "noRunningTurn"}}, FALLBACK),
        ({"result": {"outcome": "failed"}}, FALLBACK),
        (error(-32601), FALLBACK),
        (error(-32602), FALLBACK),
        (error(-32600), UNKNOWN),
        (error(-32603), UNKNOWN),
        (error(-32002), UNKNOWN),
        ({"result": {"outcome": "startedNewTurn"}}, SteerOutcome.DELIVERED_UNTRACKABLE),
        ({"result": {"outcome": "Injected"}}, UNKNOWN),
        ({"result": {"outcome": True}}, UNKNOWN),
        ({"result": {}}, UNKNOWN),
        ({"result": None}, UNKNOWN),
        ({"result": "injected"}, UNKNOWN),
        ({"frame": {"jsonrpc": "2.0", "id": "$id"}}, UNKNOWN),
    ],
)
def test_an_answer_makes_one_outcome_and_says_whether_the_next_may_go(
    tmp_path: Path, answer: Json, outcome: SteerOutcome
) -> None:
    script = {"session/prompt": UNTIL_OVER, STEERING: [[answer], [SAYS_YES]]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("a", text())
        await hearer.first(SteerObservation)
        agent.steer("b", text())
        await hearer.first(SteerObservation, 2)
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work)

    first, second = hearer.results()["a"], hearer.results()["b"]
    assert (first.outcome, first.write_admitted, first.response_sequence) == (
        outcome,
        True,
        3,
    )  # after the two of the handshake
    assert second.outcome == (UNSUPPORTED if outcome.ends_steering else INJECTED)
    assert methods(tmp_path).count(STEERING) == 2 - outcome.ends_steering
    assert hearer.kinds()[-1] == "PromptObservation"


def test_no_answer_in_time_is_unknown_and_a_late_one_changes_nothing(tmp_path: Path) -> None:
    script = {"session/prompt": UNTIL_OVER, STEERING: [{"wait": GO}, SAYS_YES]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("a", text())
        agent.steer("b", text())
        await hearer.first(SteerObservation, 2)
        await move(agent)
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("a", UNKNOWN), ("b", FALLBACK)]
    assert hearer.results()["a"][2:5] == (True, 0, 0)
    assert methods(tmp_path) == ["session/prompt", STEERING]


def test_an_answer_that_comes_twice_counts_once(tmp_path: Path) -> None:
    twice = [{"frame": {"jsonrpc": "2.0", "id": "$id", **SAYS_YES}}, {"result": {"outcome": "failed"}}]
    script = {"session/prompt": UNTIL_OVER, STEERING: twice}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("a", text())
        await hearer.first(Unreadable)
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("a", INJECTED)]


# -- order and number ------------------------------------------------------------------------------------------------


def test_steers_go_one_after_the_other_in_their_order(tmp_path: Path) -> None:
    script = {"session/prompt": UNTIL_OVER, STEERING: [{"say": "here it is"}, {"wait": GO}, SAYS_YES]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        for name in ("a", "b", "c"):
            agent.steer(name, text(name))
        for count in (1, 2, 3):
            await hearer.first(UpdateObservation, count)
            assert len(hearer.of(SteerObservation)) == count - 1
            await move(agent)
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("a", INJECTED), ("b", INJECTED), ("c", INJECTED)]
    assert [frame["params"]["prompt"][0]["text"] for frame in received(tmp_path)[1:]] == ["a", "b", "c"]
    told = [one for one in hearer.all if isinstance(one, UpdateObservation | SteerObservation | PromptObservation)]
    assert [one.order_sequence for one in told] == sorted(one.order_sequence for one in told)


def test_one_steer_too_many_is_refused_and_the_others_are_each_told_once(tmp_path: Path) -> None:
    script = {"session/prompt": UNTIL_OVER, STEERING: [{"wait": GO}, SAYS_YES]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        for number in range(LIMIT):
            agent.steer(str(number), text())
        with pytest.raises(SteerAdmissionError) as caught:
            agent.steer("too many", text())
        assert caught.value.result.outcome is FALLBACK
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work)

    assert set(hearer.results()) == set(map(str, range(LIMIT)))
    assert [outcome for _, outcome in hearer.outcomes()].count(FALLBACK) == LIMIT - 1
    assert methods(tmp_path) == ["session/prompt", STEERING]


# -- the turn --------------------------------------------------------------------------------------------------------


def test_without_a_turn_nothing_is_sent(tmp_path: Path) -> None:
    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        agent.steer("before", text())
        await hearer.first(SteerObservation)
        begin(agent)
        await hearer.first(PromptObservation)
        agent.steer("after", text())
        await hearer.first(SteerObservation, 2)

    hearer = play(tmp_path, {}, work)

    assert hearer.outcomes() == [("before", UNSUPPORTED), ("after", UNSUPPORTED)]
    assert methods(tmp_path) == ["session/prompt"]


def test_an_answer_in_the_grace_counts_and_the_end_of_the_turn_is_told_after_it(tmp_path: Path) -> None:
    script = {"session/prompt": [{"wait": STEERING}, END], STEERING: [SAYS_YES]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("a", text())
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.kinds() == ["PromptAnswered", "SteerObservation", "PromptObservation"]
    assert hearer.outcomes() == [("a", INJECTED)]
    assert (hearer.results()["a"].response_sequence, hearer.of(PromptObservation)[0].receive_sequence) == (4, 3)
    assert hearer.of(PromptObservation)[0].order_sequence == 4


def test_an_answer_after_the_grace_comes_too_late_and_ends_steering(tmp_path: Path) -> None:
    script = {"session/prompt": [[{"wait": STEERING}, END], UNTIL_OVER], STEERING: [{"wait": GO}, SAYS_YES]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("a", text())
        await hearer.first(PromptObservation)
        await move(agent)
        begin(agent)
        agent.steer("b", text())
        await move(agent, OVER)
        await hearer.first(PromptObservation, 2)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("a", UNKNOWN), ("b", UNSUPPORTED)]
    assert methods(tmp_path).count(STEERING) == 1


def test_a_cancel_stops_the_lane_and_what_was_with_the_agent_keeps_its_answer(tmp_path: Path) -> None:
    script = {
        "session/prompt": [{"wait": "never"}],
        "session/cancel": [{"wait": OVER}, {"result": {"stopReason": "cancelled"}}],
        STEERING: [{"say": "got it"}, {"wait": GO}, SAYS_YES],
    }

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("with the agent", text())
        agent.steer("waiting", text())
        await hearer.first(UpdateObservation)
        agent.cancel()
        agent.steer("after", text())
        await move(agent)
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("waiting", FALLBACK), ("after", UNSUPPORTED), ("with the agent", INJECTED)]
    assert methods(tmp_path) == ["session/prompt", STEERING, "session/cancel"]


def test_what_was_with_the_agent_when_it_ends_is_told_before_it_is_lost(tmp_path: Path) -> None:
    script = {"session/prompt": [{"wait": STEERING}, {"exit": 3}], STEERING: []}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("with the agent", text())
        agent.steer("waiting", text())
        await hearer.first(Lost)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("with the agent", UNKNOWN), ("waiting", FALLBACK)]
    assert hearer.kinds()[-1] == "Lost"


# -- the pipe --------------------------------------------------------------------------------------------------------


def test_what_waited_for_a_pipe_that_was_full_goes_when_there_is_room(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    script = {"session/prompt": [{"say": "busy"}, {"hold": str(fifo)}, *UNTIL_OVER], STEERING: [SAYS_YES]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(UpdateObservation)
        agent.steer("large", text("x" * PIPE_BYTES))
        agent.steer("behind", text())
        assert agent.process.stdin.pending > 0
        await asyncio.to_thread(fifo.write_text, "")
        await hearer.first(SteerObservation, 2)
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("large", INJECTED), ("behind", INJECTED)]
    assert methods(tmp_path) == ["session/prompt", STEERING, STEERING]


def test_a_frame_that_the_pipe_does_not_take_in_time_is_not_known_to_be_written(tmp_path: Path) -> None:
    script = {"session/prompt": [{"say": "busy"}, {"freeze": True}]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(UpdateObservation)
        agent.steer("half", text("x" * 4 * PIPE_BYTES))
        agent.steer("behind", text())
        await hearer.first(SteerObservation, 2)
        await agent.process.end(0)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("half", SteerOutcome.ADMISSION_UNKNOWN), ("behind", FALLBACK)]
    assert [tuple(result[2:5]) for result in hearer.results().values()] == [(False, 0, 0)] * 2


def test_a_steer_behind_something_else_that_the_agent_does_not_read_costs_no_knowledge(tmp_path: Path) -> None:
    script = {"session/prompt": [{"ask": []}, *UNTIL_OVER], STEERING: [SAYS_YES]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        question = await hearer.first(Question)
        stopped = agent.process.pid
        os.kill(stopped, signal.SIGSTOP)
        agent.reply(question.key, {"outcome": {"outcome": "cancelled"}, "_meta": {"fill": "x" * 4 * PIPE_BYTES}})
        agent.steer("a", text())
        assert (await hearer.first(SteerObservation)).result.outcome is FALLBACK
        os.kill(stopped, signal.SIGCONT)
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("a", FALLBACK)]
    assert not hearer.results()["a"].write_admitted
    assert STEERING not in methods(tmp_path)
