"""Plays protocol/vectors/steering and journal, with the runner that anyone can use, against this checkout."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

Json = dict[str, Any]

ROOT = Path(__file__).parent.parent.parent
VECTORS = ROOT / "protocol/vectors"
WRONG = Path(__file__).parent / "wrong.py"
GZIA = [sys.executable, "-m", "gzia", "run", "--input", "ndjson", "-p", "supervised", "--agent-command", "AGENT"]
AT_ONCE = "6"  # vectors: most of their time they wait


def play(*arguments: str, command: list[str]) -> subprocess.CompletedProcess[str]:
    runner = [sys.executable, str(VECTORS / "run.py"), "-j", AT_ONCE, *arguments, "--", *command]
    return subprocess.run(runner, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)


@pytest.mark.parametrize("room", ["steering", "journal"])
def test_every_vector_is_kept(room: str) -> None:
    done = play(room, command=GZIA)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("mistake", "vector", "complaint"),
    [
        ("injected", "failed: the agent kept nothing", "line 4 should be"),
        ("injected", "still waiting when the turn ends", "do not go together"),
        ("drops", "updates come in their order", "line 3 should be"),
        ("loses", "the message of a turn is what", "n must count up by 1"),
        ("swaps", "the message of a turn is what", "order_sequence must not go down"),
    ],
)
def test_a_program_that_is_wrong_is_noticed(mistake: str, vector: str, complaint: str) -> None:
    done = play("-k", vector, "steering", "journal", command=[sys.executable, str(WRONG), mistake, *GZIA])

    assert (done.returncode, done.stdout[:4]) == (1, "FAIL"), done.stdout + done.stderr
    assert complaint in done.stdout


def test_a_program_that_does_not_speak_is_noticed() -> None:
    done = play("-k", "injected: the running turn", "steering", command=["true", "AGENT"])

    assert done.returncode == 1
    assert "line that did not come" in done.stdout


def test_the_runner_wants_vectors_and_a_command() -> None:
    nothing = play("-k", "no vector has this in its description", "steering", command=GZIA)
    nobody = play("steering", command=[])

    assert (nothing.returncode, nobody.returncode) == (1, 2)


# -- the rules that hold in every vector -------------------------------------------------------------------------------


def judge(vector: Json, lines: list[Json], received: list[Json]) -> list[str]:
    spec = importlib.util.spec_from_file_location("judge", VECTORS / "judge.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    problems: list[str] = module.judge(vector, lines, received)
    return problems


def line(n: int, kind: str, **members: Any) -> Json:
    return {"v": 1, "n": n, "session": "s", "turn": 1, "kind": kind, **members}


def numbers(received: int, order: int) -> Json:
    return {"receive_sequence": received, "response_sequence": received, "order_sequence": order}


ASKED = line(1, "input", input="prompt", blocks=[])
UPDATE = line(2, "update", receive_sequence=3, order_sequence=3)
STEER_ASKED = line(3, "input", input="steer", steer_id="s1")
STEER = line(4, "steer", steer_id="s1", outcome="injected", write_admitted=True, **numbers(4, 4))
END = line(5, "prompt", stop_reason="end_turn", **numbers(5, 5))
NOTE = line(6, "steer_note", steer_id="s1", acted="yes")
RIGHT = [ASKED, UPDATE, STEER_ASKED, STEER, END, NOTE]


def complaints(lines: list[Json]) -> list[str]:
    """What is wrong with these lines, as a vector that tells just them would see it; without the line itself."""
    return [problem.partition(": {")[0] for problem in judge({"lines": lines}, lines, [])]


def but(changed: Json) -> list[Json]:
    """The right lines, with one of them changed."""
    return [changed if one["n"] == changed["n"] else one for one in RIGHT]


def without(n: int) -> list[Json]:
    """The right lines, with one of them missing, numbered as if it had never been."""
    return [{**one, "n": one["n"] - (one["n"] > n)} for one in RIGHT if one["n"] != n]


def test_a_session_that_keeps_all_rules_is_right() -> None:
    assert complaints(RIGHT) == []


PAIR = "a steer must have one steer line, after it"
NOTED = "an injected steer, and no other, has one note after its turn"
TABLE = "outcome, write_admitted and response_sequence do not go together"
AGAIN = "a steer that may have been delivered must not become a turn"
LATE = "a steer line after the end of its turn"
ORDER = "order_sequence must not go down, nor be below receive_sequence"


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([one for one in RIGHT if one["n"] != 2], "n must count up by 1"),
        (but({**UPDATE, "session": "other"}), "the lines name more than one session"),
        (but({**UPDATE, "v": 2}), "v must be 1"),
        (but({**END, "order_sequence": 3, **numbers(0, 3)}), ORDER),
        (but({**UPDATE, "order_sequence": 2}), ORDER),
        ([*RIGHT, line(7, "update", receive_sequence=2, order_sequence=5)], "receive_sequence must not go down"),
        (without(5), "a turn without an end"),
        (without(4), PAIR),
        ([*RIGHT, {**STEER, "n": 7}], PAIR),
        (without(6), NOTED),
        ([ASKED, UPDATE, STEER_ASKED, STEER, {**NOTE, "n": 5}, {**END, "n": 6}], NOTED),
        (but({**STEER, "outcome": "fallback_required"}), NOTED),
        (but({**STEER, "outcome": "unsupported"}), TABLE),
        (but({**STEER, "outcome": "taken"}), TABLE),
        ([*RIGHT, line(7, "input", input="prompt", blocks=[], steer_id="s1")], AGAIN),
        (but({**STEER, "receive_sequence": 3}), "response_sequence must be receive_sequence"),
        ([ASKED, UPDATE, STEER_ASKED, {**END, "n": 4}, {**STEER, "n": 5, **numbers(6, 6)}, NOTE], LATE),
    ],
)
def test_a_broken_rule_is_noticed(lines: list[Json], complaint: str) -> None:
    assert complaint in complaints(lines)
