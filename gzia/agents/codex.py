"""Codex over codex-acp (npm @agentclientprotocol/codex-acp).

Measured with 2.6.0, the disk as witness.  Its modes are sandboxes of the operating system, and neither the user's nor a
repository's configuration changes what a mode allows.  A refused question ends its turn as ``cancelled``.
"""

from __future__ import annotations

from gzia.agents.base import AUTONOMOUS, READONLY, SUPERVISED, AgentSpec, Posture

AGENT = AgentSpec(
    id="codex",
    name="Codex",
    command=("codex-acp",),
    install="npm install -g @agentclientprotocol/codex-acp",
    prompt={"image": True, "embeddedContext": True},
    levels={
        READONLY: Posture("its read-only sandbox, and gzia answers no", mode="read-only"),
        SUPERVISED: Posture("its read-only sandbox: it asks before every change", mode="read-only"),
        AUTONOMOUS: Posture("its workspace sandbox; what reaches beyond it is answered yes", mode="workspace-write"),
    },
)
