from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gzia.jsonrpc.text import encode, parse, scan, to_bytes

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None)
@given(VALUES)
def test_what_is_written_reads_back_and_is_one_line(value: Any) -> None:
    text = encode(value)

    assert parse(text) == value
    assert "\n" not in text


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a":-Infinity}', "1e999", "[-1e999]"])
def test_numbers_that_json_does_not_have_are_not_json(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)
    with pytest.raises(ValueError):
        scan(text, 0)


def test_a_number_that_cannot_be_written_is_our_mistake() -> None:
    with pytest.raises(ValueError):
        encode(float("nan"))


@pytest.mark.parametrize(
    "text",
    ["", " ", "{", '{"a":1}}', "{} {}", "nul", "'a'", "[1,]", '"\x00"', "9" * 5000, "[" * 200_000, '{"a":' * 200_000],
)
def test_what_is_not_one_json_value_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text)


def test_space_around_the_value_is_allowed() -> None:
    assert parse(' \t{"a": 1}\r\n') == {"a": 1}


def test_other_white_space_is_not() -> None:
    with pytest.raises(ValueError):
        parse("\u00a01")


def test_a_lone_surrogate_travels_as_an_escape() -> None:
    data = to_bytes(encode({"text": "half \ud83d of a pair, \U0001f600 whole"}))

    assert data == '{"text":"half \\ud83d of a pair, \U0001f600 whole"}'.encode()
    assert json.loads(data) == {"text": "half \ud83d of a pair, \U0001f600 whole"}


def test_values_nested_too_deeply_to_write_are_a_value_error() -> None:
    value: Any = []
    for _ in range(100_000):
        value = [value]

    with pytest.raises(ValueError, match="nested too deeply"):
        encode(value)
