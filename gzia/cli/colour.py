"""When to colour: ``--color``, GZIA_COLOR, ``color`` in the user's settings, NO_COLOR, and at last the terminal.

NO_COLOR is weaker than what was set for gzia itself, as https://no-color.org asks.
"""

from __future__ import annotations

import os
from collections.abc import Callable

CHOICES = ("auto", "always", "never")


def rule(flag: str | None) -> Callable[[int], bool]:
    """The rule for a descriptor, under what ``--color`` says."""
    return lambda fd: _wanted(flag or _chosen(), fd)


def _wanted(choice: str, fd: int) -> bool:
    if choice != "auto":
        return choice == "always"
    return os.isatty(fd) and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"


def _chosen() -> str:
    from gzia.cli import settings_file

    choice = os.environ.get("GZIA_COLOR") or settings_file.glance("color")
    return choice if choice in CHOICES else "auto"
