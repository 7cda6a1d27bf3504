"""Reads the official ACP schema and writes v1.json: its facts, without its prose.

    npm pack @agentclientprotocol/sdk@2.4.0 && tar xzf agentclientprotocol-sdk-2.4.0.tgz package/schema/v1/schema.json
    python protocol/acp/condense.py package/schema/v1/schema.json 2.4.0 protocol/acp/v1.json

The second argument is the version of the npm package that the schema came with.  The result is a JSON Schema again,
with the same verdict on every instance, plus the table of methods.  What it leaves out: descriptions, titles, defaults,
formats, the envelopes (requests, answers), and types that no method reaches.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

PROSE = {"description", "title", "default", "format", "x-docs-ignore", "x-side", "x-method"}
TOLERANCE = {
    "x-deserialize-default-on-error": "error",
    "x-deserialize-skip-invalid-items": "items",
    "x-deserialize-default-on-null": "null",
}
REF = "#/$defs/"


def condense(official: Schema, version: str) -> Schema:
    """The whole document: source, methods, ``$defs`` in alphabetical order."""
    types: dict[str, Schema] = official["$defs"]
    methods = dict(sorted(_methods(types)))
    asked = {method[part] for method in methods.values() for part in ("params", "result") if part in method}
    reached = _reached(types, asked)
    return {
        "$schema": official["$schema"],
        "source": f"@agentclientprotocol/sdk {version}",
        "protocolVersion": 1,
        "methods": methods,
        "$defs": {name: _facts(types[name]) for name in sorted(reached)},
    }


def _methods(types: dict[str, Schema]) -> Iterator[tuple[str, Schema]]:
    """``method -> {side, params, result}``; ``side`` is who receives it, notifications have no result."""
    for name, schema in types.items():
        if "x-method" in schema and not name.endswith("Response"):
            answer = name.removesuffix("Request") + "Response"
            method = {"side": schema["x-side"], "params": name}
            yield schema["x-method"], method | ({"result": answer} if answer in types else {})


def _reached(types: dict[str, Schema], names: set[str]) -> set[str]:
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += [ref.removeprefix(REF) for ref in _refs(types[name])]
    return reached


def _refs(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(schema.get("$ref"), str):
            yield schema["$ref"]
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from _refs(part)


def _facts(schema: Any) -> Any:
    """One schema without prose; a keyword that is only another spelling of a shorter one becomes the shorter one."""
    if not isinstance(schema, dict):
        return schema
    facts: Schema = {}
    tolerates = [short for long, short in TOLERANCE.items() if schema.get(long)]
    for keyword, value in schema.items():
        if keyword in PROSE or keyword in TOLERANCE or (keyword, value) in NO_OPS:
            continue
        if keyword == "properties":
            facts[keyword] = {name: _facts(part) for name, part in value.items()}
        elif keyword == "discriminator":
            facts[keyword] = value["propertyName"]
        elif isinstance(value, list):
            facts[keyword] = [_facts(part) for part in value]
        else:
            facts[keyword] = _facts(value)
    return _shorter(facts) | ({"x-tolerates": tolerates} if tolerates else {})


NO_OPS: list[tuple[str, Any]] = [("additionalProperties", True), ("unevaluatedProperties", True)]


def _shorter(facts: Schema) -> Schema:
    only = facts.get("allOf", [])
    if len(only) == 1 and not set(facts) & set(only[0]):
        facts = {keyword: value for keyword, value in facts.items() if keyword != "allOf"} | only[0]
    if "const" in facts and facts.get("type") == "string":
        del facts["type"]
    for union in ("oneOf", "anyOf"):
        texts = [branch.get("const") for branch in facts.get(union, []) if set(branch) == {"const"}]
        if texts and all(isinstance(text, str) for text in texts):
            rest = [branch for branch in facts.pop(union) if set(branch) != {"const"}]
            facts |= {union: [{"enum": texts}, *rest]} if rest else {"enum": texts}
    return facts


def write(document: Schema) -> str:
    """One type or method a line, so that a new version of the protocol reads as a diff."""
    parts = []
    for key, value in document.items():
        if key in {"methods", "$defs"}:
            lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(part)}" for name, part in value.items())
            parts.append(f"  {json.dumps(key)}: {{\n{lines}\n  }}")
        else:
            parts.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    source, version, target = sys.argv[1:]
    document = condense(json.loads(Path(source).read_text(encoding="utf-8")), version)
    Path(target).write_text(write(document), encoding="utf-8")
