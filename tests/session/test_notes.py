"""The rule by which a steer counts as acted on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gzia.acp.updates import describe
from gzia.driver.observation import UpdateObservation
from gzia.session.notes import Note, evidence, judge

TEXT = {"type": "text", "text": "hello"}
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}


def shown(*begun: str, **raw: Any) -> str:
    return evidence(UpdateObservation(describe(raw), json.dumps(raw), 41, 41), begun)


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        ({"sessionUpdate": "agent_message_chunk", "content": TEXT}, "the agent spoke after the ack, at 41"),
        ({"sessionUpdate": "agent_message_chunk", "content": IMAGE}, "the agent spoke after the ack, at 41"),
        ({"sessionUpdate": "agent_thought_chunk", "content": TEXT}, "the agent thought after the ack, at 41"),
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
def test_new_output_of_the_model_is_evidence(raw: dict[str, Any], what: str) -> None:
    assert shown("t1", **raw) == what


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
    assert shown("t1", **raw) == ""


@pytest.mark.parametrize(
    ("seen", "stop_reason", "failed", "note"),
    [
        ("it spoke", "end_turn", False, Note("yes", "it spoke")),
        ("it spoke", "max_tokens", False, Note("yes", "it spoke")),
        ("", "end_turn", False, Note("unlikely", "no agent output between ack and end_turn")),
        ("", "max_tokens", False, Note("unknown", "the turn ended early: max_tokens")),
        ("it spoke", "cancelled", False, Note("unknown", "the turn was cancelled")),
        ("it spoke", "", True, Note("unknown", "the turn failed")),
        ("", "", True, Note("unknown", "the turn failed")),
    ],
)
def test_the_end_of_the_turn_decides_what_the_evidence_is_worth(
    seen: str, stop_reason: str, failed: bool, note: Note
) -> None:
    assert judge(seen, stop_reason, failed=failed) == note
