"""OpenCode (npm opencode-ai).

Measured with 1.18.33, the disk as witness.  Left alone it asks for nothing.  Its permissions are set here twice: a
repository's opencode.json can override the variable for one agent, or name another default agent, but not the content
that is handed over for each agent; the mode is set to an agent that is covered.  Its plan mode is not read-only: it
runs commands unasked.
"""

from __future__ import annotations

import json

from gzia.agents.base import AUTONOMOUS, READONLY, SUPERVISED, AgentSpec, Posture

HARMLESS = ("read", "glob", "grep", "list", "todowrite", "todoread")
AGENTS = ("build", "plan", "general", "explore")


def held(note: str, rest: str, **more: str) -> Posture:
    """Every tool that is not harmless gets the permission ``rest``; ``more`` are further variables."""
    permission = {"*": rest, **dict.fromkeys(HARMLESS, "allow")}
    content = {"permission": permission, "agent": {agent: {"permission": permission} for agent in AGENTS}}
    variables = {"OPENCODE_PERMISSION": json.dumps(permission), "OPENCODE_CONFIG_CONTENT": json.dumps(content)}
    return Posture(note, config={"mode": "build"}, env={**variables, **more})


AGENT = AgentSpec(
    id="opencode",
    name="OpenCode",
    command=("opencode", "acp"),
    install="npm install -g opencode-ai",
    levels={
        READONLY: held(
            "the tools that change anything are taken away, the project's settings are not read, and gzia answers no",
            "deny",
            OPENCODE_DISABLE_PROJECT_CONFIG="1",  # servers that it names would run before any question
        ),
        SUPERVISED: held("it asks before every edit and command", "ask"),
        AUTONOMOUS: held("it asks before every edit and command, and gzia answers yes", "ask"),
    },
)
