"""The generated checks by method, and their faults in words."""

from __future__ import annotations

from typing import Any, TypeAlias

from gzia.acp._checks import PARAMS, RESULTS, TYPES

Fault: TypeAlias = tuple[str | int, ...] | None
"""None, or the path to what is wrong and, as the last item, what is wrong with it."""

LONGEST_PATH = 200
"""Keys of an environment are part of a path, and they may be of any length."""

check_update = TYPES["SessionUpdate"]
check_content = TYPES["ContentBlock"]


def check_params(method: str, params: Any) -> Fault:
    """Check the params of a method of version 1; other methods' params are not looked at."""
    check = PARAMS.get(method)
    return check(params) if check else None


def check_result(method: str, result: Any) -> Fault:
    """Check the result of a method of version 1; other methods' results are not looked at."""
    check = RESULTS.get(method)
    return check(result) if check else None


def path(fault: tuple[str | int, ...]) -> str:
    """The place of a fault, like ``prompt[0].text``; empty for the whole."""
    text = ""
    for step in fault[:-1]:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text[:LONGEST_PATH]


def sentence(fault: tuple[str | int, ...]) -> str:
    """The fault as words: ``prompt[0].text is missing``."""
    return f"{path(fault) or 'the whole'} {fault[-1]}"
