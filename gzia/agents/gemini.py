"""Gemini CLI (npm @google/gemini-cli).

Measured with 0.61.0, the disk as witness.  Its plan mode runs commands unasked where the user or a trusted repository
has an allow rule, and its default mode edits unasked there; a policy given as the administrator's stands above both.
"""

from __future__ import annotations

from gzia.agents.base import AUTONOMOUS, FILES, READONLY, SUPERVISED, AgentSpec, Posture

POLICY = """\
[[rule]]
toolName = ["run_shell_command", "write_file", "replace"]
decision = "{decision}"
priority = 999
"""


def held(note: str, decision: str) -> Posture:
    """``decision`` is made about every edit and command, whatever the settings say."""
    return Posture(
        note,
        mode="default",
        args=("--admin-policy", f"{FILES}/gzia.toml"),
        files={"gzia.toml": POLICY.format(decision=decision)},
    )


AGENT = AgentSpec(
    id="gemini",
    name="Gemini CLI",
    command=("gemini", "--acp"),
    install="npm install -g @google/gemini-cli",
    steering=False,
    levels={
        READONLY: held("a policy denies its writing tools and its shell, and gzia answers no", "deny"),
        SUPERVISED: held("a policy makes it ask before every edit and command", "ask_user"),
        AUTONOMOUS: Posture("it asks before edits and commands, and gzia answers yes", mode="default"),
    },
)
