"""Questions of an agent: who may answer, how long one waits, and what the record says meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gzia.driver.observation import QuestionWithdrawn
from gzia.driver.turn import PermissionLevel
from tests.session import live
from tests.session.fake import Stage, later, new, played

YES = {"outcome": {"outcome": "selected", "optionId": "yes"}}
NO = {"outcome": {"outcome": "selected", "optionId": "no"}}
ALLOWED = YES["outcome"]


def answers(where: Path) -> list[str]:
    return [line["by"] for line in live.lines(where, "permission") if line["state"] == "answered"]


async def answered(stage: Stage, id: str) -> None:
    """Wait until the question is settled, whoever does it."""
    while id in stage.conversation.permissions.open:
        await stage.journal.beyond(stage.journal.n)


def test_without_patience_a_question_that_nobody_can_answer_is_settled_at_once(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.asks("a")
        stage.agent.asks(7)
        return stage.conversation.state, stage.agent.replies

    assert played(tmp_path, work) == ("working", [(7, NO)])
    assert answers(tmp_path) == ["policy:supervised"]


def test_with_patience_it_waits_and_whoever_comes_in_time_answers(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.conversation.permissions.patience = 600
        ended = stage.asks("a")[0]
        stage.agent.asks(7)
        states = [(stage.conversation.state, stage.record().metadata.get("awaits"))]
        stage.conversation.permissions.answerers += 1
        taken = [stage.conversation.answer("p1-1", ALLOWED, by) for by in ("ann", "ben")]
        states.append((stage.conversation.state, stage.record().metadata.get("awaits")))
        stage.agent.answers()
        return states, taken, stage.agent.replies, (await ended).refused

    assert played(tmp_path, work) == (
        [("input-needed", "answer"), ("working", None)], [True, False], [(7, YES)], (),
    )  # fmt: skip
    assert answers(tmp_path) == ["ann"]


def test_when_the_patience_is_over_it_is_refused_and_the_turn_says_so(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.conversation.permissions.patience = 0.01
        ended = stage.asks("a")[0]
        stage.agent.asks(7)
        await answered(stage, "p1-1")
        stage.agent.answers()
        return stage.agent.replies, (await ended).refused

    assert played(tmp_path, work) == ([(7, NO)], ("Write",))
    assert answers(tmp_path) == ["policy:supervised"]


def test_patience_counts_only_while_nobody_can_answer_and_from_the_last_one_on(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        permissions = stage.conversation.permissions
        permissions.patience = 0.01
        stage.asks("a")
        stage.agent.asks(7)
        permissions.answerers += 1
        stage.agent.asks(8)  # while somebody is there it has no limit
        permissions.patience = 0.02
        stage.conversation.nobody_left()
        waiting = list(permissions.open)
        await answered(stage, "p1-1")
        await answered(stage, "p1-2")
        return waiting, stage.agent.replies

    assert played(tmp_path, work) == (["p1-1", "p1-2"], [(7, NO), (8, NO)])


def test_who_is_there_has_all_the_time_in_the_world_and_who_leaves_starts_it_again(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        permissions = stage.conversation.permissions
        permissions.patience = 0.005
        stage.asks("a")
        stage.agent.asks(7)
        permissions.answerers += 1
        await later(0.01)
        stage.agent.asks(8)
        stage.conversation.nobody_left()
        permissions.answerers += 1
        permissions.patience = 600
        stage.conversation.nobody_left()
        await later(0.01)
        return list(permissions.open), stage.agent.replies

    assert played(tmp_path, work, crash=True) == (["p1-1", "p1-2"], [])


def test_without_patience_the_last_one_to_leave_leaves_cancelled_questions(tmp_path: Path) -> None:
    async def work(stage: Stage) -> Any:
        stage.conversation.permissions.answerers = 1
        stage.asks("a")
        stage.agent.asks(7)
        stage.conversation.nobody_left()
        return stage.agent.replies

    assert played(tmp_path, work) == [(7, {"outcome": {"outcome": "cancelled"}})]
    assert answers(tmp_path) == ["no client"]


@pytest.mark.parametrize("end", ["answer", "withdraw", "cancel", "close", "die"])
def test_nothing_is_settled_twice_when_the_patience_ends_later(tmp_path: Path, end: str) -> None:
    async def work(stage: Stage) -> Any:
        stage.conversation.permissions.patience = 0.01
        stage.asks("a")
        stage.agent.asks(7)
        if end == "answer":
            stage.conversation.answer("p1-1", ALLOWED, "ann")
        elif end == "withdraw":
            stage.agent.hears(QuestionWithdrawn(7))
        elif end == "cancel":
            stage.conversation.cancel()
        elif end == "die":
            stage.agent.die()
        else:
            await stage.conversation.close()
        stage.conversation.permissions.patience = 0.02
        if end != "close":
            stage.agent.asks(8)
            await answered(stage, next(iter(stage.conversation.permissions.open), ""))
        return [key for key, _ in stage.agent.replies]

    replies = played(tmp_path, work)

    expected = {"answer": [7, 8], "withdraw": [8], "cancel": [7, 8], "close": [7], "die": []}[end]
    assert replies == expected
    asked = [line["permission_id"] for line in live.lines(tmp_path, "permission") if line["state"] == "asked"]
    settled = [line["permission_id"] for line in live.lines(tmp_path, "permission") if line["state"] != "asked"]
    assert settled == asked


def test_a_level_that_settles_at_once_waits_for_nobody(tmp_path: Path) -> None:
    new(tmp_path, PermissionLevel.AUTONOMOUS)

    async def work(stage: Stage) -> Any:
        stage.conversation.permissions.patience = 600
        stage.asks("a")
        stage.agent.asks(7)
        return stage.agent.replies

    assert played(tmp_path, work) == [(7, YES)]


def test_a_session_says_what_it_waits_for_from_its_first_moment_to_its_last(tmp_path: Path) -> None:
    async def work(stage: Stage) -> list[Any]:
        def now() -> Any:
            return stage.record().metadata.get("awaits")

        seen = [now()]
        stage.conversation.permissions.answerers = 1
        stage.agent.asks(1)
        seen.append(now())
        stage.conversation.answer("p0-1", ALLOWED, "ann")
        seen.append(now())
        stage.asks("a")
        seen.append(now())
        stage.agent.asks(2)
        stage.agent.asks(3)
        stage.conversation.answer("p1-2", ALLOWED, "ann")
        seen.append(now())
        stage.agent.answers()
        seen.append(now())
        return seen

    assert played(tmp_path, work) == ["prompt", "answer", "prompt", None, "answer", None]
    assert "awaits" not in live.record(tmp_path).metadata
