"""Codex over codex-acp (npm @agentclientprotocol/codex-acp)."""

from __future__ import annotations

from gzia.agents.base import AUTONOMOUS, READONLY, SUPERVISED, AgentSpec, Posture

AGENT = AgentSpec(
    id="codex",
    name="Codex",
    command=("codex-acp",),
    install="npm install -g @agentclientprotocol/codex-acp",
    prompt={"image": True, "embeddedContext": True},
    levels={
        READONLY: Posture("its read-only sandbox, and gzia answers no to every change", mode="read-only"),
        SUPERVISED: Posture("its read-only sandbox: it asks before every change", mode="read-only"),
        AUTONOMOUS: Posture("its workspace sandbox, and gzia answers yes", mode="agent"),
    },
)
