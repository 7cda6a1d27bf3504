"""What a session is doing: told by its processes and its worktree, never by its record alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gzia.session import ids
from gzia.session.layout import Layout
from gzia.session.liveness import holder, is_lost, live
from gzia.session.record import Record, Status
from tests.session.conftest import Pair

ID = ids.parse("a1")
NOBODY: tuple[None, str] = (None, "")
Process = Callable[[], Pair]


def record(status: Status, host: Pair | tuple[None, str], agent: Pair | tuple[None, str] = NOBODY) -> Record:
    return Record(
        ID, status, "2026-11-30T20:03:05Z", host_pid=host[0], host_identity=host[1], pid=agent[0], pid_identity=agent[1]
    )


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


def test_a_running_session_is_starting_then_working_then_broken_when_its_agent_died(
    layout: Layout, process: Process, dead: Pair
) -> None:
    host = process()

    assert live(record("running", host), layout) == "starting"
    assert live(record("running", host, process()), layout) == "working"
    assert live(record("running", host, dead), layout) == "broken"


def test_between_turns_an_open_session_is_idle(layout: Layout, process: Process) -> None:
    assert live(record("completed", process(), process()), layout) == "idle"
    assert live(record("failed", process()), layout) == "idle"


def test_what_the_session_waits_for_is_told_while_it_is_open(layout: Layout, process: Process, dead: Pair) -> None:
    host, agent = process(), process()

    def awaits(what: str, status: Status, agent: Pair | tuple[None, str]) -> str | None:
        one = record(status, host, agent)
        one.metadata["awaits"] = what
        return live(one, layout)

    assert awaits("answer", "running", agent) == "input-needed"
    assert awaits("answer", "completed", agent) == "input-needed"  # it asks between two turns
    assert awaits("answer", "running", dead) == "broken"
    assert awaits("answer", "running", NOBODY) == "starting"
    assert awaits("prompt", "running", agent) == "idle"
    assert awaits("prompt", "running", dead) == "idle"
    host = dead
    assert awaits("answer", "completed", dead) is None


def test_a_session_that_nobody_has_open_is_nothing(layout: Layout, dead: Pair) -> None:
    assert live(record("completed", NOBODY), layout) is None
    assert live(record("completed", dead, dead), layout) is None
    assert live(record("running", dead), layout) is None


def test_an_isolated_session_without_its_worktree_is_broken(layout: Layout, process: Process) -> None:
    one = record("completed", process())
    one.is_isolated = True

    before = live(one, layout)
    layout.worktree(ID).mkdir(parents=True)

    assert (before, live(one, layout)) == ("broken", "idle")


def test_a_pid_that_came_round_again_is_not_the_process(process: Process) -> None:
    pid, identity = process()

    assert is_lost(record("running", (pid, identity + "0")))
    assert holder(record("running", (pid, identity + "0"))) is None
    assert not is_lost(record("running", (pid, identity)))


def test_only_running_is_ever_lost(dead: Pair) -> None:
    assert is_lost(record("running", dead))
    assert [is_lost(record(status, dead)) for status in ("completed", "failed", "killed")] == [False] * 3


def test_the_holder_is_the_host_else_an_agent_that_outlived_it(process: Process, dead: Pair) -> None:
    host, agent = process(), process()

    assert holder(record("running", host, agent)) == host[0]
    assert holder(record("running", dead, agent)) == agent[0]
    assert holder(record("running", dead, dead)) is None


def test_a_record_of_a_program_that_tells_no_identity_is_lost_only_when_its_process_is_gone(dead: Pair) -> None:
    assert not is_lost(record("running", NOBODY, (os.getpid(), "")))
    assert is_lost(record("running", NOBODY, (dead[0], "")))
    assert is_lost(record("running", NOBODY))
