"""gzia that starts gzia: from the very file or checkout that is running now, not from what lies at its path today.

The single file runs from a descriptor of itself, ``/proc/self/fd/N/…``; an update may replace the path meanwhile.  A
child finds the same file if it inherits N under the same number.
"""

from __future__ import annotations

import os
import re
import sys

import gzia

_CHECKOUT = """import sys
sys.path.insert(0, {root!r})
sys.path += [entry for entry in {rest!r} if entry not in sys.path]
"""

_RUN = """import os
for fd in {fds!r}: os.set_inheritable(fd, False)
sys.argv[0] = {module!r}
from {module} import {function} as run
sys.exit(run())
"""


def module_command(module: str, *args: str) -> tuple[list[str], tuple[int, ...]]:
    """The command that runs ``main()`` of a gzia module as a process, and the descriptors to pass to it.

    ``module`` is a dotted name, ``name:function`` for another function than ``main``; what the function returns is the
    exit status.  The process is isolated from the environment and the site (-I -S); it finds gzia where this process
    did, then the standard library, then whatever else is on our ``sys.path``.
    """
    name, _, function = module.partition(":")
    way = _way_to_gzia()
    fds = tuple(sorted({int(number) for number in re.findall("/proc/self/fd/([0-9]+)/", way)}))
    run = _RUN.format(fds=fds, module=name, function=function or "main")
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", way + run, *args], fds


def _way_to_gzia() -> str:
    """Python text after which another process can import gzia as we did."""
    boot = sys.modules.get("gzia_boot")  # what the single file starts with; it knows its own inside
    if boot is not None:
        return str(boot.again())
    root = os.path.dirname(os.path.dirname(os.path.abspath(gzia.__file__)))  # noqa: PTH100, PTH120 -- may lie in a zip
    return _CHECKOUT.format(root=root, rest=[os.path.abspath(entry) for entry in sys.path if entry])  # noqa: PTH100
