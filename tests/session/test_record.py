"""Records: what is read, what survives being written again, what is no record at all."""

from __future__ import annotations

import json
import os
from typing import Any

import jsonschema
import pytest

from gzia.driver.turn import PermissionLevel
from gzia.session import ids, record
from gzia.session.record import NotARecord, Record
from tests.schemas import schema

ID = ids.parse("k3v9q2")
LEAST = {"status": "completed", "started_at": "2026-11-30T20:03:05.123456Z"}


def decoded(value: object) -> Record:
    return record.decode(json.dumps(value).encode(), ID)


def full() -> Record:
    return Record(
        id=ID, status="running", started_at="2026-11-30T20:03:05.123456Z", provider="demo",
        permission_level=PermissionLevel.AUTONOMOUS, model="m", working_dir="/repo", initial_prompt="fix it", title="t",
        summary="s", reason="r", pid=7, pid_identity="boot:1", host_pid=8, host_identity="boot:2", exit_code=3,
        finished_at="2026-11-30T20:04:05Z", duration_ms=60000, agent_session_id="a-1", is_isolated=True,
        worktree_dir="/repo/.harness/worktrees/k3v9q2", branch_name="harness/k3v9q2", base_commit="0" * 40,
        metadata={"a": [1, {"b": None}]}, unknown={"later": {"x": 1}},
    )  # fmt: skip


def test_a_full_record_comes_back_as_it_was() -> None:
    assert record.decode(record.encode(full()), ID) == full()


def test_as_json_it_has_every_key_and_the_file_only_what_is_known() -> None:
    one = Record(ID, "running", LEAST["started_at"], unknown={"later": None})

    document, file = one.to_json(), json.loads(record.encode(one))

    assert list(document) == [*record.KEYS, "later"]
    assert file == {
        "id": "k3v9q2", "status": "running", "started_at": LEAST["started_at"], "permission_level": "supervised",
        "is_isolated": False, "metadata": {}, "later": None,
    }  # fmt: skip
    assert document == dict.fromkeys(record.KEYS) | file


def test_optional_keys_may_be_missing_or_null() -> None:
    nulls = {name: None for name in record.KEYS if name not in ("id", *LEAST)}

    assert decoded(LEAST) == decoded(LEAST | nulls) == Record(ID, "completed", LEAST["started_at"])


def test_a_record_of_the_go_program_is_read() -> None:
    value = {
        "id": "k3v9q2", "pid": 0, "provider": "agy", "status": "completed", "permission_level": "readonly",
        "working_dir": "/w", "started_at": "2026-11-30T20:03:05.123456789+02:00", "exit_code": 0, "is_isolated": False,
        "profiles": ["p"],
    }  # fmt: skip

    assert decoded(value) == Record(
        ID, "completed", "2026-11-30T20:03:05.123456789+02:00", provider="agy", exit_code=0, working_dir="/w",
        permission_level=PermissionLevel.READONLY, unknown={"profiles": ["p"]},
    )  # fmt: skip


def test_keys_of_other_versions_survive_also_inside_metadata() -> None:
    value: dict[str, Any] = LEAST | {"new": {"deep": [1, 2.5, None, "é"]}, "metadata": {"vendor": {"k": {"l": True}}}}

    again = json.loads(record.encode(decoded(value)))

    assert (again["new"], again["metadata"]) == (value["new"], value["metadata"])


def test_JSO_10_the_id_inside_never_overrides_where_the_file_lies() -> None:
    for inner in ("../../victim", "other", 7, None):
        found = decoded(LEAST | {"id": inner})

        assert found.id == ID
        assert found.to_json()["id"] == ID


def test_text_that_utf_8_cannot_encode_survives() -> None:
    strange = full()
    strange.working_dir = os.fsdecode(b"/caf\xe9")

    assert record.decode(record.encode(strange), ID) == strange


