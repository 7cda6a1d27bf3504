"""The environment that agents are given."""

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
