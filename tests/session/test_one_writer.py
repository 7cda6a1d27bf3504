"""A session belongs to one process at a time, and what it leaves on the disk does not slow those who look."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gzia.driver.turn import PermissionLevel
from gzia.errors import ConflictError
from gzia.session import ids
from gzia.session.reconcile import REASON
from gzia.session.record import Record
from gzia.session.service import Service
from gzia.system import jsonl
from tests.session.conftest import Pair

ROOT = Path(__file__).parent.parent.parent
ID = ids.parse("a1")
CLAIM = """
import sys
from pathlib import Path
from gzia.errors import GziaError
from gzia.session.service import Service
service = Service(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
try:
    service.claim("a1")
    print("has it", flush=True)
except GziaError as error:
    print(error.code, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """A project with one session that nobody has open."""
    made = Service(tmp_path)
    made.store.create(
        Record(ID, "completed", "2026-11-30T20:00:00Z", permission_level=PermissionLevel.SUPERVISED, provider="demo")
    )
    return made


@pytest.fixture
def claimer(tmp_path: Path) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """Starts a process that takes the session up when it is told to, and keeps it until the test is over."""
    started: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", CLAIM, str(tmp_path)]
        started.append(subprocess.Popen(command, cwd=ROOT, text=True, bufsize=1, stdin=-1, stdout=-1))
        assert said(started[-1]) == "ready"
        return started[-1]

    yield start
    for one in started:
        one.communicate(timeout=60)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def goes(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("go\n")


def test_JSO_03_of_processes_that_take_up_a_session_at_once_one_gets_it_and_the_others_are_told(
    service: Service, claimer: Callable[[], subprocess.Popen[str]]
) -> None:
    several = [claimer() for _ in range(4)]

    for one in several:
        goes(one)

    assert sorted(said(one) for one in several) == ["has it", "session-running", "session-running", "session-running"]
    holder = service.get(ID).host_pid
    with pytest.raises(ConflictError, match=f"open in process {holder}"):
        service.claim(ID)


def test_JSO_03_what_a_killed_process_held_is_taken_over(
    service: Service, claimer: Callable[[], subprocess.Popen[str]]
) -> None:
    first, second = claimer(), claimer()
    goes(first)
    assert said(first) == "has it"
    os.kill(first.pid, signal.SIGKILL)
    first.wait(timeout=60)

    found = service.get(ID)
    goes(second)

    assert (found.status, found.reason) == ("failed", REASON)
    assert said(second) == "has it"
    assert service.get(ID).host_pid == second.pid


def test_JSO_07_listing_and_closing_a_lost_session_do_not_depend_on_the_size_of_its_journal(
    service: Service, dead: Pair
) -> None:
    service.store.update(ID, lambda record: record.begin(*dead))
    journal = service.journal_path(ID)
    with journal.open("wb") as file:
        file.truncate(3 << 30)  # a hole: nothing can have read it in time
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + jsonl.dump({"v": 1, "n": 7, "at": "2026-11-30T20:05:00Z", "kind": "prompt", "turn": 1}))

    tracemalloc.start()
    began = time.perf_counter()
    records = [service.list().records[0] for _ in range(2)]
    took = time.perf_counter() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [(one.status, one.finished_at) for one in records] == [("failed", "2026-11-30T20:05:00Z")] * 2
    assert took < 1
    assert peak < 4 << 20
