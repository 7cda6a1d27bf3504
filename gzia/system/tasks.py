"""Tasks that nobody awaits."""

from __future__ import annotations

import asyncio
from typing import Any


def told(task: asyncio.Task[Any]) -> None:
    """A done callback: what went wrong in a task reaches the loop's exception handler instead of being forgotten."""
    if not task.cancelled():
        task.result()
