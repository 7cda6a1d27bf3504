"""Who answers a permission question, for every level and every kind of option list."""

from __future__ import annotations

from typing import Any

import pytest

from gzia.driver.turn import PermissionLevel
from gzia.session.policy import CANCELLED, allows, settle

READONLY, SUPERVISED, AUTONOMOUS = PermissionLevel


def option(kind: Any, id: str = "") -> dict[str, Any]:
    return {"optionId": id or str(kind), "name": "n", "kind": kind}


YES, ALWAYS, NO = option("allow_once"), option("allow_always"), option("reject_once")
ALL = [ALWAYS, YES, NO]


def picked(id: str) -> dict[str, Any]:
    return {"outcome": "selected", "optionId": id}


@pytest.mark.parametrize(
    ("level", "kind", "options", "alone", "with_somebody"),
    [
        (AUTONOMOUS, "edit", ALL, picked("allow_once"), picked("allow_once")),
        (AUTONOMOUS, None, ALL, picked("allow_once"), picked("allow_once")),
        (AUTONOMOUS, "edit", [ALWAYS, NO], picked("reject_once"), None),
        (AUTONOMOUS, "edit", [ALWAYS], CANCELLED, None),
        (AUTONOMOUS, "edit", [YES, option("allow_once", "other"), NO], picked("reject_once"), None),
        (AUTONOMOUS, "edit", [option("allow_galaxy")], CANCELLED, None),
        (AUTONOMOUS, "edit", [], CANCELLED, None),
        (SUPERVISED, "edit", ALL, picked("reject_once"), None),
        (SUPERVISED, "read", ALL, picked("reject_once"), None),
        (SUPERVISED, "edit", [ALWAYS, YES], CANCELLED, None),
        (READONLY, "edit", ALL, picked("reject_once"), picked("reject_once")),
        (READONLY, "execute", ALL, picked("reject_once"), picked("reject_once")),
        (READONLY, "fetch", ALL, picked("reject_once"), picked("reject_once")),
        (READONLY, "switch_mode", ALL, picked("reject_once"), picked("reject_once")),
        (READONLY, None, ALL, picked("reject_once"), picked("reject_once")),
        (READONLY, "read", ALL, picked("allow_once"), picked("allow_once")),
        (READONLY, "read", [ALWAYS], CANCELLED, None),
    ],
)
def test_RIG_03_the_level_decides_by_kind_and_asks_only_where_somebody_is(
    level: PermissionLevel, kind: str | None, options: list[Any], alone: Any, with_somebody: Any
) -> None:
    assert settle(level, kind, options, somebody=False) == alone
    assert settle(level, kind, options, somebody=True) == with_somebody


@pytest.mark.parametrize(
    ("outcome", "allowed"),
    [
        (picked("allow_once"), True),
        (picked("allow_always"), True),
        (picked("reject_once"), False),
        (picked("made up"), False),
        (CANCELLED, False),
    ],
)
def test_what_counts_as_allowed_is_the_kind_of_the_chosen_option(outcome: dict[str, Any], allowed: bool) -> None:
    assert allows(outcome, ALL) == allowed


def test_an_option_called_reject_that_means_yes_is_a_yes() -> None:
    assert allows(picked("reject"), [option("allow_once", "reject")])
