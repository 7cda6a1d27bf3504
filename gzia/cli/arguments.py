"""The command line: global options anywhere, one parser built for the one command that is asked for.

argparse reads a command's arguments, but its habits are bent in four ways: mistakes are ``UsageError`` and never end
the process here, no option may be shortened, options and operands may come in any order, and everything after ``--`` is
an operand whatever it looks like.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn

from gzia.cli.commands import COMMANDS, HOME
from gzia.errors import UsageError

# Stands before an operand that would be taken for an option.  No argument of a process can hold it.
OPERAND = "\0"


class Parser(argparse.ArgumentParser):
    """An argument parser whose mistakes are errors of ours; ``command`` is the command's name."""

    def __init__(self, command: str, summary: str) -> None:
        super().__init__(
            prog=f"gzia {command}".strip(),
            description=f"{summary[0].upper()}{summary[1:]}.",
            allow_abbrev=False,
            add_help=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.color = False  # Python 3.14 would colour the help page by its own rules.

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        raise UsageError("invalid-arguments", _sentence(message), f"see {self.prog} --help")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """The parsed command line; UsageError when it cannot mean anything."""
        args, left = self.parse_known_intermixed_args(_guarded(words))
        if left:
            raise self._not_understood(left[0].removeprefix(OPERAND))
        for name, value in vars(args).items():
            setattr(args, name, _unguarded(value))
        return args

    def shown(self) -> list[argparse.Action]:
        """What the help page shows: every argument but the hidden ones."""
        return [action for action in self._actions if action.help != argparse.SUPPRESS]

    def _not_understood(self, word: str) -> UsageError:
        hint = f"see {self.prog} --help"
        if not word.startswith("-"):
            return UsageError("unexpected-argument", f"There is one argument too many: “{word}”.", hint)
        return unknown(
            "option", word.split("=")[0], [name for each in self.shown() for name in each.option_strings], hint
        )


def parser_for(command: str) -> tuple[Parser, ModuleType]:
    """The parser of one command (its full name; empty: none was given) and its module."""
    module, summary = COMMANDS.get(command, HOME)
    loaded = import_module(module)
    parser = Parser(command, summary)
    loaded.add_arguments(parser)
    _add_global_options(parser)
    return parser, loaded


def unknown(what: str, word: str, known: Iterable[str], hint: str) -> UsageError:
    """The error for a command or an option that does not exist, with the nearest one that does."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return UsageError(f"unknown-{what}", f"There is no {what} “{word}”.", f"did you mean {near[0]}?" if near else hint)


def _add_global_options(parser: Parser) -> None:
    group = parser.add_argument_group("global options")
    group.add_argument("--json", action="store_true", help="print JSON only")
    group.add_argument("-C", dest="directory", metavar="DIR", help="work as if started in DIR")
    group.add_argument("--color", choices=("auto", "always", "never"), help="when to use colours")
    group.add_argument("-v", dest="verbose", action="store_true", help="log to standard error")
    group.add_argument("--version", action="store_true", help="print the version")
    group.add_argument("-h", "--help", action="store_true", help="print this page")


def _guarded(words: Sequence[str]) -> list[str]:
    cut = list(words).index("--") if "--" in words else len(words)
    return [*words[:cut], *(OPERAND + word for word in words[cut + 1 :])]


def _unguarded(value: Any) -> Any:
    if isinstance(value, list):
        return [_unguarded(each) for each in value]
    return value.removeprefix(OPERAND) if isinstance(value, str) else value


def _sentence(message: str) -> str:
    return f"{message[:1].upper()}{message[1:]}."
