"""From words to a command."""

from __future__ import annotations

import pytest

from gzia.cli.commands import COMMANDS
from gzia.cli.dispatch import find
from gzia.errors import UsageError


@pytest.mark.parametrize(
    ("words", "command", "rest"),
    [
        ([], "", []),
        (["list"], "list", []),
        (["--json", "-C", "list", "show", "x"], "show", ["--json", "-C", "list", "x"]),
        (["-Cdir", "--color=never", "get", "x", "--squash"], "merge", ["-Cdir", "--color=never", "x", "--squash"]),
        (["acp", "serve", "-a", "x"], "acp serve", ["-a", "x"]),
        (["-v", "acp", "--json", "serve", "--", "x"], "acp serve", ["-v", "--json", "--", "x"]),
        (["--json"], "", ["--json"]),
        (["-C"], "", ["-C"]),
    ],
)
def test_global_options_may_stand_before_a_command(words: list[str], command: str, rest: list[str]) -> None:
    assert find(words) == (command, rest)


@pytest.mark.parametrize("words", [["-a", "demo", "run"], ["--", "list"], ["-"], ["--color-all", "list"]])
def test_other_options_may_not(words: list[str]) -> None:
    with pytest.raises(UsageError) as refused:
        find(words)

    assert refused.value.code == "unknown-option"


def test_every_command_of_the_table_is_found() -> None:
    assert [find(name.split())[0] for name in COMMANDS] == list(COMMANDS)
