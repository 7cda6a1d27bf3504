"""The time as it is written down."""

from __future__ import annotations

from datetime import UTC, datetime

from gzia.system import clock


def test_now_is_utc_in_a_form_that_sorts_and_reads_back() -> None:
    before = datetime.now(UTC)

    text = clock.now()

    assert len(text) == len("2026-11-30T20:03:05.123456Z")
    assert text[-1] == "Z"
    assert before <= datetime.fromisoformat(text) <= datetime.now(UTC)
