"""The order of one stream."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gzia.driver.observation import PromptObservation, Sequencer


def test_what_came_over_the_wire_keeps_its_number() -> None:
    sequencer = Sequencer()

    assert [sequencer.received(n) for n in (1, 2, 5)] == [1, 2, 5]


def test_what_this_side_made_comes_after_all_before_it() -> None:
    sequencer = Sequencer()
    sequencer.received(4)

    assert (sequencer.local(), sequencer.local(), sequencer.received(5), sequencer.received(7)) == (5, 6, 6, 7)


@given(st.lists(st.one_of(st.integers(0, 50), st.none())))
def test_the_order_never_goes_down(numbers: list[int | None]) -> None:
    sequencer = Sequencer()

    keys = [sequencer.local() if n is None else sequencer.received(n) for n in numbers]

    assert keys == sorted(keys)


def test_the_response_of_a_prompt_has_the_number_of_its_line() -> None:
    assert PromptObservation("end_turn", {}, True, 7, 7).response_sequence == 7
