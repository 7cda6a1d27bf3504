"""What a command that did not end well tells its caller: a sentence and a hint, or an error document, and a status.

A person never sees a traceback: an error that nobody foresaw goes to a log file, whose name is printed.
"""

from __future__ import annotations

import errno
import os
import platform
import sys
import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path

from gzia.cli.dispatch import Terminated
from gzia.cli.output import READER_GONE, Output, OutputClosed
from gzia.errors import BUG, INTERRUPTED, GziaError
from gzia.version import VERSION

# The machine's fault, which a person can mend; any other OSError is a mistake of ours.
MENDABLE = {
    errno.EACCES, errno.EDQUOT, errno.EIO, errno.ELOOP, errno.EMFILE, errno.ENAMETOOLONG, errno.ENFILE, errno.ENOMEM,
    errno.ENOSPC, errno.EPERM, errno.EROFS,
}  # fmt: skip


def report(error: BaseException, out: Output) -> int:
    """Tell what happened, on standard error or as a document, and return the exit status."""
    # A signal may have stopped a write half-way, and nobody may be reading: nothing is added, the status says it all.
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, Terminated):
        return 128 + error.number
    known = error if isinstance(error, GziaError) else _of_the_machine(error) or _bug(error)
    try:
        out.problem(known)
        out.flush()
    except OutputClosed:
        return READER_GONE
    except GziaError as unwritten:  # standard output takes nothing: standard error is what is left
        out.json = False
        out.problem(unwritten)
    return known.exit_status


def _of_the_machine(error: BaseException) -> GziaError | None:
    if not isinstance(error, OSError) or error.errno not in MENDABLE:
        return None
    what = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
    return GziaError("system-refused", f"{what}{os.strerror(error.errno)}.", "check the disk, its space and its rights")


def _bug(error: BaseException) -> GziaError:
    log = write_log(error)
    where = f"send this file with your report: {log}" if log else "the log file could not be written"
    return GziaError(
        "internal-error",
        f"gzia made a mistake ({type(error).__name__}); this is a bug.",
        where,
        status=BUG,
        data={"log": str(log) if log else None},
    )


def write_log(error: BaseException) -> Path | None:
    """Write the traceback and the versions to a file of its own; None when no place can be written."""
    # The words of the command line stay out: they may hold what a person asked an agent, or a secret.
    at = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    text = (
        f"gzia {VERSION}\nPython {sys.version}\n{platform.platform()}\n\n{''.join(traceback.format_exception(error))}"
    )
    for folder in (_logs, _temporary):
        try:
            path = folder() / f"bug-{at}-{os.getpid()}.log"
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
            return path
        except Exception:  # noqa: BLE001  # whatever else is broken, the first mistake is the one to tell
            continue
    return None


def _logs() -> Path:
    from gzia.system.paths import state_home

    folder = state_home() / "logs"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def _temporary() -> Path:
    return Path(tempfile.mkdtemp(prefix="gzia-"))
