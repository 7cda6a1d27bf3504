"""The entry of the program, and the only place that catches everything.

``gzia --version`` and ``gzia --help`` must cost no more than a bare interpreter: what they do not need is imported
further down, and only for the command that was asked for.
"""

from __future__ import annotations

import posix
import sys

from gzia.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from gzia.cli.output import Output


def entry() -> int:
    """Run the command line of this process and return its exit status (the table in the README)."""
    if sys.argv[1:] == ["--version"] and is_printed(f"gzia {VERSION}\n"):
        return 0
    from gzia.cli.output import fill_closed_descriptors

    fill_closed_descriptors()
    return run(sys.argv[1:])


def is_printed(line: str) -> bool:
    """Write a short line without importing anything; what stands in the way is met and told on the usual one."""
    try:
        return posix.write(1, line.encode()) > 0
    except OSError:
        return False


def run(words: Sequence[str]) -> int:
    """Run the command line ``words`` and return its exit status, whatever happens."""
    from gzia.cli.output import READER_GONE, Output, OutputClosed

    out = Output(json="--json" in before_dashes(words))
    try:
        status = answer(words, out)
        out.flush()
    except OutputClosed:
        return READER_GONE
    except BaseException as error:  # noqa: BLE001  # a person must never see a traceback, whatever went wrong
        from gzia.cli import faults

        return faults.report(error, out)
    return status


def answer(words: Sequence[str], out: Output) -> int:
    """Print the version or a help page, or run the command that ``words`` name."""
    asked = before_dashes(words)
    if "--version" in asked:
        return say(out, "version", f"gzia {VERSION}\n", VERSION)
    if "-h" in asked or "--help" in asked:
        return say(out, "help", page := help_for(words), page)
    from gzia.cli import dispatch

    return dispatch.run(words, out)


def say(out: Output, key: str, text: str, value: str) -> int:
    """Print ``text`` to a person, or ``{key: value}`` to a program."""
    if out.json:
        out.document({key: value})
    else:
        out.text(text)
    return 0


def help_for(words: Sequence[str]) -> str:
    """The help page of the command that ``words`` name, or the general one."""
    from gzia.cli import commands

    if all(word.startswith("-") for word in words):
        return commands.help_page()
    from gzia.cli import dispatch

    return dispatch.help_for(words)


def before_dashes(words: Sequence[str]) -> Sequence[str]:
    """The words in which options may stand: those before ``--``."""
    return words[: words.index("--")] if "--" in words else words
