"""Claude Code over claude-agent-acp (npm @agentclientprotocol/claude-agent-acp).

Measured with 0.101.0, the disk as witness.  Left alone it starts in a mode that edits and runs without asking.  Even in
its default mode, allow rules and hooks in the user's or the repository's settings let changes through unasked; ``ask``
rules given with the session stand above them.  Tools that are disallowed are gone, whatever any settings say.
"""

from __future__ import annotations

from typing import Any

from gzia.agents.base import AUTONOMOUS, READONLY, SUPERVISED, AgentSpec, Posture

CHANGING = ["Bash", "Write", "Edit", "MultiEdit", "NotebookEdit"]
SPAWNING = ["Task", "Agent", "KillShell"]  # a sub-agent must not get back what its parent lost


def options(**given: Any) -> dict[str, Any]:
    """Options of the Claude Agent SDK, as the adapter takes them in ``session/new``."""
    return {"claudeCode": {"options": given}}


ASKING = options(settings={"permissions": {"ask": CHANGING}})

AGENT = AgentSpec(
    id="claude",
    name="Claude Code",
    command=("claude-agent-acp",),
    install="npm install -g @agentclientprotocol/claude-agent-acp",
    steering=True,
    levels={
        READONLY: Posture(
            "the tools that change anything are taken away, hooks are off, and gzia answers no",
            mode="plan",
            meta=options(
                disallowedTools=[*CHANGING, *SPAWNING],
                strictMcpConfig=True,  # servers that a repository names would run before any question
                settings={"disableAllHooks": True},
            ),
        ),
        SUPERVISED: Posture("it asks before every edit and command", mode="default", meta=ASKING, stricter=("plan",)),
        AUTONOMOUS: Posture("it asks before every edit and command, and gzia answers yes", mode="default", meta=ASKING),
    },
)
