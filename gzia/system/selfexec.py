"""gzia that starts gzia: from the very file or checkout that is running now, not from what lies at its path today.

The single file puts ``/proc/self/fd/N/…`` on ``sys.path``, where N is the open file itself; an update may replace the
path meanwhile.  A child finds the same entries if it inherits N under the same number.
"""

from __future__ import annotations

import os
import re
import sys

import gzia

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(gzia.__file__)))  # noqa: PTH100,PTH120 -- no such real path in a zip

_BOOT = """import sys
sys.path.insert(0, {root!r})
sys.path += [entry for entry in {rest!r} if entry not in sys.path]
for fd in {fds!r}: __import__("os").set_inheritable(fd, False)
sys.argv[0] = {module!r}
from {module} import {function} as run
sys.exit(run())"""


def module_command(module: str, *args: str) -> tuple[list[str], tuple[int, ...]]:
    """The command that runs ``main()`` of a gzia module as a process, and the descriptors to pass to it.

    ``module`` is a dotted name, ``name:function`` for another function than ``main``; what the function returns is the
    exit status.  The process is isolated from the environment and the site (-I -S); it finds gzia where this process
    did, then the standard library, then whatever else is on our ``sys.path``.
    """
    name, _, function = module.partition(":")
    rest = [os.path.abspath(entry) for entry in sys.path if entry]  # noqa: PTH100 -- as above
    fds = sorted({int(found[1]) for entry in (_ROOT, *rest) if (found := re.match("/proc/self/fd/([0-9]+)/", entry))})
    boot = _BOOT.format(root=_ROOT, rest=rest, fds=fds, module=name, function=function or "main")
    return [sys.executable, "-I", "-S", "-c", boot, *args], tuple(fds)
