"""RIG-03: an option is chosen by its kind, or not at all."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gzia.acp.permission import choose

CANCELLED = {"outcome": "cancelled"}


def option(ident: Any, kind: Any, name: str = "") -> dict[str, Any]:
    return {"optionId": ident, "name": name, "kind": kind}


def selected(ident: str) -> dict[str, Any]:
    return {"outcome": "selected", "optionId": ident}


YES_ALWAYS = option("a", "allow_always", "Yes, always")
YES = option("b", "allow_once", "Yes")
NO = option("r", "reject_once", "No")
NEVER = option("n", "reject_always", "Never")


def test_RIG_03_deny_without_a_reject_option_is_cancelled() -> None:
    assert choose([YES_ALWAYS, YES], allow=False) == CANCELLED


def test_RIG_03_allow_without_an_allow_option_is_nobodys_choice() -> None:
    assert choose([NO], allow=True) is None


def test_RIG_03_no_options_at_all() -> None:
    assert choose([], allow=False) == CANCELLED
    assert choose([], allow=True) is None


@pytest.mark.parametrize("kind", [None, "", "allow", "allow_galaxy", "ALLOW_ONCE", 7, ["allow_once"], {}], ids=repr)
def test_RIG_03_an_unknown_kind_is_never_chosen(kind: Any) -> None:
    options = [option("yes", kind, "Yes")]

    assert choose(options, allow=True) is None
    assert choose(options, allow=False) == CANCELLED


def test_RIG_03_a_missing_kind_is_never_chosen() -> None:
    options = [{"optionId": "allow_once", "name": "allow_once"}]

    assert choose(options, allow=True) is None
    assert choose(options, allow=False) == CANCELLED


def test_RIG_03_an_id_and_a_name_mean_nothing() -> None:
    options = [option("reject", "allow_once", "No")]

    assert choose(options, allow=True) == selected("reject")
    assert choose(options, allow=False) == CANCELLED


def test_RIG_03_two_options_of_the_kind_are_a_choice_that_is_not_ours() -> None:
    chooser = [option("red", "allow_once"), option("blue", "allow_once"), NO]

    assert choose(chooser, allow=True) is None
    assert choose(chooser, allow=False) == selected("r")


def test_two_ways_to_refuse_are_not_ours_to_choose_either() -> None:
    assert choose([option("x", "reject_once"), option("y", "reject_once"), YES], allow=False) == CANCELLED


def test_RIG_03_a_yes_is_never_for_always() -> None:
    assert choose([YES_ALWAYS], allow=True) is None
    assert choose([YES_ALWAYS, YES], allow=True) == selected("b")


def test_a_no_prefers_once() -> None:
    assert choose([NEVER, NO], allow=False) == selected("r")
    assert choose([NEVER], allow=False) == selected("n")


@pytest.mark.parametrize("options", list(permutations([YES_ALWAYS, YES, NO, NEVER])))
def test_RIG_03_the_position_means_nothing(options: tuple[dict[str, Any], ...]) -> None:
    assert choose(list(options), allow=True) == selected("b")
    assert choose(list(options), allow=False) == selected("r")


def test_RIG_03_one_id_for_yes_and_no_is_neither() -> None:
    options = [option("x", "reject_once"), option("x", "allow_once")]

    assert choose(options, allow=False) == CANCELLED
    assert choose(options, allow=True) is None


def test_one_id_for_an_option_with_and_one_without_a_kind_is_neither() -> None:
    assert choose([option("x", "reject_once"), {"optionId": "x", "name": "Yes"}], allow=False) == CANCELLED


VALUES: list[Any] = [None, 0, True, "", "x", "y", [], {}, "allow_once", "allow_always", "reject_once", "reject_always"]
ANY = st.sampled_from(VALUES)
OPTIONS = st.lists(st.one_of(ANY, st.fixed_dictionaries({}, optional={"optionId": ANY, "name": ANY, "kind": ANY})))


@settings(deadline=None, max_examples=500)
@given(options=OPTIONS, allow=st.booleans())
def test_RIG_03_whatever_is_offered_a_no_is_never_a_yes_and_no_id_is_made_up(options: list[Any], allow: bool) -> None:
    outcome = choose(options, allow)

    if outcome is None or outcome == CANCELLED:
        assert (outcome is None) == allow
    else:
        meant = [
            one.get("kind") for one in options if isinstance(one, dict) and one.get("optionId") == outcome["optionId"]
        ]
        assert meant in ([["allow_once"]] if allow else [["reject_once"], ["reject_always"]])
