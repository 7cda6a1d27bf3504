"""The tolerant schema differs from the strict one in four ways and no others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gzia.packaging.tolerance import tolerant
from tests.packaging.documents import STRICT, TOLERANT, compiled

CHECK = compiled(TOLERANT)


FORGIVEN = {
    "PermissionOption/properties/kind",
    "PermissionOption/required",
    "SetSessionConfigOptionResponse/required",
}


def differences(strict: Any, lenient: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The smallest parts in which two schemas differ: ``(path, strict, lenient)``."""
    if strict == lenient:
        return
    if isinstance(strict, dict) and isinstance(lenient, dict) and lenient:
        for key in sorted(strict.keys() | lenient.keys()):
            yield from differences(strict.get(key), lenient.get(key), f"{path}/{key}")
    elif isinstance(strict, list) and isinstance(lenient, list) and len(strict) == len(lenient):
        for index, (a, b) in enumerate(zip(strict, lenient, strict=True)):
            yield from differences(a, b, f"{path}/{index}")
    else:
        yield path, strict, lenient


def reason(strict: Any, lenient: Any, path: str) -> str:
    """Which of the four this difference is; empty for none of them."""
    if path in FORGIVEN:
        return "forgiven by name"
    if lenient == {} and "error" in strict.get("x-tolerates", []):
        return "a property that receivers replace"
    if isinstance(lenient, list) and lenient == [strict, "null"] and path.endswith("/type"):
        return "null for absent"
    if path.endswith(("/oneOf", "/anyOf")) and lenient[:-1] == strict and "not" in lenient[-1]:
        return "an unknown variant"
    return ""


def found() -> list[tuple[str, str]]:
    pairs = differences(STRICT["$defs"], TOLERANT["$defs"])
    return [(path.lstrip("/"), reason(a, b, path.lstrip("/"))) for path, a, b in pairs]


def test_every_difference_is_one_of_the_four() -> None:
    assert [path for path, why in found() if not why] == []


def test_unknown_variants_pass_in_these_unions() -> None:
    opened = [path for path, why in found() if why == "an unknown variant"]

    assert opened == ["ContentBlock/oneOf", "SessionConfigOption/oneOf", "SessionUpdate/oneOf", "ToolCallContent/oneOf"]


def test_only_the_named_members_may_be_missing() -> None:
    assert {path for path, why in found() if why == "forgiven by name"} == FORGIVEN
    assert TOLERANT["$defs"]["PermissionOption"]["required"] == ["optionId", "name"]


def test_null_passes_only_where_the_schema_says_so() -> None:
    nullable = {path.removesuffix("/type") for path, why in found() if why == "null for absent"}

    assert "CreateTerminalRequest/properties/args" in nullable
    assert {path for path in nullable if "null" not in property_at(path)["x-tolerates"]} == set()


def property_at(path: str) -> Any:
    schema = STRICT["$defs"]
    for key in path.split("/"):
        schema = schema[key]
    return schema


def test_the_rest_of_the_document_is_the_same() -> None:
    assert {**TOLERANT, "$defs": None} == {**STRICT, "$defs": None}
    assert tolerant(STRICT)["$defs"].keys() == STRICT["$defs"].keys()


@pytest.mark.parametrize("tag", ["new_variant", "", "Plan"])
def test_an_update_of_an_unknown_variant_passes(tag: str) -> None:
    assert CHECK["SessionUpdate"]({"sessionUpdate": tag, "anything": [1]}) is None


def test_an_update_without_a_variant_does_not() -> None:
    assert CHECK["SessionUpdate"]({"anything": [1]}) == ("sessionUpdate", "is missing")


def test_RIG_03_an_answer_to_a_permission_of_an_unknown_variant_does_not_pass() -> None:
    fault = CHECK["RequestPermissionResponse"]({"outcome": {"outcome": "approved", "optionId": "y"}})

    assert fault == ("outcome", "outcome", "must be one of cancelled, selected")


@pytest.mark.parametrize("kind", [{}, {"kind": None}, {"kind": "allow_galaxy"}, {"kind": 7}])
def test_RIG_03_an_option_without_a_known_kind_reaches_the_rule_that_must_not_choose_it(kind: Any) -> None:
    option = {"optionId": "a", "name": "Yes", **kind}
    request = {"sessionId": "s1", "toolCall": {"toolCallId": "t1"}, "options": [option]}

    assert CHECK["RequestPermissionRequest"](request) is None
