"""The rule by which a steer counts as acted on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gzia.acp.updates import describe
from gzia.driver.observation import UpdateObservation
from gzia.session.notes import SILENCE, WENT_ON, Begun, Note, Shown, evidence, judge

TEXT = {"type": "text", "text": "hello"}
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}
SPOKE = Shown(True, "the agent spoke after the ack, at 41")
THOUGHT = Shown(True, "the agent thought after the ack, at 41")
WENT = Shown(False, WENT_ON)


def words(id: str = "", kind: str = "agent_message_chunk") -> dict[str, Any]:
    return {"sessionUpdate": kind, "content": TEXT, **({"messageId": id} if id else {})}


def thought(id: str = "") -> dict[str, Any]:
    return words(id, "agent_thought_chunk")


def begun(*tools: str, spoken: dict[str, Any] | None = None) -> Begun:
    """What the turn had: words, then tools."""
    before = Begun()
    if spoken:
        before.spoke(json.dumps(spoken))
    for tool in tools:
        before.used(tool)
    return before


def shown(before: Begun, **raw: Any) -> Shown | None:
    return evidence(UpdateObservation(describe(raw), json.dumps(raw), 41, 41), before)


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (words(), "the agent spoke after the ack, at 41"),
        ({"sessionUpdate": "agent_message_chunk", "content": IMAGE}, "the agent spoke after the ack, at 41"),
        (thought(), "the agent thought after the ack, at 41"),
        (
            {"sessionUpdate": "tool_call", "toolCallId": "t2", "title": "x"},
            "the agent began the tool call t2 after the ack, at 41",
        ),
        (
            {"sessionUpdate": "tool_call", "toolCallId": "t2", "title": "x", "status": "completed"},
            "the agent began the tool call t2 after the ack, at 41",
        ),
    ],
)
def test_what_begins_is_evidence(raw: dict[str, Any], what: str) -> None:
    assert shown(begun("t1"), **raw) == Shown(True, what)


@pytest.mark.parametrize(
    "raw",
    [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": ""}},
        {"sessionUpdate": "user_message_chunk", "content": TEXT},
        {"sessionUpdate": "usage_update", "used": 1, "size": 2},
        {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "told again"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"},
        {"sessionUpdate": "tool_call_update", "toolCallId": "of-an-earlier-turn", "status": "in_progress"},
        {"sessionUpdate": "plan", "entries": []},
        {"sessionUpdate": "something_new"},
    ],
)
def test_echoes_counters_and_what_was_under_way_are_none(raw: dict[str, Any]) -> None:
    assert shown(begun("t1"), **raw) is None


@pytest.mark.parametrize(
    ("before", "raw", "what"),
    [
        (begun(spoken=words("m1")), words("m1"), WENT),
        (begun(spoken=words("m1")), words("m2"), SPOKE),
        (begun("t1", spoken=words("m1")), words("m1"), WENT),  # a model may speak, call a tool and go on in one answer
        (begun(spoken=words()), words("m1"), SPOKE),
        (begun(spoken=words("m1")), words(), WENT),
        (begun(spoken=words()), words(), WENT),
        (begun("t1", spoken=words()), words(), SPOKE),
        (begun(spoken=thought()), words(), WENT),
        (begun(spoken=words()), thought(), THOUGHT),
        (begun(spoken=thought()), thought(), WENT),
        (begun(spoken=thought("r1")), words("m1"), SPOKE),
    ],
)
def test_the_rest_of_a_message_is_no_new_one(before: Begun, raw: dict[str, Any], what: Shown) -> None:
    assert shown(before, **raw) == what


def test_what_comes_after_a_message_without_an_answer_of_its_own_counts_from_when_it_was_sent() -> None:
    raw = words()

    found = evidence(UpdateObservation(describe(raw), json.dumps(raw), 41, 41), begun(), "it was sent")

    assert found == Shown(True, "the agent spoke after it was sent, at 41")


@pytest.mark.parametrize(
    ("seen", "stop_reason", "note"),
    [
        (SPOKE, "end_turn", Note("yes", SPOKE.what)),
        (WENT, "end_turn", Note("unknown", WENT_ON)),
        (None, "end_turn", Note("unlikely", SILENCE)),
        (SPOKE, "max_tokens", Note("unknown", "the turn ended early: max_tokens")),
        (None, "refusal", Note("unknown", "the turn ended early: refusal")),
        (SPOKE, "cancelled", Note("unknown", "the turn was cancelled")),
        (None, "cancelled", Note("unknown", "the turn was cancelled")),
    ],
)
def test_the_end_of_the_turn_decides_what_the_evidence_is_worth(
    seen: Shown | None, stop_reason: str, note: Note
) -> None:
    assert judge(seen, stop_reason, failed=False) == note


@pytest.mark.parametrize("seen", [SPOKE, WENT, None])
def test_a_turn_that_failed_tells_nothing(seen: Shown | None) -> None:
    assert judge(seen, "", failed=True) == Note("unknown", "the turn failed")
