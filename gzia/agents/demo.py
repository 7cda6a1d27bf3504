"""The demo agent inside gzia: no network, no key, real edits."""

from __future__ import annotations

from gzia.agents.base import AUTONOMOUS, READONLY, SUPERVISED, AgentSpec, Posture

AGENT = AgentSpec(
    id="demo",
    name="Demo agent",
    command=("gzia-demo",),
    module="gzia.testing.demo",
    steering=True,
    levels={
        READONLY: Posture("it refuses to write by itself, and gzia answers no to every change", mode="read"),
        SUPERVISED: Posture("it asks before every change", mode="ask", stricter=("read",)),
        AUTONOMOUS: Posture("it asks, and gzia answers yes", mode="ask"),
    },
)
