"""Action events: their shape on disk, and what is none."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta
from typing import Any

import jsonschema
import pytest

from gzia.errors import UsageError
from gzia.events.model import Event, from_json
from gzia.system import clock, jsonl
from tests.schemas import schema

FULL = {
    "id": "0123456789ab", "session_id": "k3v9q2", "agent_id": "demo", "role": "coder", "action": "write f.txt",
    "stage": "FINISH", "status": "FAILED", "timestamp": "2026-11-30T20:03:05.123456Z", "duration_ms": 12,
    "error": "no space", "metadata": {"a": [1, {"b": None}]}, "later": {"x": 1},
}  # fmt: skip
LEAST = {name: FULL[name] for name in ("id", "session_id", "action", "stage", "timestamp")}


def test_an_event_is_written_as_it_was_read() -> None:
    event = from_json(FULL)

    assert event.to_json() == FULL
    assert from_json(json.loads(jsonl.dump(event.to_json()))) == event


def test_status_is_always_written_and_what_says_nothing_is_left_out() -> None:
    assert from_json(LEAST).to_json() == LEAST | {"status": None}


def test_a_new_event_has_an_id_and_the_present_time() -> None:
    before = datetime.fromisoformat(clock.now())

    one, two = (Event("k3v9q2", "read", "READ") for _ in range(2))

    assert one.id != two.id
    assert timedelta(0) <= datetime.fromisoformat(one.timestamp) - before < timedelta(seconds=30)


def test_text_that_utf_8_cannot_encode_is_written_as_ascii() -> None:
    event = Event("k3v9q2", os.fsdecode(b"read caf\xe9"), "READ")

    assert from_json(jsonl.parse(jsonl.dump(event.to_json())) or {}) == event


WRONG: list[dict[str, Any]] = [
    {"id": ""}, {"id": 7}, {"session_id": None}, {"session_id": " "}, {"action": ""}, {"action": "\n"}, {"action": []},
    {"stage": "START"}, {"stage": "read"}, {"stage": None}, {"stage": []}, {"status": "ok"}, {"status": ""},
    {"status": True}, {"timestamp": "now"}, {"timestamp": "2026-11-30T20:03:05"}, {"timestamp": 1.5},
    {"duration_ms": -1}, {"duration_ms": "1"}, {"duration_ms": True}, {"duration_ms": 1.5}, {"error": 3}, {"role": []},
    {"agent_id": {}}, {"metadata": []}, {"metadata": "x"},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_what_is_no_event_is_refused_and_the_schema_agrees(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        from_json(FULL | wrong)

    assert caught.value.code == "invalid-event"
    with pytest.raises(jsonschema.ValidationError):
        schema("event").validate(FULL | wrong)


@pytest.mark.parametrize("name", LEAST)
def test_an_event_needs_these_keys_and_the_schema_agrees(name: str) -> None:
    value = {key: item for key, item in FULL.items() if key != name}

    with pytest.raises(UsageError):
        from_json(value)
    with pytest.raises(jsonschema.ValidationError):
        schema("event").validate(value)


@pytest.mark.parametrize("value", [FULL, LEAST, LEAST | {"role": None, "metadata": None, "status": "OK"}], ids=repr)
def test_what_is_written_is_valid_by_the_schema(value: dict[str, Any]) -> None:
    schema("event").validate(value)
    schema("event").validate(from_json(value).to_json())
