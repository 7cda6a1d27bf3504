"""Gemini CLI (npm @google/gemini-cli)."""

from __future__ import annotations

from gzia.agents.base import AUTONOMOUS, READONLY, SUPERVISED, AgentSpec, Posture

AGENT = AgentSpec(
    id="gemini",
    name="Gemini CLI",
    command=("gemini", "--acp"),
    install="npm install -g @google/gemini-cli",
    prompt={"image": True, "embeddedContext": True},
    levels={
        READONLY: Posture("its plan mode, and gzia answers no to every change", mode="plan"),
        SUPERVISED: Posture("its default mode: it asks before edits and commands", mode="default"),
        AUTONOMOUS: Posture("its default mode, and gzia answers yes", mode="default"),
    },
)
