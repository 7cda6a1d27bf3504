"""Codex over codex-acp (npm @agentclientprotocol/codex-acp).

Measured with 2.6.0, the disk as witness.  Its modes are sandboxes of the operating system, which its configuration does
not change; but rules of a repository (``.codex/rules``) run commands outside them, unasked, and the servers that its
``.codex/config.toml`` names are started before any question.  A refused question ends its turn as ``cancelled``.
"""

from __future__ import annotations

from gzia.agents.base import AUTONOMOUS, READONLY, SUPERVISED, AgentSpec, Posture

AGENT = AgentSpec(
    id="codex",
    name="Codex",
    command=("codex-acp",),
    install="npm install -g @agentclientprotocol/codex-acp",
    steering=True,
    levels={
        READONLY: Posture(
            "its read-only sandbox, and gzia answers no; rules of your own (~/.codex/rules) stand above that",
            mode="read-only",
            undone_by=(".codex/rules", ".codex/config.toml"),
        ),
        SUPERVISED: Posture(
            "its read-only sandbox: it asks before every change; rules of your own (~/.codex/rules) stand above that",
            mode="read-only",
            undone_by=(".codex/rules",),
        ),
        AUTONOMOUS: Posture("its workspace sandbox; what reaches beyond it is answered yes", mode="workspace-write"),
    },
)
