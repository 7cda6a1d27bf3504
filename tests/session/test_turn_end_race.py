"""Steers sent around the moment at which a turn ends, over real pipes: each has one fate, and it is the true one.

Real time: the agent ends its turn when its own clock says so, and what it really got is its own log.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from pathlib import Path

import pytest

from gzia.driver.steer import SteerRequest
from gzia.driver.turn import PermissionLevel
from gzia.session.conversation import Conversation, Fallback, Steered
from tests.session.live import build, lines, say
from tests.session.test_steering import DONE, HELLO

LASTS = 0.03  # seconds that a turn lasts
NEAR = 0.02  # seconds around its end
TURNS = 50  # of one process: one that was too slow to answer gets no more steers
Seen = list[tuple[Steered, str]]  # what became of a steer, and its text


async def play(conversation: Conversation, chance: random.Random) -> Seen:
    """Turns, each with a steer near its end; one that became a turn is waited for."""
    seen: Seen = []
    for number in range(TURNS):
        ended = conversation.prompt(say(f"turn {number}"))
        await asyncio.sleep(LASTS + chance.uniform(-NEAR, NEAR))
        text = f"steer {number}"
        steering = conversation.steer(SteerRequest(say(text)), fallback=Fallback.QUEUE)
        seen.append((await steering.settled, text))
        await ended
        while conversation.turn:
            await conversation.journal.beyond(conversation.journal.n)
    return seen


async def session(where: Path, seed: int) -> Seen:
    script = {
        "log": str(where / "log"), "initialize": [HELLO], "session/prompt": [{"after": LASTS}, DONE],
    }  # fmt: skip
    conversation = build(where, script, PermissionLevel.SUPERVISED)
    await conversation.open()
    try:
        return await play(conversation, random.Random(seed))
    finally:
        await conversation.close()


def received(where: Path, method: str) -> Counter[str]:
    """The texts that the agent got in requests of this method."""
    frames = [json.loads(line).get("in", {}) for line in (where / "log").read_text().splitlines()]
    return Counter(one["params"]["prompt"][0]["text"] for one in frames if one.get("method") == method)


def check(where: Path, seen: Seen) -> Counter[str]:
    """Compare what was told with what the agent got; the fates."""
    steers, prompts = received(where, "_session/steering"), received(where, "session/prompt")
    ends = {line["turn"]: line for line in lines(where, "prompt")}
    fates: Counter[str] = Counter()
    for steered, text in seen:
        outcome, result = str(steered.result.outcome), steered.result
        fate = f"{outcome}, answered" if result.response_sequence else outcome
        fates[fate] += 1
        assert steers[text] == int(result.write_admitted), (text, steered)
        assert prompts[text] == (steered.queued is not None) == result.outcome.retry_safe, (text, steered)
        if outcome == "injected":
            turn = next(line["turn"] for line in lines(where, "steer") if line["n"] == steered.n)
            assert result.response_sequence < ends[turn]["response_sequence"], (text, steered)
    assert all(line["stop_reason"] == "end_turn" for line in ends.values())
    assert len(ends) == TURNS + sum(steered.queued is not None for steered, _ in seen)
    return fates


def race(where: Path, rounds: int) -> None:
    fates: Counter[str] = Counter()
    for seed in range(rounds // TURNS):
        place = where / str(seed)
        fates += check(place, asyncio.run(session(place, seed)))
    known = {"injected, answered", "fallback_required", "fallback_required, answered", "unsupported"}
    assert fates.total() == rounds
    assert min(fates["injected, answered"], rounds - fates["injected, answered"]) >= rounds / 20, fates
    assert set(fates) <= known | {"delivery_unknown"}, fates


def test_STE_01_a_message_near_the_end_of_a_turn_is_delivered_or_queued_never_both_never_neither(
    tmp_path: Path,
) -> None:
    race(tmp_path, 100)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_STE_01_no_message_near_the_end_of_2_000_turns_is_lost_or_doubled(tmp_path: Path) -> None:
    race(tmp_path, 2000)
