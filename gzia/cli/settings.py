"""The settings, and where each of them comes from.

In rising order: defaults, the user's ``$XDG_CONFIG_HOME/gzia/config.toml``, ``.harness/config.toml`` of the project,
``GZIA_*`` variables; a command's own options stand above them all.  A project's file comes with a repository and is
therefore not trusted: it may choose among what the user has, but not run, grant or redirect anything.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gzia.agents.base import AgentSpec
from gzia.agents.registry import ALL, Registry, custom
from gzia.cli import durations, settings_file
from gzia.driver.turn import PermissionLevel
from gzia.errors import UsageError
from gzia.workspace.provider import GitWorkspaces

DEFAULTS: dict[str, Any] = {
    "agent": None,  # the first one that is installed
    "permission": "supervised",
    "model": None,
    "timeout": None,
    "idle_timeout": None,
    "color": "auto",
    "steer.fallback": "refuse",
}
OF_A_PROJECT = {"agent", "model", "timeout", "idle_timeout"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One value; ``source`` is ``default``, a file, or the name of a variable."""

    value: Any
    source: str


@dataclass(frozen=True, slots=True)
class AgentTable:
    """``[agents.NAME]``: ``command`` is an argument vector, empty when that agent's own is meant."""

    command: tuple[str, ...] | str = ()
    env: Mapping[str, str] = field(default_factory=dict)
    source: str = "default"


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one place.  Durations are seconds."""

    values: Mapping[str, Setting]
    agents: Mapping[str, AgentTable]

    def value(self, key: str) -> Any:
        """The value of one of :data:`DEFAULTS`, as it was written."""
        return self.values[key].value

    @property
    def agent(self) -> str | None:
        """The id of the agent to use; None: the first one that is installed."""
        return self._text("agent")

    @property
    def model(self) -> str | None:
        """The model to ask the agent for; None: its own choice."""
        return self._text("model")

    @property
    def timeout(self) -> float | None:
        """Seconds that a turn may take; None: no limit."""
        return self._seconds("timeout")

    @property
    def idle_timeout(self) -> float | None:
        """Seconds that an agent may be silent; None: no limit."""
        return self._seconds("idle_timeout")

    @property
    def steer_fallback(self) -> str:
        """What becomes of a steer that was not delivered: ``queue``, ``refuse`` or ``interrupt``."""
        return str(self.value("steer.fallback"))

    @property
    def permission(self) -> PermissionLevel:
        """How much an agent may do unasked."""
        return PermissionLevel(self.value("permission"))

    def _text(self, key: str) -> str | None:
        value = self.value(key)
        return None if value is None else str(value)

    def _seconds(self, key: str) -> float | None:
        value = self.value(key)
        return None if value is None else durations.seconds(str(value))

    def registry(self) -> Registry:
        """The agents that gzia knows together with those of the user's settings."""
        return Registry({name: _spec(name, table) for name, table in self.agents.items()})


def load(directory: Path, *, root: Path | None = None) -> Settings:
    """The settings that hold in ``directory``.

    ``root`` is the project's root when the caller knows it.  UsageError: see :mod:`gzia.cli.settings_file`, and
    ``setting-not-allowed-here``.
    """
    user, project = (
        settings_file.of_user(),
        settings_file.of_project(root or GitWorkspaces().project_root(directory)[0]),
    )
    own, shared = _flat(settings_file.read(user) or {}), _of_project(project, user)
    layers = [
        *((key, Setting(value, "default")) for key, value in DEFAULTS.items()),
        *((key, Setting(value, str(user))) for key, value in own.items()),
        *((key, Setting(value, str(project))) for key, value in shared.items()),
        *_of_environment(),
    ]
    tables = {name: _table(table, str(user)) for name, table in own.get("agents", {}).items()}
    return Settings({key: setting for key, setting in layers if key in DEFAULTS}, tables)


def _of_project(path: Path, user: Path) -> dict[str, Any]:
    document = settings_file.parse(path) or {}
    for key in document:
        if key in {*DEFAULTS, "agents", "steer"} - OF_A_PROJECT:
            raise UsageError(
                "setting-not-allowed-here", f"{path}: a project may not set “{key}”.",
                f"put it into {user}, if it is meant", data={"key": key, "file": str(path)},
            )  # fmt: skip
    if document:
        settings_file.check(document, str(path))
    return document


def _flat(document: dict[str, Any]) -> dict[str, Any]:
    """The document with the members of ``[steer]`` under their whole names as well."""
    return {**document, **{f"steer.{key}": value for key, value in document.get("steer", {}).items()}}


def _of_environment() -> list[tuple[str, Setting]]:
    names = {key: f"GZIA_{key.upper().replace('.', '_')}" for key in DEFAULTS}
    found = {key: os.environ[name] for key, name in names.items() if os.environ.get(name)}
    for key, value in found.items():
        table, _, member = key.rpartition(".")
        settings_file.check({table: {member: value}} if table else {key: value}, names[key])
    return [(key, Setting(value, names[key])) for key, value in found.items()]


def _table(table: Mapping[str, Any], source: str) -> AgentTable:
    command = table.get("command", ())
    return AgentTable(command if isinstance(command, str) else tuple(command), table.get("env", {}), source)


def _spec(name: str, table: AgentTable) -> AgentSpec:
    known = ALL.get(name)
    if table.command:
        return custom(table.command, id=name, env=table.env)
    if known:
        return replace(known, env={**known.env, **table.env})
    raise UsageError(
        "setting-invalid", f"{table.source}: “agents.{name}” has no command.", 'add: command = "program arguments"',
        data={"key": f"agents.{name}.command", "where": table.source},
    )  # fmt: skip
