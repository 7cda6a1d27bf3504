"""Where gzia keeps what is its own, by the XDG Base Directory rules; the same on macOS.

A variable counts only if its path is absolute, as the rules say.  Where no home directory is known (a container's
nameless user), a directory of this user under the temporary directory stands in for it.  Nothing is created here.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path


def config_home() -> Path:
    """The user's settings: ``$XDG_CONFIG_HOME/gzia``."""
    return _named("XDG_CONFIG_HOME", ".config") / "gzia"


def state_home() -> Path:
    """What gzia remembers about itself, such as logs and locks: ``$XDG_STATE_HOME/gzia``."""
    return _named("XDG_STATE_HOME", ".local/state") / "gzia"


def _named(variable: str, below_home: str) -> Path:
    named = Path(os.environ.get(variable, ""))
    return named if named.is_absolute() else _home() / below_home


def _home() -> Path:
    named = Path(os.environ.get("HOME", ""))
    if named.is_absolute():
        return named
    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return _temporary()


def _temporary() -> Path:
    return Path(os.environ.get("TMPDIR") or "/tmp") / f"gzia-{os.getuid()}"
