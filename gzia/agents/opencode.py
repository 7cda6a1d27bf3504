"""OpenCode (npm opencode-ai).

Measured with 1.18.33, the disk as witness.  Left alone it asks for nothing.  A repository's opencode.json can lift
every permission that is set from outside (its rules stand behind ours where the order of its keys is right), and names
servers that are started before any question; so it is not read where a level must hold.  Its plan mode is not
read-only: it runs commands unasked.
"""

from __future__ import annotations

import json

from gzia.agents.base import AUTONOMOUS, READONLY, SUPERVISED, AgentSpec, Posture

# Configurations are merged key by key, and a later key wins: what "*" alone says, the user's own "edit" would undo.
CHANGING = ("*", "edit", "bash", "task", "skill", "lsp", "webfetch", "websearch", "external_directory")
HARMLESS = ("read", "glob", "grep", "list", "todowrite", "todoread")
AGENTS = ("build", "plan", "general", "explore")


def held(note: str, rest: str, *, trusting: bool = False) -> Posture:
    """Every tool that is not harmless gets the permission ``rest``; ``trusting`` reads the project's settings too."""
    permission = {**dict.fromkeys(CHANGING, rest), **dict.fromkeys(HARMLESS, "allow")}
    content = {"permission": permission, "agent": {agent: {"permission": permission} for agent in AGENTS}}
    env = {"OPENCODE_PERMISSION": json.dumps(permission), "OPENCODE_CONFIG_CONTENT": json.dumps(content)}
    if not trusting:
        env["OPENCODE_DISABLE_PROJECT_CONFIG"] = "1"
    return Posture(note, config={"mode": "build"}, env=env)


AGENT = AgentSpec(
    id="opencode",
    name="OpenCode",
    command=("opencode", "acp"),
    install="npm install -g opencode-ai",
    steering=True,
    levels={
        READONLY: held("the tools that change anything are gone; the project's opencode.json is not read", "deny"),
        SUPERVISED: held("it asks before every edit and command; the project's opencode.json is not read", "ask"),
        AUTONOMOUS: held("it asks before every edit and command, and gzia answers yes", "ask", trusting=True),
    },
)
