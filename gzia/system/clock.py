"""What time it is, as gzia writes it down."""

from __future__ import annotations

from datetime import UTC, datetime


def now() -> str:
    """The present moment, UTC, ISO 8601 with microseconds: ``2026-11-30T20:03:05.123456Z``."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
