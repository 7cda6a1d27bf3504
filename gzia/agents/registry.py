"""The agents this program knows, in the order in which a default is looked for, and any other by its command."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from gzia.agents import claude, codex, demo, gemini, opencode, pi
from gzia.agents.base import AUTONOMOUS, SUPERVISED, AgentSpec, Posture
from gzia.errors import NotFoundError, UsageError

ALL: dict[str, AgentSpec] = {
    spec.id: spec
    for spec in (claude.AGENT, codex.AGENT, opencode.AGENT, gemini.AGENT, pi.AGENT, demo.AGENT)
}  # fmt: skip

HINT = "give a program and its arguments, for example: --agent-command 'prog args'"

# What can honestly be said of a program that gzia knows nothing about.
ANY = {
    SUPERVISED: Posture("gzia answers what the agent asks; what it does without asking is up to it"),
    AUTONOMOUS: Posture("gzia answers yes to what the agent asks"),
}


def custom(command: str | Iterable[str], *, id: str = "custom", env: Mapping[str, str] | None = None) -> AgentSpec:
    """An agent by its command line (``'prog args'`` or a list).  A known id keeps what is known about that agent."""
    try:
        argv = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as error:
        raise UsageError("invalid-agent-command", f"The agent command cannot be read: {error}.", HINT) from None
    if not argv:
        raise UsageError("invalid-agent-command", "The agent command is empty.", HINT)
    known = ALL.get(id)
    return AgentSpec(
        id=id,
        name=known.name if known else id,
        command=argv,
        levels=known.levels if known else ANY,
        env={**(known.env if known else {}), **(env or {})},
        steering=known.steering if known else None,
    )


class Registry:
    """The known agents together with those of the settings (id -> AgentSpec)."""

    def __init__(self, configured: Mapping[str, AgentSpec] | None = None) -> None:
        self.specs: dict[str, AgentSpec] = {**ALL, **(configured or {})}

    def get(self, id: str) -> AgentSpec:
        """The agent called ``id`` (or by an alias); NotFoundError names those that exist."""
        for spec in self.specs.values():
            if id == spec.id or id in spec.aliases:
                return spec
        raise NotFoundError(
            "unknown-agent", f"There is no agent called “{id}”.",
            f"choose one of: {', '.join(self.specs)}   or use --agent-command 'prog args'",
            data={"agent": id, "known": list(self.specs)},
        )  # fmt: skip

    def default(self) -> AgentSpec:
        """The first real agent that is installed."""
        for spec in self.specs.values():
            if not spec.module and spec.located():
                return spec
        raise NotFoundError("no-agent", "No coding agent was found on PATH.", "try the one inside: -a demo")
