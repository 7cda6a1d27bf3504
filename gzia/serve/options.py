"""gzia's own choices in an editor's session: which agent, where it works, how much it may do.

They are ACP config options, shown before those of the agent behind.  All three are settled by the first prompt.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

AGENT, ISOLATION, PERMISSION = "gzia_agent", "gzia_isolation", "gzia_permission"
WORKTREE, CHECKOUT = "worktree", "checkout"
PERMISSIONS = {"readonly": "Read only", "supervised": "Ask before changes", "autonomous": "Do not ask"}


@dataclass(frozen=True, slots=True)
class Choices:
    """What an editor's session was opened with, or changed to before its first prompt."""

    agent: str
    isolated: bool
    permission: str

    def changed(self, option: str, value: str) -> Choices:
        """These choices with one of gzia's options changed."""
        if option == ISOLATION:
            return replace(self, isolated=value == WORKTREE)
        return replace(self, agent=value) if option == AGENT else replace(self, permission=value)


def shown(choices: Choices, agents: Mapping[str, str]) -> list[dict[str, Any]]:
    """The config options for ``choices``; ``agents`` are ids with their names."""
    where = {WORKTREE: "Own worktree", CHECKOUT: "This checkout"}
    known = agents if choices.agent in agents else {**agents, choices.agent: choices.agent}
    return [
        _select(AGENT, "Agent", "Which coding agent runs", choices.agent, known.items()),
        _select(ISOLATION, "Isolation", "Where it works", WORKTREE if choices.isolated else CHECKOUT, where.items()),
        _select(PERMISSION, "Permission", "How much it may do", choices.permission, PERMISSIONS.items()),
    ]


def _select(id: str, name: str, about: str, current: str, values: Iterable[tuple[str, str]]) -> dict[str, Any]:
    options = [{"value": value, "name": title} for value, title in values]
    return {"id": id, "name": name, "description": about, "type": "select", "currentValue": current, "options": options}


def is_ours(option: str) -> bool:
    """Whether a config option is gzia's own."""
    return option in (AGENT, ISOLATION, PERMISSION)


def allowed(option: str, value: str, agents: Mapping[str, str]) -> bool:
    """Whether ``value`` is one of the values that the option shows."""
    offered = {AGENT: agents, ISOLATION: (WORKTREE, CHECKOUT), PERMISSION: PERMISSIONS}[option]
    return value in offered
