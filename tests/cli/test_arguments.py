"""The command line is read as it is meant, or refused with a hint."""

from __future__ import annotations

import argparse

import pytest

from gzia.cli.arguments import Parser, parser_for
from gzia.errors import UsageError


def parser() -> Parser:
    made = Parser("test", "try something")
    made.add_argument("ids", nargs="*")
    made.add_argument("--force", action="store_true")
    made.add_argument("--level", choices=("low", "high"))
    return made


@pytest.mark.parametrize(
    ("words", "ids", "force"),
    [
        (["a", "--force", "b"], ["a", "b"], True),
        (["--", "--force", "-x"], ["--force", "-x"], False),
        (["a", "--", "b", "--", "c"], ["a", "b", "--", "c"], False),
        (["-"], ["-"], False),
        ([], [], False),
    ],
)
def test_operands_stand_anywhere_and_after_dashes_everything_is_one(
    words: list[str], ids: list[str], force: bool
) -> None:
    args = parser().read(words)

    assert (args.ids, args.force) == (ids, force)


@pytest.mark.parametrize(
    ("words", "code", "message", "hint"),
    [
        (["--fore"], "unknown-option", "There is no option “--fore”.", "did you mean --force?"),
        (["a", "-z"], "unknown-option", "There is no option “-z”.", "see gzia test --help"),
        (["--forc"], "unknown-option", "There is no option “--forc”.", "did you mean --force?"),
        (["--level"], "invalid-arguments", "Argument --level: expected one argument.", "see gzia test --help"),
    ],
)
def test_a_mistake_is_one_sentence_with_a_hint(words: list[str], code: str, message: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        parser().read(words)

    assert (refused.value.code, refused.value.message, refused.value.hint) == (code, message, hint)
    assert refused.value.exit_status == 2


def test_a_word_too_many_is_named() -> None:
    made = Parser("test", "try something")
    made.add_argument("id", nargs="?")

    with pytest.raises(UsageError) as refused:
        made.read(["a", "b"])

    assert refused.value.message == "There is one argument too many: “b”."


def test_every_command_takes_the_global_options() -> None:
    made, module = parser_for("completion")

    args = made.read(["bash", "--json", "-C", "/tmp", "--color=never", "-v"])

    assert vars(args) == {
        "shell": "bash", "json": True, "directory": "/tmp", "color": "never", "verbose": True, "version": False,
        "help": False,
    }  # fmt: skip
    assert module.__name__ == "gzia.cli.completion"


def test_hidden_arguments_are_not_shown() -> None:
    made = Parser("test", "try something")
    made.add_argument("--names", action="store_true", help=argparse.SUPPRESS)
    made.add_argument("--force", action="store_true")

    assert [action.dest for action in made.shown()] == ["force"]
