"""Makes JSON values for a schema: mostly valid ones, and ones that are wrong in one place."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

Schema = dict[str, Any]

JUNK: list[Any] = [
    None, True, False, 0, 1, -1, 1.0, 1.5, -0.0, 2**70, 70000, "", "text", "a tag that nobody knows", [], [1], {},
    {"a": 1}, [{}], {"type": "text", "text": "t"}, {"type": "new"}, {"sessionUpdate": "new"}, {"outcome": "new"},
]  # fmt: skip
DEPTH = 8


def instance(schema: Schema, types: dict[str, Schema], random: Random, depth: int = 0) -> Any:
    """A value that ``schema`` would probably take."""
    if "$ref" in schema and len(schema) <= 2:
        return instance(types[schema["$ref"].removeprefix("#/$defs/")], types, random, depth + 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return random.choice(schema["enum"])
    members: dict[str, Any] = {}
    for part in _parts(schema, random):
        value = instance(part, types, random, depth + 1)
        if not isinstance(value, dict):
            return value
        members |= value
    kind = schema.get("type")
    kind = random.choice(kind) if isinstance(kind, list) else kind
    if kind not in (None, "object"):
        return _scalar(kind, schema, types, random, depth)
    for name, part in schema.get("properties", {}).items():
        if name in schema.get("required", []) or (depth < DEPTH and random.random() < 0.4):
            members[name] = instance(part, types, random, depth + 1)
    if isinstance(schema.get("additionalProperties"), dict):
        members["KEY"] = instance(schema["additionalProperties"], types, random, depth + 1)
    return members if set(schema) - {"x-tolerates"} else copy.deepcopy(random.choice(JUNK))


def spoiled(value: Any, random: Random) -> Any:
    """The same value, changed in one place: another value, a missing or an additional member."""
    value = copy.deepcopy(value)
    places = list(_places(value))
    if not places or random.random() < 0.05:
        return copy.deepcopy(random.choice(JUNK))
    holder, key = random.choice(places)
    if isinstance(holder, dict) and random.random() < 0.3:
        del holder[key]
    elif isinstance(holder, dict) and random.random() < 0.1:
        holder["an unknown member"] = random.choice(JUNK)
    else:
        holder[key] = copy.deepcopy(random.choice(JUNK))
    return value


def _parts(schema: Schema, random: Random) -> list[Schema]:
    parts = [{"$ref": schema["$ref"]}] if "$ref" in schema else []
    return parts + [random.choice(schema[union]) for union in ("oneOf", "anyOf") if union in schema]


def _scalar(kind: str, schema: Schema, types: dict[str, Schema], random: Random, depth: int) -> Any:
    if kind == "array":
        count = random.choice([0, 1, 1, 2]) if depth < DEPTH else 0
        return [instance(schema.get("items", {}), types, random, depth + 1) for _ in range(count)]
    values: dict[str, list[Any]] = {
        "string": ["s", "/absolute", "file:///x", "a tag that nobody knows"],
        "integer": [0, 1, 5, 1.0, 65535],
        "number": [0, 1.5, -3],
        "boolean": [True, False],
        "null": [None],
    }
    return random.choice(values[kind])


def _places(value: Any) -> Any:
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])
