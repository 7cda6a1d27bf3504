"""A file that grows while it is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gzia.cli.follow import follow
from gzia.system import jsonl
from gzia.system.jsonl import Appender


def told(path: Path, *steps: Callable[[], object], offset: int = 0) -> list[object]:
    """What a follower hands out while the steps happen in its pauses; it is over after the last one."""
    left = list(steps)

    def pause(_: float) -> None:
        left.pop(0)()

    lines = list(follow(path, offset, lambda: not left, pause))
    return [line.value and line.value["n"] for line in lines if line is not None]


def append(path: Path, *numbers: int) -> Callable[[], object]:
    def step() -> None:
        with Appender(path) as file:
            file.append(b"".join(jsonl.dump({"n": n}) for n in numbers))

    return step


def write(path: Path, data: bytes) -> Callable[[], object]:
    def step() -> None:
        with path.open("ab") as file:
            file.write(data)

    return step


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.jsonl"


def test_history_and_what_comes_are_one_row_without_gap_or_duplicate(path: Path) -> None:
    append(path, 1, 2)()

    assert told(path, append(path, 3), append(path, 4, 5), append(path, 6)) == [1, 2, 3, 4, 5, 6]


def test_a_file_that_is_not_there_yet_is_waited_for(path: Path) -> None:
    assert told(path, append(path, 1)) == [1]


def test_what_was_written_before_the_end_is_handed_out(path: Path) -> None:
    def last_words() -> bool:
        append(path, 1)()
        return True

    assert [line.value for line in follow(path, 0, last_words, print) if line] == [{"n": 1}]


def test_a_line_is_handed_out_when_its_end_is_there(path: Path) -> None:
    assert told(path, write(path, b'{"n":'), write(path, b"1}"), write(path, b"\n")) == [1]


def test_a_damaged_line_hides_no_other(path: Path) -> None:
    assert told(path, write(path, b"{torn\n"), append(path, 2)) == [None, 2]


def test_a_tail_that_is_set_aside_costs_no_line(path: Path) -> None:
    assert told(path, append(path, 1), write(path, b'{"n":'), append(path, 2)) == [1, 2]


def test_a_batch_that_is_taken_back_and_written_again_is_followed(path: Path) -> None:
    append(path, 1, 2)()
    whole = path.stat().st_size

    def take_back() -> None:
        os.truncate(path, whole // 2)

    assert told(path, take_back, append(path, 3)) == [1, 2, 3]


def test_it_starts_where_it_is_told_to(path: Path) -> None:
    append(path, 1, 2)()

    assert told(path, append(path, 3), offset=path.stat().st_size // 2) == [2, 3]


def test_the_end_of_what_is_there_is_told_before_every_pause(path: Path) -> None:
    append(path, 1)()
    heard: list[object] = []
    over = iter([True])

    for line in follow(path, 0, lambda: next(over), lambda _: heard.append("pause")):
        heard.append(line and line.value)

    assert heard == [{"n": 1}, None, None, "pause", None]
