"""Gemini CLI (npm @google/gemini-cli).

Measured with 0.61.0, the disk as witness.  Its plan mode runs commands unasked where the user or a trusted repository
has an allow rule; a policy given as the administrator's stands above both, so read-only takes that way.
"""

from __future__ import annotations

from gzia.agents.base import AUTONOMOUS, FILES, READONLY, SUPERVISED, AgentSpec, Posture

DENY = """\
[[rule]]
toolName = ["run_shell_command", "write_file", "replace"]
decision = "deny"
priority = 999
"""

AGENT = AgentSpec(
    id="gemini",
    name="Gemini CLI",
    command=("gemini", "--acp"),
    install="npm install -g @google/gemini-cli",
    prompt={"image": True, "audio": True, "embeddedContext": True},
    levels={
        READONLY: Posture(
            "a policy denies its writing tools and its shell, and gzia answers no",
            mode="default",
            args=("--admin-policy", f"{FILES}/readonly.toml"),
            files={"readonly.toml": DENY},
        ),
        SUPERVISED: Posture("it asks before edits and commands, unless your own rules allow them", mode="default"),
        AUTONOMOUS: Posture("it asks before edits and commands, and gzia answers yes", mode="default"),
    },
)
