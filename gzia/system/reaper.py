"""Be a good process number one: collect every orphan, pass signals on, end with the program's own status.

In a container gzia may be the first process.  Then the kernel gives it all orphans, and ignores signals that it does
not handle.  Telling orphans from gzia's own children (git, guardians) by their numbers would be a guess that can take
an exit status from its owner.  So the first process becomes nothing but that, and gzia is its child.
"""

from __future__ import annotations

import os
import signal

PASSED_ON = (
    signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH,
)  # fmt: skip

SI_KERNEL = 0x80
"""``si_code`` of a signal from the terminal (sigaction(2)): the whole foreground group has got it, us included."""


def adopt_orphans() -> None:
    """Called once, before threads and children exist.  Not process one: nothing happens.

    As process one this returns in a child, which is gzia from then on; the first process never returns and ends with
    the child's status (128 + n for a signal).
    """
    if os.getpid() != 1:
        return
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGCHLD, *PASSED_ON))
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return
    os._exit(_serve(child))


def _serve(child: int) -> int:
    while (status := _collect(child)) is None:
        got = signal.sigwaitinfo((signal.SIGCHLD, *PASSED_ON))
        if got.si_signo != signal.SIGCHLD and got.si_code != SI_KERNEL:
            os.kill(child, got.si_signo)
    return status


def _collect(child: int) -> int | None:
    """Everybody who ended; the child's status for a shell once it is among them."""
    while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
        if ended[0] == child:
            code = os.waitstatus_to_exitcode(ended[1])
            return code if code >= 0 else 128 - code
    return None
