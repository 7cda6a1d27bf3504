"""The stand-in for rpds-py gives what the original gives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import rpds as original
from hypothesis import given
from hypothesis import strategies as st

from gzia.packaging import rpds as stand_in

CHECKOUT = Path(__file__).parent.parent.parent
PAIRS = [("a", 1), ("b", 2), ("c", 3)]


def outcome(lib: Any, expression: str) -> tuple[str, object]:
    """What an expression gives, in terms that both libraries share, or the class of what it raises."""
    names = {"m": lib.HashTrieMap(PAIRS), "s": lib.HashTrieSet([1, 2, 3]), "l": lib.List([1, 2, 3])}
    try:
        value = eval(expression, {"lib": lib, **names})
    except Exception as error:  # noqa: BLE001  # which one is the question
        return "raised", type(error)
    if type(value).__name__ == "HashTrieMap":
        return "map", dict(value)
    if type(value).__name__ == "HashTrieSet":
        return "set", set(value)
    return type(value).__name__, list(value) if type(value).__name__ == "List" else value


MAPS = [
    "lib.HashTrieMap()", "lib.HashTrieMap({'a': 1})", "lib.HashTrieMap([('a', 1)], b=2)", "lib.HashTrieMap([1])",
    "m['a']", "m['z']", "m.get('a')", "m.get('z')", "m.get('z', 5)", "'a' in m", "'z' in m", "len(m)", "bool(m)",
    "sorted(m)", "sorted(m.items())", "sorted(m.keys())", "sorted(m.values())", "m.keys() == {'a', 'b', 'c'}",
    "m.insert('z', 9)", "m.insert('a', 9)", "m.remove('a')", "m.remove('z')", "m.discard('a')", "m.discard('z')",
    "m.update({'a': 7})", "m.update([('q', 7)], {'r': 8}, s=9)", "m.update()", "m.update(5)",
    "m == lib.HashTrieMap(m)", "m == dict(m)", "m != lib.HashTrieMap()", "hash(m) == hash(lib.HashTrieMap(m))",
    "hash(lib.HashTrieMap(a=[]))", "lib.HashTrieMap.convert(m) is m", "lib.HashTrieMap.convert({'a': 1})",
    "(m.insert('z', 1), m.remove('a')) and dict(m)", "isinstance(m, dict)", "repr(lib.HashTrieMap(a=1))", "m < m",
]  # fmt: skip
SETS = [
    "lib.HashTrieSet()", "lib.HashTrieSet([1, 1, 2])", "lib.HashTrieSet([[]])", "1 in s", "9 in s", "len(s)", "bool(s)",
    "sorted(s)", "s.insert(9)", "s.insert(1)", "s.insert([])", "s.remove(1)", "s.remove(9)", "s.discard(1)",
    "s.discard(9)", "s.update([7], {8})", "s.update()", "s == lib.HashTrieSet(s)", "s == {1, 2, 3}", "{1, 2, 3} == s",
    "hash(s) == hash(lib.HashTrieSet(s))", "(s.insert(9), s.discard(1)) and set(s)", "repr(lib.HashTrieSet([1]))",
]  # fmt: skip
LISTS = [
    "lib.List()", "lib.List([1, 2])", "lib.List(5)", "l.push_front(9)", "lib.List().push_front(9)", "list(l)", "len(l)",
    "bool(lib.List())", "l == lib.List(l)", "l == [1, 2, 3]", "hash(l) == hash(lib.List(l))",
    "l.push_front(9) and list(l)", "repr(l)", "hash(lib.List([[]]))",
]  # fmt: skip


@pytest.mark.parametrize("expression", [*MAPS, *SETS, *LISTS])
def test_an_expression_gives_the_same(expression: str) -> None:
    assert outcome(stand_in, expression) == outcome(original, expression)


STEP = st.tuples(st.sampled_from(["insert", "discard", "remove", "update"]), st.integers(0, 9), st.integers())


@given(st.lists(STEP, max_size=30))
def test_any_history_of_a_map_ends_the_same(steps: list[tuple[str, int, int]]) -> None:
    ends = []
    for lib in (original, stand_in):
        value: Any = lib.HashTrieMap()
        for verb, key, content in steps:
            args = {"insert": (key, content), "update": ({key: content},)}.get(verb, (key,))
            try:
                value = getattr(value, verb)(*args)
            except KeyError:
                value = value.insert(key, "was missing")
        ends.append(dict(value))

    assert ends[1] == ends[0]


@given(st.lists(st.tuples(st.sampled_from(["insert", "discard"]), st.integers(0, 9)), max_size=30))
def test_any_history_of_a_set_ends_the_same(steps: list[tuple[str, int]]) -> None:
    ends = []
    for lib in (original, stand_in):
        value: Any = lib.HashTrieSet()
        for verb, item in steps:
            value = getattr(value, verb)(item)
        ends.append(set(value))

    assert ends[1] == ends[0]


VALIDATE = """
import json, sys
if sys.argv[1] == "stand-in":
    import gzia.packaging.rpds as rpds
    sys.modules["rpds"] = rpds
import jsonschema, rpds
assert hasattr(rpds, "Queue") == (sys.argv[1] == "original")
schemas, instances = json.load(sys.stdin)
found = []
for schema in schemas:
    validator = jsonschema.validators.validator_for(schema)(schema)
    for instance in instances:
        try:
            found.append(sorted([str(e.message), list(e.absolute_path)] for e in validator.iter_errors(instance)))
        except Exception as error:
            found.append(type(error).__name__)
print(json.dumps(found, default=str))
"""

DRAFTS = [
    "http://json-schema.org/draft-03/schema#", "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema",
]  # fmt: skip
SCHEMAS: list[dict[str, object]] = [
    {"type": "object", "properties": {"a": {"$ref": "#/definitions/n"}}, "definitions": {"n": {"type": "number"}}},
    {"$defs": {"node": {"$id": "node", "$anchor": "x", "items": {"$ref": "#x"}, "maxItems": 1}}, "$ref": "node"},
    {
        "$id": "https://example.org/tree",
        "$dynamicAnchor": "t",
        "properties": {"a": {"$dynamicRef": "#t"}},
        "minProperties": 1,
    },
    {"$ref": "nowhere.json"},
    {"anyOf": [{"type": "string"}, {"required": ["a"]}], "unevaluatedProperties": False},
]
INSTANCES: list[object] = [1, "x", None, [], [[[]], []], {}, {"a": 1}, {"a": "x"}, {"a": {"a": {}}}, {"b": 1}]


def test_jsonschema_finds_the_same_errors_with_either() -> None:
    asked = json.dumps([[{"$schema": draft, **schema} for draft in DRAFTS for schema in SCHEMAS], INSTANCES])

    answers = [
        subprocess.run(
            [sys.executable, "-c", VALIDATE, which],
            input=asked,
            cwd=CHECKOUT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for which in ("original", "stand-in")
    ]

    assert len(json.loads(answers[0])) == len(DRAFTS) * len(SCHEMAS) * len(INSTANCES)
    assert answers[1] == answers[0]
