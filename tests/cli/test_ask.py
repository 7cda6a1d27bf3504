"""A permission asked on a real terminal, while the turn goes on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pexpect
import pytest

from gzia.cli.ask import details, keys
from tests.agents_for_tests import scripted_command
from tests.cli.command import environment

DONE = {"result": {"stopReason": "end_turn"}}
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def asking(*files: str) -> dict[str, Any]:
    """An agent that asks before it writes each of these files."""
    steps: list[dict[str, Any]] = [
        {"ask": OPTIONS, "toolCall": {"toolCallId": name, "title": f"Write {name}", "kind": "edit"},
         "then": {"yes": [{"write": [name, "written"]}]}}
        for name in files
    ]  # fmt: skip
    return {"session/prompt": [*steps, {"say": "done"}, DONE]}


@contextmanager
def terminal(repo: Path, script: dict[str, Any], *args: str) -> Iterator[Any]:
    command = ["-m", "gzia", "run", "--id", "x1", "--agent-command", scripted_command(script), *args, "go"]
    child = pexpect.spawn(sys.executable, command, cwd=str(repo), env=environment(), encoding="utf-8", timeout=30)
    try:
        yield child
        child.expect(pexpect.EOF)
    finally:
        child.close()


@pytest.mark.parametrize("args", [(), ("-q",)])
@pytest.mark.parametrize(("typed", "written"), [("y", True), ("n", False)])
def test_the_answer_of_a_person_counts(repo: Path, args: tuple[str, ...], typed: str, written: bool) -> None:
    with terminal(repo, asking("a.txt"), *args) as child:
        child.expect_exact("Allow? Write a.txt")
        child.sendline(typed)
        child.expect_exact("done")

    assert child.exitstatus == 0
    assert (repo / ".harness/worktrees/x1/a.txt").exists() == written


def test_a_word_that_is_no_answer_is_asked_again(repo: Path) -> None:
    with terminal(repo, asking("a.txt")) as child:
        child.expect_exact("> ")
        child.sendline("perhaps")
        child.expect_exact("please type one of the letters")
        child.sendline("Y")

    assert (repo / ".harness/worktrees/x1/a.txt").exists()


def test_questions_are_asked_one_after_another(repo: Path) -> None:
    with terminal(repo, asking("a.txt", "b.txt")) as child:
        for name, typed in (("a.txt", "n"), ("b.txt", "y")):
            child.expect_exact(f"Allow? Write {name}")
            child.sendline(typed)

    assert [(repo / ".harness/worktrees/x1" / name).exists() for name in ("a.txt", "b.txt")] == [False, True]


def test_ctrl_d_means_that_nobody_answers_any_more(repo: Path) -> None:
    with terminal(repo, asking("a.txt", "b.txt")) as child:
        child.expect_exact("> ")
        child.sendeof()

    assert child.exitstatus == 5
    assert not (repo / ".harness/worktrees/x1/b.txt").exists()


def test_ctrl_c_at_a_question_cancels_the_turn(repo: Path) -> None:
    with terminal(repo, asking("a.txt")) as child:
        child.expect_exact("> ")
        child.sendintr()

    assert child.exitstatus == 130
    assert not (repo / ".harness/worktrees/x1/a.txt").exists()


def test_an_option_is_chosen_by_a_letter_where_its_kind_is_the_only_one_else_by_a_number() -> None:
    twice = [*OPTIONS, {"optionId": "other", "name": "Yes, differently", "kind": "allow_once"}]

    assert [key for key, _, _ in keys(OPTIONS)] == ["y", "n"]
    assert [key for key, _, _ in keys(twice)] == ["1", "n", "3"]


def test_the_change_that_is_asked_about_is_shown_and_cannot_drive_the_terminal() -> None:
    change = {"type": "diff", "path": "f.txt", "oldText": "one\ntwo\n", "newText": "one\n\x1b[2Jthree\n"}

    shown = details({"content": [change], "rawInput": {"command": ["rm", "-rf", "a b"]}})

    assert "    | -two\n" in shown
    assert "    | +\\x1b[2Jthree\n" in shown
    assert "    | rm -rf 'a b'\n" in shown


def test_a_long_change_is_cut_and_told_as_cut() -> None:
    change = {"type": "diff", "path": "f.txt", "oldText": None, "newText": "line\n" * 100}

    assert details({"content": [change]}).splitlines()[-1].startswith("    | … ")
