"""The environments that agents and git are given."""

from __future__ import annotations

import os
from collections.abc import Mapping

# GIT_*: a hook's GIT_DIR would send the agent's commits to another repository.  PYTHON*: gzia's own start must not bend
# an agent that is written in Python.  GZIA_*: settings of this process, not of a gzia that the agent may start.
WITHHELD = ("GIT_", "PYTHON", "GZIA_")


def agent_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without :data:`WITHHELD`, with ``extra`` on top."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(WITHHELD)}
    return {**inherited, **extra}


# Where the user keeps git's configuration, and who the user is.  Unlike GIT_DIR and the rest, these name no repository.
GIT_KEPT = (
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
    "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL",
)  # fmt: skip


def git_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The environment for git: as for agents, plus :data:`GIT_KEPT`, with ``extra`` on top."""
    kept = {name: os.environ[name] for name in GIT_KEPT if name in os.environ}
    return agent_environment({**kept, **extra})
