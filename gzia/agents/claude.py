"""Claude Code over claude-agent-acp (npm @agentclientprotocol/claude-agent-acp)."""

from __future__ import annotations

from gzia.agents.base import AUTONOMOUS, READONLY, SUPERVISED, AgentSpec, Posture

AGENT = AgentSpec(
    id="claude",
    name="Claude Code",
    command=("claude-agent-acp",),
    install="npm install -g @agentclientprotocol/claude-agent-acp",
    prompt={"image": True, "embeddedContext": True},
    levels={
        READONLY: Posture("its plan mode, and gzia answers no to every change", mode="plan"),
        SUPERVISED: Posture("its default mode: it asks before edits and commands", mode="default"),
        AUTONOMOUS: Posture("its default mode, and gzia answers yes", mode="default"),
    },
)
