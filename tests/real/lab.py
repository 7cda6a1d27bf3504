"""Where the real agents are: a directory ``lab/agents`` that is not part of this project.

It brings ``install.sh NAME…`` (real agents from npm), ``agents.py`` (how each is started offline, with a fake key) and
``fake_llm.py`` (a model server that does what the prompt says, such as ``{{edit PATH old=>new}}{{say done}}``).
``GZIA_LAB`` names the lab; otherwise it is looked for in the directories beside this checkout.  ``AGENTS_LAB`` says
where the agents are installed.  Without a lab the tests are skipped.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

CHECKOUT = Path(__file__).resolve().parents[2]
GZIA = CHECKOUT / "dist/gzia"

# Tests run in a scrubbed environment: what the person at the terminal has set is read here, once.
NAMED = os.environ.get("GZIA_LAB", "")
ROUNDS = int(os.environ.get("GZIA_ROUNDS", "10"))
INSTALLED = Path(os.environ.get("AGENTS_LAB", "/tmp/agents-lab"))
INSTALLERS = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "GIT_", "GZIA_"))}

PROGRAMS = {
    "node22": "node22/node_modules/node/bin/node",
    "opencode": "opencode/node_modules/.bin/opencode",
    "claude": "claude-acp/node_modules/.bin/claude-agent-acp",
    "codex": "codex-acp/node_modules/.bin/codex-acp",
    "gemini": "gemini/node_modules/.bin/gemini",
    "pi": "pi/node_modules/.bin/pi-acp",
    "acpx": "acpx/node_modules/.bin/acpx",
}


def find() -> Path | None:
    """The lab's ``agents`` directory."""
    roots = [Path(NAMED)] if NAMED else sorted(CHECKOUT.parent.glob("*/lab"))
    return next((root / "agents" for root in roots if (root / "agents/fake_llm.py").exists()), None)


def install(name: str) -> Path:
    """The program of an agent, installed now if it is missing."""
    program = INSTALLED / PROGRAMS[name]
    if not program.exists():
        script = find()
        assert script is not None
        command = [str(script / "install.sh"), name]
        subprocess.run(command, env={**INSTALLERS, "AGENTS_LAB": str(INSTALLED)}, check=True, capture_output=True)
    return program


@cache
def agents() -> ModuleType:
    """The lab's ``agents.py``."""
    place = find()
    assert place is not None
    sys.path.append(str(place))
    os.environ["AGENTS_LAB"] = str(INSTALLED)
    try:
        return import_module("agents")
    finally:
        sys.path.remove(str(place))


def alone() -> list[str]:
    """What starts a program where nothing but a loopback interface is, if this user may."""
    command = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    try:
        can = os.geteuid() == 0 and subprocess.run([*command, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        can = False
    return command if can else []
