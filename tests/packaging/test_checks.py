"""The generated checks say what JSON Schema says, and where."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from gzia.packaging import checks
from tests.packaging.documents import CONDENSED, OFFICIAL, ROOT, STRICT, TOLERANT, compiled, official, one_type
from tests.packaging.instances import instance, spoiled

TYPES = STRICT["$defs"]
MADE = {"strict": compiled(STRICT), "tolerant": compiled(TOLERANT)}


def validators(document: dict[str, Any]) -> dict[str, Draft202012Validator]:
    root = {"$schema": STRICT["$schema"], "$defs": document["$defs"]}
    return {name: Draft202012Validator({**root, "$ref": f"#/$defs/{name}"}) for name in document["$defs"]}


JSONSCHEMA = {"strict": validators(STRICT), "tolerant": validators(TOLERANT)}
ORIGINAL = validators(official()) if OFFICIAL else None


def verdicts(name: str, value: Any) -> dict[str, bool]:
    """What each of them says, and at the end what the two forms must say of each other."""
    found = {}
    for form, made in MADE.items():
        if name in made:
            found[f"generated, {form}"] = made[name](value) is None
            found[f"jsonschema, {form}"] = JSONSCHEMA[form][name].is_valid(value)
    if ORIGINAL:
        found["jsonschema, original"] = ORIGINAL[name].is_valid(value)
    return found


def disagreement(name: str, value: Any) -> str:
    said = verdicts(name, value)
    strict = {said[who] for who in said if "tolerant" not in who}
    tolerant = {said[who] for who in said if "tolerant" in who}
    agree = len(strict) == 1 and len(tolerant) <= 1 and not (strict == {True} and tolerant == {False})
    return "" if agree else f"{name} {value!r}: {said}"


def value_for(name: str, random: Random) -> Any:
    value = instance(TYPES[name], TYPES, random)
    return spoiled(value, random) if random.random() < 0.6 else value


@settings(deadline=None, max_examples=1500)
@given(name=st.sampled_from(sorted(MADE["strict"])), random=st.randoms(use_true_random=False))
def test_the_checks_agree_with_jsonschema(name: str, random: Random) -> None:
    assert disagreement(name, value_for(name, random)) == ""


def test_every_type_meets_good_and_bad_values_and_the_checks_agree() -> None:
    random = Random(1)
    seen: Counter[tuple[str, bool]] = Counter()
    # Types that are an object with nothing required take every value that is made for them.
    for name in sorted(MADE["strict"]):
        for _ in range(12):
            value = value_for(name, random)
            assert disagreement(name, value) == ""
            seen[name, MADE["strict"][name](value) is None] += 1

    assert sum(count for (_, valid), count in seen.items() if valid) > 500
    assert sum(count for (_, valid), count in seen.items() if not valid) > 200


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_checks_agree_with_jsonschema_on_two_hundred_thousand_values() -> None:
    random = Random(20261130)
    names = sorted(MADE["strict"])
    wrong = []

    for index in range(200_000):
        name = names[index % len(names)]
        wrong.append(disagreement(name, value_for(name, random)))

    assert [text for text in wrong if text] == []


UPDATE: dict[str, Any] = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}


@pytest.mark.parametrize(
    ("update", "fault"),
    [
        (UPDATE, None),
        ({}, ("sessionUpdate", "is missing")),
        ([], ("must be an object",)),
        ({**UPDATE, "sessionUpdate": 5}, ("sessionUpdate", "must be a string")),
        ({**UPDATE, "content": {"type": "text"}}, ("content", "text", "is missing")),
        ({**UPDATE, "content": {"type": "text", "text": None}}, ("content", "text", "must be a string")),
        ({**UPDATE, "content": "hi"}, ("content", "must be an object")),
        ({"sessionUpdate": "usage_update", "used": -1, "size": 1}, ("used", "must be at least 0")),
        ({"sessionUpdate": "usage_update", "used": 1.5, "size": 1}, ("used", "must be an integer")),
    ],
)
def test_a_fault_is_the_path_and_what_is_wrong(update: Any, fault: Any) -> None:
    assert MADE["tolerant"]["SessionUpdate"](update) == fault


def test_a_fault_inside_a_list_names_the_index() -> None:
    prompt = {"sessionId": "s1", "prompt": [{"type": "text", "text": "a"}, {"type": "image", "data": "b"}]}

    assert MADE["tolerant"]["PromptRequest"](prompt) == ("prompt", 1, "mimeType", "is missing")


def test_of_alternatives_without_a_tag_the_fault_is_that_of_the_nearest() -> None:
    server = {"name": "files", "command": "mcp-files", "args": [1], "env": []}
    session = {"cwd": "/", "mcpServers": [server]}

    assert MADE["tolerant"]["NewSessionRequest"](session) == ("mcpServers", 0, "args", 0, "must be a string")


def test_a_closed_choice_names_what_is_allowed() -> None:
    [*path, text] = MADE["tolerant"]["PromptResponse"]({"stopReason": "error"}) or ()

    assert path == ["stopReason"]
    assert text == "must be one of end_turn, max_tokens, max_turn_requests, refusal, cancelled"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^a"},
        {"type": "array", "uniqueItems": True},
        {"allOf": [{"type": "string"}]},
        {"type": "object", "unevaluatedProperties": False},
        {"oneOf": [{"type": "string"}, {"minimum": 3}]},
        {"const": 1},
        {"enum": ["a", None]},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "^a"}}},
        {"type": "array", "items": {"type": "string", "pattern": "^a"}},
    ],
    ids=str,
)
def test_what_the_generator_does_not_know_stops_the_build(schema: Any) -> None:
    with pytest.raises(ValueError, match="the check generator"):
        one_type(**schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"minimum": 3},
        {"minLength": 2},
        {"items": {"type": "string"}},
        {"required": ["a"]},
        {"properties": {"a": {"type": "integer"}}, "additionalProperties": {"type": "null"}},
        {"type": ["object", "array"], "properties": {"a": {"type": "null"}}, "items": {"type": "null"}},
        {"anyOf": [{"type": "string"}, {"type": "integer", "maximum": 3}]},
        {"not": {"type": "object", "required": ["a"]}},
        {"type": "object", "properties": {"a": {}}, "required": ["a", "b"]},
    ],
    ids=str,
)
def test_keywords_that_the_protocol_uses_little_agree_too(schema: Any) -> None:
    check, validator = one_type(**schema), Draft202012Validator(schema)
    values: list[Any] = [
        None, True, 0, 2, 3, 3.0, 4, "", "a", "ab", [], ["a"], [None], [1], {}, {"a": 1}, {"a": None},
        {"a": 1, "b": None}, {"a": True, "b": 1}, {"b": 1},
    ]  # fmt: skip

    assert [check(value) is None for value in values] == [validator.is_valid(value) for value in values]


A = {"type": "object", "properties": {"t": {"const": "a"}, "n": {"type": "integer"}}, "required": ["t"]}
B = {"type": "object", "properties": {"t": {"const": "b"}}, "required": ["t", "n"]}
TEXT = {"type": "object", "properties": {"t": {"type": "string"}}, "required": ["t"]}


def neither(*texts: str) -> dict[str, Any]:
    constants = [{"type": "object", "properties": {"t": {"const": text}}, "required": ["t"]} for text in texts]
    return {"not": {"anyOf": constants}}


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [A, B]},
        {"anyOf": [A, B, TEXT | neither("a", "b")]},
        {"anyOf": [A, B, TEXT | neither("a", "b") | {"required": ["t", "n"]}]},
        # Unions that only look as if a tag told their branches apart.
        {"anyOf": [A, A | {"properties": {"t": {"const": "a"}, "n": {"type": "string"}}}]},
        {"anyOf": [A, B, TEXT | neither("a")]},
        {"anyOf": [A, B, {"type": "object"} | neither("a", "b")]},
        {"anyOf": [A, B, TEXT | {"required": []} | neither("a", "b")]},
        {"anyOf": [A, B, TEXT | {"properties": {"t": {}}} | neither("a", "b")]},
        {"anyOf": [A, TEXT | neither("a"), TEXT | neither("a") | {"required": ["n"]}]},
        {"anyOf": [A | {"required": []}, B]},
        {"anyOf": [A | {"type": ["object", "null"]}, B]},
        {"anyOf": [A, {"type": "null"}, {"type": "boolean"}]},
        {"properties": {"t": {"type": ["string", "null"], "anyOf": [{"minLength": 2}, {"type": "null"}]}}},
        {"properties": {"t": {"anyOf": [{"minLength": 2}, {"type": "null"}], "enum": ["a", "bb"]}}},
    ],
    ids=str,
)
def test_unions_with_and_without_a_tag_agree(schema: Any) -> None:
    check, validator = one_type(**schema), Draft202012Validator(schema)
    tags: list[Any] = [..., "a", "b", "bb", "c", "", None, 1, True, ["a"]]
    numbers: list[Any] = [..., 1, "1", None]
    objects = [{"t": tag, "n": number} for tag in tags for number in numbers]
    values: list[Any] = [None, True, "a", [], *({k: v for k, v in one.items() if v is not ...} for one in objects)]

    assert [check(value) is None for value in values] == [validator.is_valid(value) for value in values]


def test_the_command_makes_a_module_that_python_takes(tmp_path: Path) -> None:
    target = tmp_path / "made.py"
    command = [sys.executable, "-m", "gzia.packaging.checks", str(CONDENSED), str(target)]

    subprocess.run(command, check=True, cwd=ROOT)

    assert target.read_text(encoding="utf-8") == checks.generate(TOLERANT)
    assert [path.name for path in tmp_path.iterdir()] == ["made.py"]
    subprocess.run([sys.executable, "-I", "-W", "error", str(target)], check=True)