NO_RECORDS = {
    b"": "it is empty",
    b" \n": "it is empty",
    bytes(512): "it is empty",
    b"{": "it is not a JSON object",
    b"[]": "it is not a JSON object",
    b"null": "it is not a JSON object",
    b'"x"': "it is not a JSON object",
    b"\xff\xfe{}": "it is not a JSON object",
    b'{"status":"completed","title":"caf\xe9"}': "it is not a JSON object",
    b"[" * 100_000: "it is not a JSON object",
    b"{}": "it has no status that gzia knows",
    b'{"status":"sleeping","started_at":"2026-11-30T20:03:05Z"}': "it has no status that gzia knows",
    b'{"status":"failed"}': "it has no started_at",
    b'{"status":"failed","started_at":"yesterday"}': "its started_at is not a time",
    b'{"status":"failed","started_at":"2026-11-30T20:03:05"}': "its started_at is not a time",
}


@pytest.mark.parametrize("raw", NO_RECORDS, ids=lambda raw: repr(raw[:20]))
def test_JSO_05_what_is_no_record_is_told_apart_by_its_reason(raw: bytes) -> None:
    with pytest.raises(NotARecord) as caught:
        record.decode(raw, ID)

    assert str(caught.value) == NO_RECORDS[raw]


WRONG: list[dict[str, Any]] = [
    {"pid": "7"}, {"pid": True}, {"pid": -1}, {"pid": 2**31}, {"pid": 1.5}, {"host_pid": -9}, {"exit_code": "0"},
    {"is_isolated": 1}, {"is_isolated": "yes"}, {"title": 3}, {"provider": []}, {"metadata": []}, {"duration_ms": "1"},
    {"permission_level": "root"}, {"permission_level": 1}, {"status": None}, {"status": 1}, {"finished_at": 0},
    {"finished_at": "soon"}, {"worktree_dir": {}}, {"base_commit": 0}, {"started_at": None},
]  # fmt: skip
RIGHT: list[dict[str, Any]] = [
    {}, {"pid": None}, {"pid": 2**31 - 1}, {"pid": 0}, {"exit_code": -9}, {"metadata": {"a": 1}}, {"title": ""},
    {"finished_at": "2026-11-30T20:03:05+02:00"}, {"permission_level": "readonly"}, {"later": [1]},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_wrong_type_or_value_is_no_record_and_the_schema_agrees(wrong: dict[str, Any]) -> None:
    value = LEAST | wrong

    with pytest.raises(NotARecord):
        decoded(value)
    with pytest.raises(jsonschema.ValidationError):
        schema("session-record").validate({"id": ID} | value)


@pytest.mark.parametrize("right", RIGHT, ids=str)
def test_what_is_read_and_what_is_written_is_valid_by_the_schema(right: dict[str, Any]) -> None:
    value = {"id": ID} | LEAST | right

    schema("session-record").validate(value)
    schema("session-record").validate(json.loads(record.encode(decoded(value))))


def test_the_schema_names_exactly_the_keys_that_are_written() -> None:
    validator = schema("session-record")

    assert isinstance(validator.schema, dict)
    assert set(validator.schema["properties"]) == set(record.KEYS)
    validator.validate(full().to_json())


def test_finishing_and_beginning_again_set_what_belongs_together() -> None:
    one = Record(ID, "running", "2026-11-30T20:03:05Z", pid=7, pid_identity="boot:1")

    one.finish("failed", "2026-11-30T20:03:06.5Z", exit_code=1, reason="it broke")
    finished = (one.status, one.finished_at, one.duration_ms, one.exit_code, one.reason)
    one.begin(8, "boot:2")
    begun = (one.status, one.finished_at, one.duration_ms, one.exit_code, one.reason, one.pid, one.host_pid)

    assert finished == ("failed", "2026-11-30T20:03:06.5Z", 1500, 1, "it broke")
    assert begun == ("running", None, None, None, "", None, 8)
