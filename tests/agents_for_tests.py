"""Agents for tests: the scripted agent of gzia.testing as an AgentSpec."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import gzia
from gzia.agents.base import AgentSpec
from gzia.agents.registry import custom

SCRIPTED = Path(gzia.__file__).parent / "testing" / "scripted.py"


def scripted(script: dict[str, Any], *, id: str = "scripted") -> AgentSpec:
    """An agent that behaves as the script says (gzia/testing/scripted.py tells how)."""
    return custom([sys.executable, "-I", "-S", str(SCRIPTED), json.dumps(script)], id=id)


def scripted_command(script: dict[str, Any]) -> str:
    """The same as one command line."""
    import shlex

    return shlex.join([sys.executable, "-I", "-S", str(SCRIPTED), json.dumps(script)])
