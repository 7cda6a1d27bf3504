"""JSON text as RFC 8259 has it, in both directions: what Python's ``json`` adds (NaN, Infinity) stays out."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if value - value != 0:
        # 1e999 is grammatical, but we could not write it back.
        raise ValueError(f"{digits[:40]} is out of range")
    return value


_decoder = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)
scan: Callable[[str, int], tuple[Any, int]] = _decoder.scan_once  # type: ignore[attr-defined]  # not in the stubs
"""``scan(text, start) -> (value, end)``: the one JSON value that starts exactly there.

Raises StopIteration (no value there), ValueError (a broken or refused one) or RecursionError (nested too deeply).
"""

_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":"))


def encode(value: Any) -> str:
    """One line of JSON text; lone surrogates are still raw in it, see ``to_bytes``.  ValueError: nested too deeply."""
    try:
        return _encoder.encode(value)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse(text: str) -> Any:
    """The value of a whole JSON text; ValueError for anything else, however nested or long its numbers are."""
    stripped = text.strip(" \t\r\n")
    try:
        value, end = scan(stripped, 0)
    except StopIteration:
        raise ValueError("no JSON value") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if end != len(stripped):
        raise ValueError(f"more text after the JSON value, at character {end}")
    return value


def to_bytes(text: str) -> bytes:
    """UTF-8 of JSON text; a lone surrogate, which UTF-8 cannot hold, becomes JSON's escape for it."""
    return text.encode("utf-8", "backslashreplace")
