from __future__ import annotations

from typing import Any

import pytest

from gzia.acp.checking import LONGEST_PATH, check_params, check_result, path, sentence


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (("must be an object",), "the whole must be an object"),
        (("sessionId", "is missing"), "sessionId is missing"),
        (("prompt", 1, "content", "text", "must be a string"), "prompt[1].content.text must be a string"),
    ],
)
def test_a_fault_in_words(fault: Any, words: str) -> None:
    assert sentence(fault) == words


def test_a_path_has_its_limit() -> None:
    assert len(path(("x" * 1000, "is missing"))) == LONGEST_PATH


def test_params_and_results_are_checked_by_method() -> None:
    assert check_params("session/cancel", {}) == ("sessionId", "is missing")
    assert check_result("session/new", {"sessionId": "s1", "more": 1}) is None


def test_what_has_no_check_passes() -> None:
    assert check_params("_session/steering", 5) is None
    assert check_result("session/cancel", None) is None
