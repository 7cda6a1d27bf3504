"""Where gzia keeps what is its own, by the XDG Base Directory rules; the same on macOS.

A variable counts only if its path is absolute, as the rules say.  Where no home directory is known (a container's
nameless user), a directory of this user under the temporary directory stands in for it.  Nothing is created here.
"""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path


def config_home() -> Path:
    """The user's settings: ``$XDG_CONFIG_HOME/gzia``."""
    return _named("XDG_CONFIG_HOME", ".config") / "gzia"


def state_home() -> Path:
    """What gzia remembers about itself, such as logs and locks: ``$XDG_STATE_HOME/gzia``."""
    return _named("XDG_STATE_HOME", ".local/state") / "gzia"


def runtime_dirs() -> Iterator[Path]:
    """Where sockets may lie, the best place first: ``$XDG_RUNTIME_DIR/gzia``, if nobody else may write there.

    Without the variable (cron, ssh without a login manager) the place that it names nearly everywhere counts, so that
    both sides find each other.  Then a directory of this user under the temporary directory, then one under ``/tmp``,
    whose path is short.
    """
    user = os.geteuid()
    named = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}")
    if named.is_absolute() and _is_ours(named):  # after su or sudo -E it is somebody else's
        yield named / "gzia"
    yield Path(os.environ.get("TMPDIR") or "/tmp") / f"gzia-{user}-run"
    yield Path(f"/tmp/gzia-{user}-run")


def _is_ours(directory: Path) -> bool:
    try:
        found = directory.stat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


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
