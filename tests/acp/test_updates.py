from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gzia.acp.checking import check_update
from gzia.acp.updates import describe
from tests.packaging.documents import STRICT
from tests.packaging.instances import instance, spoiled


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    ("update", "event"),
    [
        (
            {"sessionUpdate": "agent_message_chunk", "content": text("hi"), "messageId": "m1"},
            {"kind": "text_delta", "text": "hi"},
        ),
        (
            {"sessionUpdate": "agent_thought_chunk", "content": text("hm")},
            {"kind": "thinking_delta", "text": "hm"},
        ),
        (
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "", "mimeType": "image/png"}},
            {"kind": "other", "update": "agent_message_chunk"},
        ),
        (
            {"sessionUpdate": "agent_message_chunk", "content": {"type": "hologram"}},
            {"kind": "other", "update": "agent_message_chunk"},
        ),
        (
            {"sessionUpdate": "user_message_chunk", "content": text("echo")},
            {"kind": "other", "update": "user_message_chunk"},
        ),
        (
            {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Edit", "kind": "edit", "status": "pending"},
            {"kind": "tool_use", "id": "t", "title": "Edit", "tool_kind": "edit", "status": "pending"},
        ),
        (
            {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"},
            {"kind": "tool_result", "id": "t", "status": "completed", "is_error": False},
        ),
        (
            {"sessionUpdate": "tool_call_update", "toolCallId": "0:call_x", "status": "failed", "title": None},
            {"kind": "tool_result", "id": "0:call_x", "status": "failed", "is_error": True},
        ),
        # Claude sends content alone; vibe's updates are an id alone.
        ({"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": []}, {"kind": "tool_use", "id": "t"}),
        # The schema lets receivers take a value of a wrong kind for an absent one.
        (
            {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "x", "kind": 7, "status": ["completed"]},
            {"kind": "tool_use", "id": "t", "title": "x"},
        ),
        ({"sessionUpdate": "plan", "entries": []}, {"kind": "other", "update": "plan"}),
        ({"sessionUpdate": "a_new_variant"}, {"kind": "other", "update": "a_new_variant"}),
    ],
)
def test_an_update_in_short(update: dict[str, Any], event: dict[str, Any]) -> None:
    assert check_update(update) is None
    assert describe(update) == event


@settings(deadline=None, max_examples=150)
@given(st.randoms(use_true_random=False))
def test_every_update_that_the_check_takes_has_a_short_form(random: Random) -> None:
    update = spoiled(instance(STRICT["$defs"]["SessionUpdate"], STRICT["$defs"], random), random)

    if check_update(update) is None:
        event = describe(update)

        assert event["kind"] in {"text_delta", "thinking_delta", "tool_use", "tool_result", "other"}
        assert all(isinstance(value, str | bool) for value in event.values())
