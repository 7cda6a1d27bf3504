"""protocol/acp/v1.json: facts without prose, and the same facts as the original."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.packaging.documents import CONDENSED, OFFICIAL, ROOT, STRICT, official


def script() -> ModuleType:
    """protocol/acp/condense.py, which belongs to no package."""
    spec = importlib.util.spec_from_file_location("condense", ROOT / "protocol/acp/condense.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CONDENSE = script()


def condensed(types: dict[str, Any]) -> Any:
    return CONDENSE.condense({"$schema": "s", "$defs": types}, "1.0")


def schemas(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for key, part in schema.items():
            parts = part.values() if key == "properties" else [part]
            for inner in parts:
                yield from schemas(inner)
    elif isinstance(schema, list):
        for part in schema:
            yield from schemas(part)


def test_no_prose_is_kept() -> None:
    keywords = {key for part in STRICT["$defs"].values() for schema in schemas(part) for key in schema}

    assert keywords == {
        "type", "const", "enum", "properties", "required", "additionalProperties", "items", "$ref", "oneOf", "anyOf",
        "not", "minimum", "maximum", "minLength", "discriminator", "x-tolerates",
    }  # fmt: skip


def test_every_type_is_reached_from_a_method_and_every_reference_ends() -> None:
    named = {name for method in STRICT["methods"].values() for key, name in method.items() if key != "side"}
    used = {schema["$ref"].removeprefix("#/$defs/") for part in STRICT["$defs"].values() for schema in schemas(part)
            if "$ref" in schema}  # fmt: skip

    assert set(STRICT["$defs"]) == named | used


def test_one_line_holds_one_type() -> None:
    text = CONDENSED.read_text(encoding="utf-8")

    assert CONDENSE.write(json.loads(text)) == text


@pytest.mark.skipif(not OFFICIAL, reason="GZIA_ACP_SCHEMA does not name the original schema")
def test_it_is_what_the_script_makes_of_the_original() -> None:
    version = STRICT["source"].split()[-1]

    assert CONDENSE.condense(official(), version) == STRICT


def test_a_method_comes_from_its_request_and_its_answer() -> None:
    marks = {"x-side": "agent", "x-method": "a/b"}
    types = {
        "DoRequest": {"type": "object", "description": "prose", **marks},
        "DoResponse": {"type": "string", "title": "prose", **marks},
        "Unreached": {"type": "null"},
    }

    assert condensed(types) == {
        "$schema": "s",
        "source": "@agentclientprotocol/sdk 1.0",
        "protocolVersion": 1,
        "methods": {"a/b": {"side": "agent", "params": "DoRequest", "result": "DoResponse"}},
        "$defs": {"DoRequest": {"type": "object"}, "DoResponse": {"type": "string"}},
    }


@pytest.mark.parametrize(
    ("long", "short"),
    [
        ({"allOf": [{"$ref": "#/$defs/N"}], "title": "t"}, {"$ref": "#/$defs/N"}),
        ({"type": "object", "additionalProperties": True}, {"type": "object"}),
        ({"oneOf": [{"type": "string", "const": "a"}, {"type": "string", "const": "b"}]}, {"enum": ["a", "b"]}),
        (
            {"anyOf": [{"type": "string", "const": "a"}, {"title": "other", "type": "string"}]},
            {"anyOf": [{"enum": ["a"]}, {"type": "string"}]},
        ),
        ({"type": "string", "x-deserialize-default-on-error": True}, {"type": "string", "x-tolerates": ["error"]}),
        ({"discriminator": {"propertyName": "type"}}, {"discriminator": "type"}),
        (
            {"properties": {"title": {"type": "string"}, "description": {}, "default": {"default": 1}}},
            {"properties": {"title": {"type": "string"}, "description": {}, "default": {}}},
        ),
    ],
)
def test_spellings_become_shorter_and_names_stay(long: Any, short: Any) -> None:
    types = {"N": {"type": "null"}, "MNotification": {**long, "x-side": "agent", "x-method": "m"}}

    assert condensed(types)["$defs"]["MNotification"] == short


def test_two_constraints_on_the_same_value_are_not_merged() -> None:
    both = {"type": "object", "allOf": [{"type": "object", "required": ["a"]}], "x-side": "agent", "x-method": "m"}

    assert "allOf" in condensed({"M": both})["$defs"]["M"]
