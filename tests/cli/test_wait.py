"""``gzia wait``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gzia.system.identity import identity_of
from tests.cli.command import documents, gzia, start
from tests.cli.watching import Held


@pytest.fixture
def held(repo: Path) -> Iterator[Held]:
    with Held(repo) as held:
        yield held


def test_a_session_that_has_ended_is_there_at_once(repo: Path, held: Held) -> None:
    held.let_go()

    told = gzia(repo, "wait", "x1")
    said = gzia(repo, "wait", "x1", "--for", "input-needed", "--json")

    assert (told.returncode, told.stdout) == (0, "x1  done  completed\n")
    assert documents(said.stdout) == [{"id": "x1", "state": "done", "status": "completed", "reason": None}]


def test_it_waits_for_every_one_and_tells_each_as_it_gets_there(repo: Path, held: Held) -> None:
    with Held(repo, "x2") as other, start(repo, "wait", "x1", "x2") as process:
        assert process.stdout
        other.let_go()
        assert process.stdout.readline() == b"x2  done  completed\n"
        assert process.poll() is None
        held.let_go()
        assert process.stdout.readline() == b"x1  done  completed\n"
        assert process.wait(20) == 0


def test_idle_is_between_two_turns(repo: Path, held: Held) -> None:
    held.change(pid=os.getpid(), pid_identity=identity_of(os.getpid()))

    working = gzia(repo, "wait", "x1", "--for", "idle", "--timeout", "100ms", "--json")
    held.change(status="completed")
    idle = gzia(repo, "wait", "x1", "--for", "idle", "--timeout", "10s")

    assert (working.returncode, documents(working.stdout)[-1]["error"]["ids"]) == (3, ["x1"])
    assert (idle.returncode, idle.stdout) == (0, "x1  idle\n")


def test_a_limit_is_told_with_what_is_missing(repo: Path, held: Held) -> None:
    done = gzia(repo, "wait", "x1", "--timeout", "50ms")

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "Error: After 0.05 s x1 is not done yet.\nHint: see gzia list\n"


def test_one_unknown_session_ends_it_before_it_waits(repo: Path, held: Held) -> None:
    done = gzia(repo, "wait", "x1", "none", "--json")

    assert (done.returncode, documents(done.stdout)[-1]["error"]["code"]) == (4, "session-not-found")
