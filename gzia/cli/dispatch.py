"""From the words of a command line to the command: find it, read its arguments, go where it shall work, run it."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from gzia.cli import arguments, colour, commands
from gzia.cli.output import Output
from gzia.errors import NotFoundError, UsageError

WITH_VALUE = ("-C", "--color")
ALONE = ("--json", "-v", "-h", "--help")
HINT = "see gzia --help"


class Terminated(BaseException):
    """A signal asks this process to end; ``number`` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run(words: Sequence[str], out: Output) -> int:
    """Run the command that ``words`` name and return its exit status."""
    command, rest = find(words)
    parser, module = arguments.parser_for(command)
    args = parser.read(rest)
    out.json, out.colour_of = args.json, colour.rule(args.color)
    if args.verbose:
        log_to_stderr()
    args.out, args.directory = out, enter(args.directory)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # whoever started us may have ignored it: then git has no status
    if os.getpid() == 1:
        from gzia.system.reaper import adopt_orphans

        adopt_orphans()
    listen_for_the_end()
    status: int = module.run(args)
    return status


def help_for(words: Sequence[str]) -> str:
    """The help page of a command or of a group of commands, or the general one."""
    _, name, after = take(words)
    if not name or (name in commands.GROUPS and not take(after)[1]):
        return commands.help_page(name)
    return arguments.parser_for(find(words)[0])[0].format_help()


def find(words: Sequence[str]) -> tuple[str, list[str]]:
    """The command's full name (empty: none given) and the words for its parser, global options included."""
    before, named, after = take(words)
    if not named:
        return "", before
    name = commands.ALIASES.get(named, named)
    if name in commands.GROUPS:
        more, second, after = take(after)
        before, name = [*before, *more], f"{name} {second}".strip()
    if name not in commands.COMMANDS:
        raise no_command(name)
    return name, [*before, *after]


def take(words: Sequence[str]) -> tuple[list[str], str, list[str]]:
    """The global options at the front, the first word that is none (or empty), and what follows."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        word = words[at]
        if not word.startswith(("-C", "--color=")) and word not in (*WITH_VALUE, *ALONE):
            raise arguments.unknown("option", word, (*WITH_VALUE, *ALONE), "options of a command follow the command")
        at += 2 if word in WITH_VALUE else 1
    return list(words[:at]), "".join(words[at : at + 1]), list(words[at + 1 :])


def no_command(name: str) -> UsageError:
    """The error for a command that does not exist, or for half of one."""
    group = [each for each in commands.COMMANDS if each.split()[0] == name]
    if group:
        return UsageError("command-missing", f"“{name}” needs to know what to do.", f"type gzia {group[0]}")
    return arguments.unknown("command", name, (*commands.COMMANDS, *commands.ALIASES), HINT)


def enter(directory: str | None) -> Path:
    """Go to the directory of ``-C`` and return where we are."""
    try:
        if directory is not None:
            os.chdir(directory)
        return Path.cwd()
    except OSError as error:
        where = "The current directory" if directory is None else f"The directory “{directory}”"
        message = f"{where} cannot be entered: {os.strerror(error.errno or 0)}."
        raise NotFoundError("directory-not-found", message, "give another one with -C DIR") from None


def listen_for_the_end() -> None:
    """Let SIGTERM and SIGHUP unwind the command, so that it can clean up; under nohup SIGHUP stays ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def _end(number: int, _frame: FrameType | None) -> None:
    # The clean-up that now begins must not be torn by the next impatient signal; SIGKILL remains.
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise Terminated(number)


def log_to_stderr() -> None:
    """``-v``: everything that the rooms log, on standard error."""
    import logging

    logging.basicConfig(level=logging.DEBUG, format="%(asctime)s %(name)s: %(message)s")
