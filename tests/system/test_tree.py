"""Ending a tree from outside: all of it, and nobody else."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from gzia.system import procfs
from gzia.system.identity import identity_of
from gzia.system.process import Exit
from gzia.system.tree import end_tree, marked
from tests.system.watching import children, in_loop, started, still_running

MARK = {"GZIA_SESSION": "s1", "GZIA_ROOT": "/a root"}


class Leader(subprocess.Popen[str]):
    """A process with pipes."""

    stdin: IO[str]
    stdout: IO[str]


@contextmanager
def tree(script: str, **env: str) -> Iterator[tuple[Leader, str, list[int]]]:
    """A group led by a shell; its identity and the pid that it prints.  What is left of it at the end is killed."""
    with Leader(
        ["sh", "-c", script], env={"PATH": os.environ["PATH"], **env}, process_group=0,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as leader:  # fmt: skip
        pids = [int(leader.stdout.readline())]
        try:
            yield leader, identity_of(leader.pid) or "", pids
        finally:
            for pid in (leader.pid, *pids):
                if procfs.stat(pid) is not None:
                    os.kill(pid, signal.SIGKILL)


def end(leader: Leader, identity: str, grace: float = 5) -> bool:
    return end_tree(leader.pid, identity, session="s1", root="/a root", grace=grace)


@pytest.mark.parametrize(
    "script",
    [
        "sleep 600 & echo $!; wait",
        "sleep 600 & kill -STOP $!; echo $!; kill -STOP $$",
        "setsid sleep 600 & echo $!; wait",
    ],
    ids=["group", "stopped", "child in another session"],
)
def test_the_group_and_its_descendants_are_ended(script: str) -> None:
    with tree(script) as (leader, identity, pids):
        assert end(leader, identity)

        assert still_running(pids, 0) == set()
        assert leader.wait() == -signal.SIGTERM


def test_a_daemon_that_left_everything_but_its_environment_is_found() -> None:
    with tree("(setsid sh -c 'echo $$; exec sleep 600' &); cat", **MARK) as (leader, identity, pids):
        assert procfs.table()[pids[0]].parent != leader.pid
        assert set(marked("s1", "/a root")) >= {leader.pid, *pids}

        assert end(leader, identity)

        assert still_running(pids, 0) == set()


def test_a_daemon_is_found_even_when_the_agent_is_gone() -> None:
    with tree("(setsid sh -c 'echo $$; exec sleep 600' &); read x", **MARK) as (leader, identity, pids):
        leader.stdin.close()
        leader.wait()

        assert end(leader, identity)

        assert still_running(pids, 0) == set()
        assert not end(leader, identity)


def test_who_ignores_TERM_is_killed_after_the_grace() -> None:
    with tree("trap '' TERM; sleep 600 & echo $!; wait; wait") as (leader, identity, pids):
        begin = time.monotonic()

        assert end(leader, identity, grace=0.3)

        assert 0.3 <= time.monotonic() - begin < 3
        assert still_running(pids, 0) == set()
        assert leader.wait() == -signal.SIGKILL


def test_a_process_with_another_identity_is_left_alone_and_so_is_its_group() -> None:
    with tree("sleep 600 & echo $!; wait") as (leader, identity, pids):
        assert not end(leader, identity + "1")
        assert not end(leader, "")

        assert still_running([leader.pid, *pids], 0.05) == {leader.pid, *pids}


def test_the_group_of_a_leader_that_is_gone_is_left_alone() -> None:
    with tree("sleep 600 & echo $!; read x") as (leader, identity, pids):
        leader.stdin.close()
        leader.wait()

        assert not end(leader, identity)

        assert still_running(pids, 0.05) == set(pids)


@pytest.mark.parametrize(
    "mark",
    [{"GZIA_SESSION": "s1"}, {"GZIA_ROOT": "/a root"}, {**MARK, "GZIA_SESSION": "s10"}, {**MARK, "GZIA_ROOT": "/a"}],
)
def test_only_the_whole_mark_counts(mark: dict[str, str]) -> None:
    with tree("echo $$; cat", **mark) as (leader, _, _):
        assert leader.pid not in marked("s1", "/a root")


def test_who_calls_from_inside_the_session_is_not_ended() -> None:
    code = """import os, subprocess, sys
from gzia.system.identity import identity_of
from gzia.system.tree import end_tree
agent = subprocess.Popen(["sleep", "600"], process_group=0)
print(end_tree(agent.pid, identity_of(agent.pid), session="s1", root="/a root", grace=5), agent.wait())"""

    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": str(Path(procfs.__file__).parents[2]), "PATH": os.environ["PATH"], **MARK},
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout == f"True {-signal.SIGTERM}\n"


@in_loop
async def test_a_kill_from_another_process_ends_the_agent_of_a_living_gzia() -> None:
    agent, output = await started("sh", "-c", "setsid sleep 600 & echo $!; cat; wait", env=MARK)
    daemon = int((await output.lines(1))[0])

    ended = await asyncio.to_thread(end_tree, agent.pid, agent.identity, session="s1", root="/a root", grace=5)

    assert ended
    assert await agent.exited == Exit(None, signal.SIGTERM)
    assert await agent.end() == Exit(None, signal.SIGTERM)
    assert (still_running([daemon], 0), children()) == (set(), [])
