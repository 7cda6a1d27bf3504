"""Who answers an agent's question: the permission level, or a person."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from gzia.acp import permission
from gzia.driver.turn import PermissionLevel

HARMLESS = {"read", "search", "think"}  # ACP tool kinds that change nothing
CANCELLED: dict[str, Any] = {"outcome": "cancelled"}
NOBODY = "no client"  # who answered, when nobody could be asked any more
WRITES = {"fs/write_text_file", "terminal/create"}  # client methods that a read-only agent may not use


class Verdict(Enum):
    ALLOW = auto()
    DENY = auto()
    ASK = auto()


def verdict(level: PermissionLevel, tool_kind: str | None) -> Verdict:
    """What the level says about a tool call of this ACP kind (None: the agent did not say)."""
    if level is PermissionLevel.AUTONOMOUS:
        return Verdict.ALLOW
    if level is PermissionLevel.READONLY:
        return Verdict.ALLOW if tool_kind in HARMLESS else Verdict.DENY
    return Verdict.ASK


def settle(
    level: PermissionLevel, tool_kind: str | None, options: list[Any], *, somebody: bool
) -> dict[str, Any] | None:
    """The outcome that needs nobody; None when a person must answer and ``somebody`` is there to do so."""
    decided = verdict(level, tool_kind)
    if decided is Verdict.ALLOW:
        chosen = permission.choose(options, allow=True)
        if chosen is not None:
            return chosen
    if decided is not Verdict.DENY and somebody:
        return None
    return permission.choose(options, allow=False)


def allows(outcome: dict[str, Any], options: list[Any]) -> bool:
    """Whether this outcome lets the agent go on."""
    chosen = outcome.get("optionId")
    return outcome.get("outcome") == "selected" and any(
        isinstance(option, dict)
        and option.get("optionId") == chosen
        and option.get("kind") in ("allow_once", "allow_always")
        for option in options
    )
