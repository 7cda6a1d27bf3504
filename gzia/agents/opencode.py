"""OpenCode (npm opencode-ai).  Left alone it asks for nothing: its questions are switched on here."""

from __future__ import annotations

from gzia.agents.base import AUTONOMOUS, READONLY, SUPERVISED, AgentSpec, Posture

AGENT = AgentSpec(
    id="opencode",
    name="OpenCode",
    command=("opencode", "acp"),
    install="npm install -g opencode-ai",
    prompt={"image": True, "embeddedContext": True},
    levels={
        READONLY: Posture(
            "its permissions are set to deny", env={"OPENCODE_PERMISSION": '{"edit":"deny","bash":"deny"}'}
        ),
        SUPERVISED: Posture(
            "its permissions are set to ask", env={"OPENCODE_PERMISSION": '{"edit":"ask","bash":"ask"}'}
        ),
        AUTONOMOUS: Posture(
            "its permissions are set to ask, and gzia answers yes",
            env={"OPENCODE_PERMISSION": '{"edit":"ask","bash":"ask"}'},
        ),
    },
)
