"""Pi over pi-acp (npm pi-acp, @earendil-works/pi-coding-agent).  Pi never asks for permission."""

from __future__ import annotations

from gzia.agents.base import AUTONOMOUS, AgentSpec, Posture

AGENT = AgentSpec(
    id="pi",
    name="Pi",
    aliases=("pi-agent",),
    command=("pi-acp",),
    install="npm install -g pi-acp @earendil-works/pi-coding-agent",
    steering=False,
    levels={AUTONOMOUS: Posture("it asks for nothing; the worktree is the only fence")},
)
