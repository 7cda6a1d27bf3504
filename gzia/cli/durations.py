"""Durations as people type them: ``30``, ``30s``, ``2m``, ``1.5h``, ``500ms``."""

from __future__ import annotations

import re

from gzia.errors import UsageError

UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """``text`` in seconds, more than 0; UsageError ``invalid-duration``."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|h|)", text.strip(), re.ASCII)
    length = float(found[1]) * UNITS[found[2]] if found else 0.0
    if not length:
        raise UsageError("invalid-duration", f"“{text}” is not a duration.", "write for example 30, 30s, 2m or 1h")
    return length
