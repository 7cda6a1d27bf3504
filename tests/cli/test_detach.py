"""``gzia run --detach``: the session goes on when the command has returned, and ends by itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agents_for_tests import scripted_command
from tests.cli.command import documents, gzia, start
from tests.conftest import git

DONE = {"result": {"stopReason": "end_turn"}}
NEVER = {"wait": "never"}


def detach(where: Path, script: dict[str, Any], *args: str) -> Any:
    return gzia(where, "run", "--agent-command", scripted_command(script), "--id", "x1", "--detach", *args, "go")


def prompt(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"session/prompt": list(steps)}


def shown(where: Path, id: str = "x1") -> dict[str, Any]:
    return documents(gzia(where, "show", id, "--json").stdout)[0]


@contextmanager
def held_up(fifo: Path) -> Iterator[None]:
    """While an agent stands at ``hold: fifo``; it goes on afterwards."""
    with fifo.open("w"):
        yield


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


@pytest.fixture(autouse=True)
def _nothing_is_left(repo: Path) -> Iterator[None]:
    """Whatever a test left running is ended."""
    yield
    gzia(repo, "kill", "x1")
    gzia(repo, "wait", "x1", "--timeout", "20s")


def test_it_returns_when_the_agent_has_started_and_the_turn_goes_on(repo: Path, fifo: Path) -> None:
    done = detach(repo, prompt({"hold": str(fifo)}, {"say": "All good."}, DONE), "--json")  # EOF on both its outputs

    with held_up(fifo):
        state, pid = shown(repo), documents(done.stdout)[0]["pid"]
        streams = {Path(f"/proc/{pid}/fd/{fd}").readlink() for fd in (0, 1, 2)}
    waited = gzia(repo, "wait", "x1", "--timeout", "20s")

    assert (done.returncode, done.stderr) == (0, "")
    assert documents(done.stdout) == [{"session": "x1", "pid": state["host_pid"]}]
    assert (state["live"], os.getsid(0) != pid, streams) == ("working", True, {Path(os.devnull)})
    assert waited.stdout == "x1  done  completed\n"
    assert "All good." in gzia(repo, "read", "x1").stdout


def test_who_waits_for_the_end_of_any_pipe_that_was_given_is_not_held(repo: Path, fifo: Path) -> None:
    read, write = os.pipe()
    command = scripted_command(prompt({"hold": str(fifo)}, DONE))
    words = ["run", "--agent-command", command, "--id", "x1", "--detach", "go"]

    with start(repo, *words, pass_fds=[write], stdout=subprocess.DEVNULL) as process:
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            assert pipe.read() == b""
        assert process.wait(20) == 0
        with held_up(fifo):
            assert shown(repo)["live"] == "working"


def test_a_person_gets_the_id_alone_and_what_to_type(repo: Path) -> None:
    done = detach(repo, prompt(DONE))

    assert (done.returncode, done.stdout) == (0, "x1\n")
    assert done.stderr.startswith("● session x1 works in process ")
    assert done.stderr.endswith(" · gzia watch x1 · gzia wait x1\n")


@pytest.mark.parametrize(
    ("script", "args", "status", "code"),
    [
        ({"initialize": [{"exit": 3}]}, [], 1, "agent-exited"),
        ({"session/new": [{"error": {"code": -32000, "message": "log in"}}]}, [], 1, "auth-required"),
        ({"initialize": []}, ["--timeout", "500ms"], 3, "timeout"),
        ({}, ["--base", "nowhere"], 2, "base-not-found"),
    ],
)
def test_an_agent_that_does_not_start_is_told_as_without_it_and_leaves_nothing(
    repo: Path, script: dict[str, Any], args: list[str], status: int, code: str
) -> None:
    done = detach(repo, script, "--json", *args)

    assert (done.returncode, documents(done.stdout)[-1]["error"]["code"]) == (status, code)
    assert git(repo, "branch", "--list", "harness/*") == ""
    assert documents(gzia(repo, "list", "--json").stdout)[0]["sessions"] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_giving_up_while_it_starts_leaves_nothing(repo: Path, tmp_path: Path, fifo: Path, number: int) -> None:
    log = tmp_path / "log"
    command = scripted_command({"log": str(log), "start": [{"hold": str(fifo)}]})

    with start(repo, "run", "--agent-command", command, "--id", "x1", "--detach", "go") as process:
        with held_up(fifo):
            process.send_signal(number)
            status = process.wait(20)
        assert process.stderr
        complaints = process.stderr.read()

    assert (status, complaints) == (128 + number, b"")
    assert documents(gzia(repo, "list", "--json").stdout)[0]["sessions"] == []
    with pytest.raises(ProcessLookupError):
        os.kill(json.loads(log.read_text().splitlines()[0])["start"]["pid"], 0)


def test_a_deadline_counts_in_the_background_too(repo: Path) -> None:
    detach(repo, prompt(NEVER), "--timeout", "2s")

    assert gzia(repo, "wait", "x1", "--timeout", "30s").stdout == "x1  done  timeout\n"


def test_kill_ends_it(repo: Path) -> None:
    detach(repo, prompt(NEVER))

    assert gzia(repo, "kill", "x1").returncode == 0
    assert gzia(repo, "wait", "x1", "--timeout", "20s").stdout == "x1  done  killed\n"


def test_a_failed_turn_is_in_the_record(repo: Path) -> None:
    detach(repo, prompt({"error": {"code": -32603, "message": "boom"}}))

    assert gzia(repo, "wait", "x1", "--timeout", "20s").stdout == "x1  done  failed\n"
    assert "boom" in shown(repo)["reason"]


@pytest.mark.parametrize("other", [["-q"], ["--input", "ndjson"]])
def test_what_would_print_in_the_background_is_refused(repo: Path, other: list[str]) -> None:
    done = gzia(repo, "run", "-a", "demo", "--detach", *other, "--json", "go")

    assert (done.returncode, documents(done.stdout)[-1]["error"]["code"]) == (2, "invalid-arguments")
