"""What the model check has found, each as the shortest run that shows it; the judge watches these runs too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gzia.session.conversation import Fallback
from tests.model.machine import INJECTED, Session

SAID = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "word"}}


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    Session.place, Session.seen = tmp_path, Counter()
    session = Session()
    yield session
    session.teardown()


def lines(session: Session, kind: str) -> list[dict[str, Any]]:
    session.check()
    return [line for line in session.judge.lines if line["kind"] == kind]


def outcomes(session: Session) -> list[tuple[str, str]]:
    return [(line["steer_id"], line["outcome"]) for line in lines(session, "steer")]


def test_a_prompt_of_which_the_pipe_took_a_part_was_not_written(session: Session) -> None:
    session.pipes("trickle")
    session.prompts(count=1)
    session.dies(how="die")

    [line] = lines(session, "prompt")
    assert (line["write_admitted"], line["error"]["code"]) == (False, "agent-exited")


def test_the_next_process_gives_no_question_the_name_of_an_earlier_one(session: Session) -> None:
    session.asks()
    session.is_killed()
    session.asks()

    ids = [line["permission_id"] for line in lines(session, "permission")]
    assert len(ids) == len(set(ids)) == 2


@pytest.mark.parametrize("fails", [True, False])
def test_the_order_goes_on_until_another_process_of_the_agent_has_started(session: Session, fails: bool) -> None:
    session.prompts(count=1)
    session.says(SAID)
    session.circumstances(hurried=False, takes=0.5, fails=fails)
    session.dies(how="die")
    session.prompts(count=2)
    session.time_passes(2.0) if fails else session.cancels()

    orders = [line["order_sequence"] for line in lines(session, "update") + lines(session, "prompt")]
    assert orders == ([1, 2, 3] if fails else [1, 2, 3, 4])


def test_a_steer_to_an_agent_that_has_closed_its_output_is_told_as_not_sent(session: Session) -> None:
    session.prompts(count=1)
    session.pipes("ignore")
    session.steers(fallback=Fallback.REFUSE, count=2)
    session.dies(how="end_output")
    session.steers(fallback=Fallback.REFUSE, count=1)
    session.time_passes(5.0)

    assert sorted(outcomes(session)) == [
        ("s1", "delivery_unknown"), ("s2", "fallback_required"), ("s3", "unsupported"),
    ]  # fmt: skip


def test_a_steer_to_an_agent_that_has_closed_its_input_is_told_as_not_sent(session: Session) -> None:
    session.prompts(count=1)
    session.dies(how="stop_reading")
    session.steers(fallback=Fallback.REFUSE, count=1)

    assert outcomes(session) == [("s1", "unsupported")]


def test_a_prompt_to_an_agent_that_has_closed_its_input_does_not_wait_for_ever(session: Session) -> None:
    session.prompts(count=1)
    session.dies(how="stop_reading")
    session.ends_its_turn("end_turn")
    session.prompts(count=2)
    session.time_passes(5.0)
    session.ends_its_turn("end_turn")

    assert [line["stop_reason"] for line in lines(session, "prompt")] == ["end_turn", "", "end_turn"]


def test_STE_01_a_steer_is_not_sent_when_the_end_of_the_turn_was_read_with_the_answer_before_it(
    session: Session,
) -> None:
    session.prompts(count=1)
    session.steers(fallback=Fallback.QUEUE, count=2)
    session.answers_both_at_once(said=INJECTED, turn_first=False, between=None)

    assert outcomes(session) == [("s1", "injected"), ("s2", "fallback_required")]
    assert [line["turn"] for line in lines(session, "input") if line["input"] == "prompt"] == [1, 2]


def test_no_answer_to_a_question_that_could_not_be_written_down_reaches_the_next_process(session: Session) -> None:
    session.prompts(count=1)
    session.asks()
    session.journal.refuses = True
    session.says(SAID)
    session.journal.refuses = False
    session.prompts(count=1)
    session.asks()

    assert [question.id for question in session.conversation.permissions.open.values()] == ["p2-2"]
