"""``--detach``: the command goes on in a process of its own, once its session has begun; no daemon, it ends by itself.

The process is forked before there is an event loop or a thread.  So it runs from the very file that was started, and
the command line, its files and standard input are read once.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any

from gzia.cli.output import Output
from gzia.errors import GziaError

Started = Callable[[str], None]


def run(work: Callable[[Started], int], out: Output) -> int:
    """Do ``work`` in a background process; 0 when it has called what it was given with its session's id.

    What goes wrong before that is raised here, with the exit status that it has, and the process has ended.
    """
    out.flush()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        return in_background(work, Report(writing))
    os.close(writing)
    try:
        report = heard(reading)
    except BaseException:  # Ctrl-C and the like: the other process is in a session of its own and did not get it
        end(pid)
        raise
    if "session" not in report:
        os.waitpid(pid, 0)
        raise failure(report)
    tell(report, out)
    return 0


class Report:
    """The background process's word to whoever waits for it: one, the first."""

    def __init__(self, fd: int) -> None:
        self._fd: int | None = fd

    def started(self, id: str) -> None:
        """The session has begun."""
        self._say({"session": id, "pid": os.getpid()})

    def failed(self, error: GziaError) -> None:
        """It has not."""
        self._say({**error.document(), "status": error.exit_status})

    def _say(self, document: dict[str, Any]) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            with os.fdopen(fd, "wb") as file:
                file.write(json.dumps(document).encode())


def in_background(work: Callable[[Started], int], report: Report) -> int:
    """What the new process does; its exit status."""
    os.setsid()
    let_go()
    try:
        return work(report.started)
    except GziaError as error:
        report.failed(error)
        return error.exit_status


def let_go() -> None:
    """Close what the caller gave us, so that nobody waits for us by a pipe: a test runner's log, a shell's ``3>``.

    Descriptors that this program has opened itself are not inheritable (PEP 446), those that it was given are.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    for fd in map(int, os.listdir("/dev/fd")):  # noqa: PTH208 -- names, not paths
        try:
            if fd > 2 and os.get_inheritable(fd):
                os.close(fd)
        except OSError:
            pass  # the descriptor of this very listing
    os.close(nowhere)


def heard(fd: int) -> dict[str, Any]:
    """What the other process says; nothing when it ends without a word."""
    with os.fdopen(fd, "rb") as file:
        said = file.read()
    report: dict[str, Any] = json.loads(said) if said else {}
    return report


def end(pid: int) -> None:
    """End the other process, which undoes what it has begun."""
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)


def failure(report: dict[str, Any]) -> GziaError:
    """What went wrong there, as the error that it was."""
    if "error" not in report:
        message = "The background process ended before its session had begun."
        return GziaError("background-ended", message, "run it without --detach to see why")
    told = dict(report["error"])
    code, message, hint = (told.pop(name) for name in ("code", "message", "hint"))
    return GziaError(code, message, hint, status=report["status"], data=told)


def tell(report: dict[str, Any], out: Output) -> None:
    """The session's id, and what can be done with it."""
    if out.json:
        out.document(report)
        return
    id = report["session"]
    out.line(id)
    out.note(("●", "green"), f" session {id} works in process {report['pid']} · gzia watch {id} · gzia wait {id}")
