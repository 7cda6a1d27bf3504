"""The port of an agent program: how to start it, and what each permission level means to it."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gzia.driver.turn import PermissionLevel
from gzia.errors import GziaError, NotFoundError, UsageError

READONLY, SUPERVISED, AUTONOMOUS = PermissionLevel
FILES = "{files}"


@dataclass(frozen=True, slots=True)
class Posture:
    """How one agent is held to one permission level.

    ``env`` and ``args`` are added when it is started; ``files`` (name -> text) then lie in a private directory, whose
    path stands in ``args`` for :data:`FILES`.  ``meta`` goes with the request that opens the conversation, ``mode`` and
    ``config`` are set after it.  ``note`` says in a sentence what is really enforced.  ``undone_by`` are files of a
    project that would let the agent do more all the same: where one exists, the level is refused.  ``stricter`` are
    other modes that a person may choose without lifting the level.
    """

    note: str
    mode: str = ""
    config: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    meta: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    undone_by: tuple[str, ...] = ()
    stricter: tuple[str, ...] = ()

    @property
    def modes(self) -> frozenset[str]:
        """The agent's modes in which the level still holds; empty: any."""
        own = self.mode or self.config.get("mode")
        return frozenset((own, *self.stricter)) if own else frozenset()


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One agent program that speaks ACP on its standard input and output.

    ``command`` is an argument vector; its first word is looked up on PATH.  A level that is missing from ``levels``
    cannot be enforced and is refused.  ``module`` names a module of gzia instead of a command (the demo agent).
    ``steering``: whether it was seen to take a message into a running turn; None: not known before it is started.
    """

    id: str
    name: str
    command: tuple[str, ...]
    levels: Mapping[PermissionLevel, Posture]
    install: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    aliases: tuple[str, ...] = ()
    module: str = ""
    steering: bool | None = None

    def posture(self, level: PermissionLevel) -> Posture:
        """How this agent is held to ``level``; UsageError when it cannot be."""
        found = self.levels.get(level)
        if found is None:
            possible = ", ".join(self.levels)
            raise UsageError(
                "permission-not-enforceable",
                f"{self.name} cannot be held to “{level}”: nothing would stop it.",
                f"choose one of: {possible}   (gzia agents {self.id} tells what each one does)",
                data={"agent": self.id, "permission": str(level), "possible": list(self.levels)},
            )
        return found

    def located(self) -> str | None:
        """The program's path, or None when it is not on PATH.  Agents inside gzia are always there."""
        return "gzia" if self.module else shutil.which(self.command[0])

    def not_found(self) -> GziaError:
        """The error for a program that is not installed, or that lies there but cannot be run."""
        if Path(self.command[0]).exists():
            return GziaError(
                "agent-not-executable", f"{self.name}: “{self.command[0]}” is not a program that may be run.",
                f"try it by hand, or make it executable: chmod +x {self.command[0]}",
                data={"agent": self.id, "command": self.command[0]},
            )  # fmt: skip
        hint = f"install it with: {self.install}" if self.install else "check the command"
        return NotFoundError(
            "agent-not-found", f"{self.name}: the command “{self.command[0]}” is not on PATH.", hint,
            data={"agent": self.id, "command": self.command[0]},
        )  # fmt: skip


def summary(spec: AgentSpec) -> dict[str, Any]:
    """What ``gzia agents --json`` shows of one agent."""
    return {
        "id": spec.id,
        "name": spec.name,
        "path": spec.located(),
        "channel": "acp",
        "steering": spec.steering,
        "command": list(spec.command),
        "permissions": {level: posture.note for level, posture in spec.levels.items()},
        "install": spec.install,
    }
