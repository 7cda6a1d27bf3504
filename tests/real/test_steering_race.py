"""Steers at the end of a turn and around a cancel, with real agents: what is told of them against what the model got.

``GZIA_ROUNDS`` is the number of rounds; all rounds of one test are turns of one session.
"""

from __future__ import annotations

import random
import re
import time

import pytest

from tests.real import lab
from tests.real.conftest import Make
from tests.real.script import Line, Script, at, is_kind, is_settled, is_update, script, wait_until

pytestmark = [pytest.mark.real, pytest.mark.timeout(900 + 10 * lab.ROUNDS)]

THAT_TAKE = pytest.mark.parametrize("agent", ["claude", "codex", "opencode"])
TALK = "{{slow 6 0.02}}"
STEP = 0.004  # seconds: the aim follows the turn's real end, where half of the steers come too late
RETRY_SAFE = ("fallback_required", "unsupported")


def text_of(number: int) -> str:
    return f"note-{number}-end"


def began(session: Script) -> float:
    """Begin a turn; when its first word came, on the monotonic clock."""
    session.say({"prompt": TALK})
    session.until(is_update("agent_message_chunk"))
    return time.monotonic()


def lasted(session: Script) -> float:
    """Seconds from the first word of the last turn to its end."""
    end = session.of("prompt")[-1]
    return at(end) - at(next(filter(is_update("agent_message_chunk"), session.of("update", turn=end["turn"]))))


def settle(session: Script, number: int) -> Line:
    """Read to the end of the turn and of the steer; its line."""
    session.until(is_kind("prompt"), is_settled(f"steer-{number}"))
    return session.only("steer", steer_id=f"steer-{number}")


def retry(session: Script, number: int, line: Line) -> None:
    """Send again what may be sent again."""
    if line["outcome"] in RETRY_SAFE:
        session.turn(text_of(number))


def judged(session: Script) -> dict[str, int]:
    """How many steers there were of each sort; fails where what was told is not true."""
    first: dict[str, float] = {}
    for request in session.world.requests():
        said = "\n".join(text for role, text in request["messages"] if role == "user")
        for text in re.findall(r"note-\d+-end", said):
            first.setdefault(text, request["t"])
    ends = {line["turn"]: at(line) for line in session.of("prompt")}
    acted = {line["steer_id"]: line["acted"] for line in session.of("steer_note")}
    sorts: dict[str, int] = {}
    for line in session.of("steer"):
        text = text_of(int(line["steer_id"].removeprefix("steer-")))
        received = first.get(text)
        is_good = received is not None and line["turn"] is not None and received <= ends[line["turn"]] + 0.001
        if line["outcome"] in RETRY_SAFE:
            again = next(one for one in session.of("input", input="prompt") if one["blocks"][0]["text"] == text)
            assert received is None or received >= at(again) - 0.001, line
            sort = line["outcome"]
        else:
            assert line["outcome"] != "injected" or line["steer_id"] in acted, line
            sort = f"{line['outcome']}, acted {acted.get(line['steer_id'])}, {'' if is_good else 'not '}received"
        sorts[sort] = sorts.get(sort, 0) + 1
    return sorts


def check(sorts: dict[str, int]) -> None:
    """The two promises of the notes."""
    good = sum(count for sort, count in sorts.items() if sort.startswith("injected") and sort.endswith(", received"))
    print(sorts)
    assert sorts.get("injected, acted yes, not received", 0) == 0, sorts
    assert sorts.get("injected, acted unlikely, received", 0) <= good / 50, sorts


@THAT_TAKE
def test_what_is_told_of_steers_at_the_end_of_a_turn_is_true(make: Make, agent: str) -> None:
    dice = random.Random(1)
    with script(make(agent)) as session:
        session.turn(TALK)
        aim = lasted(session)
        for number in range(lab.ROUNDS):
            first = began(session)
            spread = 0.020 if number % 2 else 0.006
            wait_until(first + aim + dice.uniform(-spread, spread))
            session.say({"steer": text_of(number), "id": f"steer-{number}"})
            line = settle(session, number)
            aim += STEP if line["outcome"] == "injected" else -STEP
            retry(session, number, line)

    check(judged(session))


@THAT_TAKE
def test_what_is_told_of_steers_before_a_cancel_is_true(make: Make, agent: str) -> None:
    dice = random.Random(1)
    with script(make(agent)) as session:
        for number in range(lab.ROUNDS):
            began(session)
            steer = {"steer": text_of(number), "id": f"steer-{number}"}
            if number % 2:
                session.say(steer, {"cancel": True})
            else:
                session.say(steer)
                time.sleep(dice.uniform(0, 0.060))
                session.say({"cancel": True})
            retry(session, number, settle(session, number))

    check(judged(session))
