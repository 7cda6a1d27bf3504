from __future__ import annotations

from typing import Any

import pytest

from gzia.driver.steer import DEPTH, REASON_LIMIT, SteerOutcome, SteerRequest, SteerResult, bounded
from gzia.errors import UsageError

TEXT = {"type": "text", "text": "use blue"}

# outcome -> which of (written, answered) may be told of it; everything else is a lie.
CELLS = {
    SteerOutcome.INJECTED: {(True, True)},
    SteerOutcome.FALLBACK_REQUIRED: {(False, False), (True, True)},
    SteerOutcome.UNSUPPORTED: {(False, False)},
    SteerOutcome.ADMISSION_UNKNOWN: {(False, False)},
    SteerOutcome.DELIVERY_UNKNOWN: {(True, False), (True, True)},
    SteerOutcome.DELIVERED_UNTRACKABLE: {(True, True)},
}


@pytest.mark.parametrize("outcome", SteerOutcome)
@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("answered", [False, True])
def test_only_what_the_table_allows_can_be_said(outcome: SteerOutcome, written: bool, answered: bool) -> None:
    sequence = 7 if answered else 0
    result = SteerResult(outcome, "", written, sequence, sequence, 9)

    if (written, answered) in CELLS[outcome]:
        assert result.validate() is result
    else:
        with pytest.raises(ValueError, match=outcome):
            result.validate()


@pytest.mark.parametrize(
    "changed",
    [{"receive_sequence": 6}, {"order_sequence": -1}, {"reason": "x" * (REASON_LIMIT + 1)}, {"outcome": "maybe"}],
    ids=str,
)
def test_a_result_that_contradicts_itself_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        SteerResult(SteerOutcome.INJECTED, "", True, 7, 7, 9)._replace(**changed).validate()


def test_only_what_was_certainly_not_delivered_may_be_sent_again() -> None:
    assert {one for one in SteerOutcome if one.retry_safe} == {SteerOutcome.FALLBACK_REQUIRED, SteerOutcome.UNSUPPORTED}


def test_a_reason_is_cut_between_characters() -> None:
    assert bounded("ä" * 1000) == "ä" * (REASON_LIMIT // 2)
    assert bounded("short") == "short"


def test_a_request_cannot_be_changed_from_outside() -> None:
    given: list[dict[str, Any]] = [{"type": "resource", "resource": {"uri": "file:///a", "text": "one"}}]
    request = SteerRequest(given)

    given[0]["resource"]["text"] = "two"
    request.blocks[0]["resource"]["text"] = "three"

    assert request.blocks == [{"type": "resource", "resource": {"uri": "file:///a", "text": "one"}}]


def test_a_request_is_text_only_when_all_of_it_is() -> None:
    assert SteerRequest([TEXT, TEXT]).text == "use blue\nuse blue"
    assert SteerRequest([TEXT, {"type": "image", "data": "", "mimeType": "image/png"}]).text is None


def nested(levels: int) -> dict[str, Any]:
    """A block with so many levels of objects and lists; it is the first itself."""
    value: Any = "x"
    for at in range(levels - 1):
        value = [value] if at % 2 else {"in": value}
    return {**TEXT, "_meta": value}


def cyclic() -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": "a", "_meta": {}}
    block["_meta"]["again"] = [block]
    return block


@pytest.mark.parametrize(
    "blocks",
    [
        [],
        [{"type": "text", "text": " \n"}],
        [{"type": "text"}],
        [{"type": "text", "text": 7}],
        [{"text": "a"}],
        [{"type": "video"}],
        [{"type": ["text"], "text": "a"}],
        ["text"],
        [nested(DEPTH + 1)],
        [cyclic()],
        [{**TEXT, "_meta": {"at": float("nan")}}],
        [{**TEXT, "_meta": {"at": b"bytes"}}],
        [{**TEXT, 7: "seven"}],
    ],
    ids=lambda blocks: str(blocks)[:40],
)
def test_what_cannot_be_sent_is_an_invalid_prompt(blocks: list[Any]) -> None:
    with pytest.raises(UsageError) as caught:
        SteerRequest(blocks)

    assert caught.value.code == "invalid-prompt"


def test_the_deepest_that_is_allowed_is_allowed() -> None:
    assert SteerRequest([nested(DEPTH)]).text == "use blue"


def test_the_same_value_twice_is_no_cycle() -> None:
    shared = {"a": 1}

    assert SteerRequest([{**TEXT, "_meta": {"one": shared, "two": shared}}]).text == "use blue"
