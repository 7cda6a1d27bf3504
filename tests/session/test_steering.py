"""Steers over real pipes: the lane of the transport and the conversation together."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from gzia.driver.steer import SteerOutcome, SteerRequest
from gzia.session.conversation import Conversation, Fallback, Steering
from tests.session import live
from tests.session.live import say, talk, until

CAN = {"steering": {"supported": True, "idleBehaviors": ["promptRequired"]}}
HELLO = {"result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "_meta": CAN}}
DONE = {"result": {"stopReason": "end_turn"}}


def script(log: Path, outcome: str, *after: dict[str, Any]) -> dict[str, Any]:
    """An agent whose turn goes on with ``after`` and ends once its mode is set."""
    return {
        "log": str(log),
        "initialize": [HELLO],
        "session/prompt": [[{"say": "a"}, {"wait": "session/set_mode"}, *after, DONE], [{"say": "next"}, DONE]],
        "_session/steering": [{"result": {"outcome": outcome}}],
    }


def steered(where: Path, outcome: str, fallback: Fallback, *after: dict[str, Any]) -> tuple[Any, ...]:
    """What became of one steer: its outcome, the turn that it is, what its note says; and what the agent was asked."""

    async def work(conversation: Conversation) -> tuple[Any, ...]:
        ended = conversation.prompt(say("first"))
        await until(conversation, lambda line: line["kind"] == "update")
        steering = conversation.steer(SteerRequest(say("more")), fallback=fallback)
        one = await steering.settled
        await conversation.call("session/set_mode", {"modeId": "any"})
        note = await steering.noted
        await ended
        if one.queued:
            await until(conversation, lambda line: line["kind"] == "prompt" and line["turn"] == one.queued)
        return one.result.outcome, one.queued, note and note["acted"]

    told = talk(where, script(where / "log", outcome, *after), work)
    frames = [json.loads(line).get("in", {}) for line in (where / "log").read_text().splitlines()]
    return *told, [one["method"] for one in frames if one.get("method") in ("session/prompt", "_session/steering")]


def test_what_the_turn_takes_is_injected_and_noted(tmp_path: Path) -> None:
    silent = steered(tmp_path / "a", "injected", Fallback.QUEUE)
    spoke = steered(tmp_path / "b", "injected", Fallback.QUEUE, {"say": "with more", "message": "m2"})

    asked = ["session/prompt", "_session/steering"]
    assert spoke == (SteerOutcome.INJECTED, None, "yes", asked)
    assert silent == (SteerOutcome.INJECTED, None, "unlikely", asked)


def test_what_the_agent_proves_not_to_have_taken_is_the_next_turn(tmp_path: Path) -> None:
    assert steered(tmp_path, "promptRequired", Fallback.QUEUE) == (
        SteerOutcome.FALLBACK_REQUIRED, 2, None, ["session/prompt", "_session/steering", "session/prompt"],
    )  # fmt: skip
    assert [line["turn"] for line in live.lines(tmp_path, "prompt")] == [1, 2]


@pytest.mark.parametrize(
    ("word", "outcome"),
    [("who knows", SteerOutcome.DELIVERY_UNKNOWN), ("startedNewTurn", SteerOutcome.DELIVERED_UNTRACKABLE)],
)
def test_what_the_agent_may_have_is_not_sent_again(tmp_path: Path, word: str, outcome: SteerOutcome) -> None:
    assert steered(tmp_path, word, Fallback.QUEUE) == (
        outcome, None, None, ["session/prompt", "_session/steering"],
    )  # fmt: skip


def test_steers_in_one_burst_with_their_prompt_keep_their_order(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> list[Any]:
        ended = conversation.prompt(say("first"))  # no await: all of it leaves in one go
        several: list[Steering] = [conversation.steer(SteerRequest(say(text))) for text in "xyz"]
        results = [(await one.settled).result.outcome for one in several]
        await ended
        return results

    waits = [{"wait": "_session/steering"}] * 3
    with_three = {**script(tmp_path / "log", "injected"), "session/prompt": [*waits, DONE]}
    outcomes = talk(tmp_path, with_three, work)

    assert outcomes == [SteerOutcome.INJECTED] * 3
    frames = [json.loads(line).get("in", {}) for line in (tmp_path / "log").read_text().splitlines()]
    texts = [one["params"]["prompt"][0]["text"] for one in frames if "prompt" in one.get("params", {})]
    assert texts == ["first", "x", "y", "z"]


def test_an_interrupt_cancels_waits_for_the_real_end_and_goes_on(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> list[Any]:
        first = conversation.prompt(say("first"))
        second = conversation.prompt(say("second"))
        await until(conversation, lambda line: line["kind"] == "update")
        steering = conversation.steer(SteerRequest(say("urgent")), fallback=Fallback.INTERRUPT)
        ends = await asyncio.gather(first, second)
        return [end.stop_reason for end in ends] + [(await steering.settled).queued]

    told = talk(
        tmp_path,
        {
            "log": str(tmp_path / "log"),
            "session/prompt": [[{"say": "a"}, {"wait": "never"}], [{"say": "b"}, DONE]],
        },
        work,
    )

    assert told == ["cancelled", "end_turn", 3]
    assert [line["turn"] for line in live.lines(tmp_path, "prompt")] == [1, 3, 2]
    asked = [json.loads(line).get("in", {}) for line in (tmp_path / "log").read_text().splitlines()]
    methods = [one["method"] for one in asked if str(one.get("method")) in ("session/prompt", "session/cancel")]
    assert methods == ["session/prompt", "session/cancel", "session/prompt", "session/prompt"]
