"""``gzia steer`` and ``gzia cancel``: what is asked of a session, and what is told of its answer."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gzia.driver.steer import SteerOutcome
from tests.cli.command import documents, gzia, start
from tests.cli.watching import Door, Held

STEERING = "_session/steering"


@pytest.fixture
def held(repo: Path) -> Iterator[Held]:
    with Held(repo) as held:
        yield held


def answer(outcome: Any, reason: str = "", **more: Any) -> dict[str, Any]:
    own = {"outcome": outcome, "steerId": "s1", "writeAdmitted": outcome == "injected", "n": 1, "turn": None, **more}
    return {"outcome": "x", "reason": reason, "_meta": {"gzia": own}}


# -- outcomes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "status", "sentence"),
    [
        ("injected", 0, "The running turn has it."),
        ("fallback_required", 10, "It was not delivered (because)."),
        ("unsupported", 11, "It cannot be put in now (because)."),
        ("admission_unknown", 12, "It is not known whether it reached the agent (because)."),
        ("delivery_unknown", 13, "It reached the agent, and what came of it is not known (because)."),
        ("delivered_untrackable", 14, "The agent took it into a turn of its own, which gzia cannot follow (because)."),
    ],
)
def test_every_outcome_has_a_status_a_sentence_and_a_next_step(
    repo: Path, held: Held, outcome: str, status: int, sentence: str
) -> None:
    given = answer(outcome, "" if outcome == "injected" else "because")

    with Door(held, {STEERING: given}) as door:
        told = gzia(repo, "steer", "x1", "also this")
    with Door(held, {STEERING: given}):
        said = gzia(repo, "steer", "x1", "also this", "--json")

    assert (told.returncode, told.stdout) == (status, f"↪ {sentence}\n")
    assert told.stderr == {
        "injected": "",
        "fallback_required": "Hint: nothing of it was sent; as the next turn: gzia steer --or-queue x1 “…”\n",
        "unsupported": "Hint: nothing of it was sent; as the next turn: gzia steer --or-queue x1 “…”\n",
    }.get(outcome, "Hint: look before you send it again, the agent may have it: gzia watch x1\n")
    assert said.returncode == status
    assert documents(said.stdout) == [
        {
            "session": "x1", "steer_id": "s1", "outcome": outcome, "retry_safe": SteerOutcome(outcome).retry_safe,
            "write_admitted": outcome == "injected", "reason": given["reason"], "turn": None, "note": None,
        }
    ]  # fmt: skip
    assert door.asked(STEERING) == {
        "sessionId": "x1", "prompt": [{"type": "text", "text": "also this"}],
        "_meta": {"steering": {"idleBehavior": "promptRequired"}, "gzia": {"fallback": "refuse"}},
    }  # fmt: skip


def test_what_became_a_turn_is_no_failure_and_not_to_be_sent_again(repo: Path, held: Held) -> None:
    given = answer("fallback_required", "no turn is running", turn=4)

    with Door(held, {STEERING: given}):
        told = gzia(repo, "steer", "x1", "also this", "--or-queue")
    with Door(held, {STEERING: given}):
        said = documents(gzia(repo, "steer", "x1", "also this", "--interrupt", "--json").stdout)[0]

    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == "↪ It was not delivered (no turn is running).\n  It is turn 4 of the session now.\n"
    assert (said["turn"], said["retry_safe"]) == (4, False)


@pytest.mark.parametrize(
    ("words", "env", "own"),
    [
        (["--or-queue"], {}, {"fallback": "queue"}),
        (["--interrupt", "--id", "n1"], {}, {"fallback": "interrupt", "steerId": "n1"}),
        ([], {"GZIA_STEER_FALLBACK": "queue"}, {"fallback": "queue"}),
        (["--interrupt"], {"GZIA_STEER_FALLBACK": "queue"}, {"fallback": "interrupt"}),
    ],
)
def test_the_fallback_is_what_was_said_or_set(
    repo: Path, held: Held, words: list[str], env: dict[str, str], own: dict[str, str]
) -> None:
    with Door(held, {STEERING: answer("injected")}) as door:
        gzia(repo, "steer", "x1", "go", *words, env=env)

    assert door.asked(STEERING)["_meta"]["gzia"] == own


@pytest.mark.parametrize("words", [[], ["-"]])
def test_the_text_comes_from_standard_input_too(repo: Path, held: Held, words: list[str]) -> None:
    with Door(held, {STEERING: answer("injected")}) as door:
        gzia(repo, "steer", "x1", *words, stdin="über\nzwei\n")

    assert door.asked(STEERING)["prompt"] == [{"type": "text", "text": "über\nzwei\n"}]


# -- notes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("acted", "told"),
    [
        ("yes", "The agent acted on it (it said so)."),
        ("unlikely", "The agent probably did not act on it (it said so)."),
        ("unknown", "Whether the agent acted on it cannot be told (it said so)."),
    ],
)
def test_wait_tells_what_came_of_it_when_the_turn_has_ended(repo: Path, held: Held, acted: str, told: str) -> None:
    held.write("steer_note", 1, {"steer_id": "s1", "acted": "of an earlier process", "evidence": ""})

    with Door(held, {STEERING: answer("injected")}) as door, start(repo, "steer", "x1", "go", "--wait") as process:
        door.left()
        held.write("steer_note", 1, {"steer_id": "s2", "acted": "yes", "evidence": "another"})
        held.write("steer_note", 1, {"steer_id": "s1", "acted": acted, "evidence": "it said so"})
        out, _ = process.communicate(timeout=20)

    assert (process.returncode, out.decode()) == (0, f"↪ The running turn has it.\n  {told}\n")


def test_wait_ends_with_the_session_and_gives_a_program_null(repo: Path, held: Held) -> None:
    with (
        Door(held, {STEERING: answer("injected")}) as door,
        start(repo, "steer", "x1", "go", "--wait", "--json") as process,
    ):
        door.left()
        held.let_go()
        out, _ = process.communicate(timeout=20)

    assert (process.returncode, documents(out.decode())[0]["note"]) == (0, None)


def test_wait_is_over_when_the_time_is(repo: Path, held: Held) -> None:
    with Door(held, {STEERING: answer("injected")}):
        done = gzia(repo, "steer", "x1", "go", "--wait", "--timeout", "300ms")

    assert (done.returncode, done.stdout) == (
        3, "↪ The running turn has it.\n  Whether the agent acted on it is not known yet.\n",
    )  # fmt: skip


def test_wait_has_nothing_to_wait_for_when_it_was_not_injected(repo: Path, held: Held) -> None:
    with Door(held, {STEERING: answer("unsupported")}):
        assert gzia(repo, "steer", "x1", "go", "--wait").returncode == 11


# -- giving up -------------------------------------------------------------------------------------------------------


def test_ctrl_c_takes_it_back_and_tells_what_became_of_it(repo: Path, held: Held) -> None:
    given = answer("fallback_required", "it was taken back before it was sent")

    with Door(held, {"$/cancel_request": given}) as door, start(repo, "steer", "x1", "go", "--json") as process:
        door.has_got(STEERING)
        process.send_signal(signal.SIGINT)
        out, complaints = process.communicate(timeout=20)

    assert (process.returncode, complaints) == (130, b"")
    assert documents(out.decode())[0]["outcome"] == "fallback_required"
    assert door.frames[-1]["params"] == {"requestId": door.frames[-2]["id"]}


def test_a_limit_takes_it_back_and_the_outcome_counts(repo: Path, held: Held) -> None:
    with Door(held, {"$/cancel_request": answer("fallback_required")}):
        done = gzia(repo, "steer", "x1", "go", "--timeout", "100ms", "--json")

    assert (done.returncode, documents(done.stdout)[0]["outcome"]) == (10, "fallback_required")


def test_a_session_that_goes_away_meanwhile_is_told(repo: Path, held: Held) -> None:
    with Door(held, {STEERING: "hang up"}):
        done = gzia(repo, "steer", "x1", "go")

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == ("Error: Session x1 was closed before it answered.\nHint: look at it with: gzia show x1\n")


# -- what cannot be -------------------------------------------------------------------------------------------------


def test_an_error_of_the_session_is_the_commands_own(repo: Path, held: Held) -> None:
    data = {"code": "steer-id-taken", "hint": "choose another id", "status": 6, "id": "s1"}
    refusal = {"error": {"code": -32603, "message": "It is taken.", "data": data}}

    with Door(held, {STEERING: refusal}):
        done = gzia(repo, "steer", "x1", "go", "--json")

    assert done.returncode == 6
    assert documents(done.stdout) == [
        {"error": {"id": "s1", "code": "steer-id-taken", "message": "It is taken.", "hint": "choose another id"}}
    ]


@pytest.mark.parametrize("result", [None, {}, {"outcome": "injected"}, answer("eaten"), answer(7)])
def test_an_answer_in_unknown_words_is_not_guessed(repo: Path, held: Held, result: Any) -> None:
    with Door(held, {STEERING: {"result": result, "error": None} if result is None else result}):
        done = gzia(repo, "steer", "x1", "go", "--json")

    assert (done.returncode, documents(done.stdout)[-1]["error"]["code"]) == (1, "session-refused")


@pytest.mark.parametrize("text", ["", " \n\t "])
def test_an_empty_message_is_refused_before_anybody_is_asked(repo: Path, held: Held, text: str) -> None:
    argument = gzia(repo, "steer", "x1", "--json", "--", text)
    piped = gzia(repo, "steer", "x1", "--json", stdin=text)

    for done in (argument, piped):
        assert (done.returncode, documents(done.stdout)[-1]["error"]["code"]) == (2, "invalid-prompt")


@pytest.mark.parametrize("words", [["steer", "x1", "go"], ["acp", "attach", "x1"]])
def test_a_session_that_has_ended_says_how_to_go_on(repo: Path, held: Held, words: list[str]) -> None:
    held.let_go()

    done = gzia(repo, *words)

    assert done.returncode == 4
    assert done.stderr == "Error: Session x1 is not running.\nHint: go on with it: gzia resume x1 “…”\n"


def test_a_session_that_does_not_listen_yet_is_told_from_one_that_has_ended(repo: Path, held: Held) -> None:
    done = gzia(repo, "steer", "x1", "go")

    assert done.returncode == 4
    assert "which does not listen" in done.stderr
    assert done.stderr.endswith("Hint: if it is starting, try again in a moment\n")


# -- cancel ----------------------------------------------------------------------------------------------------------


def test_cancel_tells_what_it_stopped_and_what_it_dropped(repo: Path, held: Held) -> None:
    with Door(held, {"_gzia/cancel": {"running": 2, "dropped": [3, 4]}}) as door:
        told = gzia(repo, "cancel", "x1")
    with Door(held, {"_gzia/cancel": {"running": None, "dropped": []}}):
        nothing = gzia(repo, "cancel", "x1")
    with Door(held, {"_gzia/cancel": {"running": 2, "dropped": [3, 4]}}):
        said = gzia(repo, "cancel", "x1", "--json")

    assert (told.returncode, told.stdout) == (0, "■ Turn 2 is being stopped.\n■ Dropped: turn 3, 4.\n")
    assert (nothing.returncode, nothing.stdout) == (0, "Nothing is running or waiting.\n")
    assert json.loads(said.stdout) == {"session": "x1", "running": 2, "dropped": [3, 4]}
    assert door.asked("_gzia/cancel") == {"sessionId": "x1"}
