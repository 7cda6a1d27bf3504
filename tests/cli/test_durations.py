"""Durations as people type them."""

from __future__ import annotations

import pytest

from gzia.cli.durations import seconds
from gzia.errors import UsageError


@pytest.mark.parametrize(
    ("text", "length"), [("30", 30.0), ("30s", 30.0), ("2m", 120.0), ("1.5h", 5400.0), ("500ms", 0.5), (" 7s ", 7.0)]
)
def test_a_number_with_or_without_a_unit_is_a_duration(text: str, length: float) -> None:
    assert seconds(text) == length


@pytest.mark.parametrize("text", ["", "0", "0s", "-1", "s", "2 m", "1d", "inf", "nan", "1e3", "٣s", "1m30s", "9" * 400])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        seconds(text)

    assert refused.value.code == "invalid-duration"
    assert refused.value.hint == "write for example 30, 30s, 2m or 1h"
