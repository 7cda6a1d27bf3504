"""Several commands on one session at once, with real agents: what each of them does to the others."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gzia.cli.remote import Remote
from gzia.session.service import Service
from tests.agents_for_tests import scripted_command
from tests.cli.command import documents, gzia, start
from tests.conftest import git

DONE = {"result": {"stopReason": "end_turn"}}
NEVER = {"wait": "never"}
LOADS: dict[str, Any] = {"session/load": [{"result": {}}]}


@pytest.fixture(autouse=True)
def _nothing_is_left(repo: Path) -> Iterator[None]:
    yield
    gzia(repo, "kill", "x1")
    gzia(repo, "wait", "x1", "--timeout", "20s")


def demo(where: Path, prompt: str, *args: str) -> None:
    """A session of the demo agent in the background."""
    done = gzia(where, "run", "-a", "demo", "--id", "x1", "--detach", *args, prompt)
    assert done.returncode == 0, done.stderr


def scripted(where: Path, *steps: Any) -> str:
    """A session of a scripted agent, which cannot be steered, in the background; its command line."""
    command = scripted_command({"session/prompt": list(steps), **LOADS})
    done = gzia(where, "run", "--agent-command", command, "--id", "x1", "--detach", "first")
    assert done.returncode == 0, done.stderr
    return command


def ended(where: Path) -> str:
    return gzia(where, "wait", "x1", "--timeout", "30s").stdout


def shown(where: Path) -> dict[str, Any]:
    return documents(gzia(where, "show", "x1", "--json").stdout)[0]


def remote(where: Path) -> Remote:
    service = Service(where)
    return Remote(service, service.get("x1"))


# -- steer -----------------------------------------------------------------------------------------------------------


def test_a_message_gets_into_the_running_turn_and_what_came_of_it_is_told(repo: Path) -> None:
    demo(repo, "hang")

    done = gzia(repo, "steer", "x1", "say thanks", "--id", "mine", "--wait", "--json")

    said = documents(done.stdout)[0]
    assert (done.returncode, said["outcome"], said["steer_id"], said["note"]["acted"]) == (0, "injected", "mine", "yes")
    assert shown(repo)["steering"] == "acp"
    assert ended(repo) == "x1  done  completed\n"
    assert gzia(repo, "read", "x1", "--stat").stdout.startswith(
        "> hang\n↪ steered: say thanks — injected; acted: yes\nthanks\n"
    )


def test_where_no_agent_takes_it_it_is_refused_or_becomes_the_next_turn(repo: Path) -> None:
    scripted(repo, NEVER)

    refused = gzia(repo, "steer", "x1", "second")
    queued = gzia(repo, "steer", "x1", "second", "--or-queue", "--json")
    waiting = shown(repo)["waiting"]
    person = gzia(repo, "show", "x1").stdout

    assert (refused.returncode, "this agent takes no message" in refused.stdout) == (11, True)
    assert (queued.returncode, documents(queued.stdout)[0]["turn"]) == (0, 2)
    assert waiting == [{"turn": 2, "text": "second"}]
    assert "turn 2: second\n" in person


def test_interrupt_stops_the_turn_and_runs_the_message_next(repo: Path) -> None:
    scripted(repo, [NEVER], [{"say": "as you wish"}, DONE])

    done = gzia(repo, "steer", "x1", "do that instead", "--interrupt")

    assert done.returncode == 0, done.stderr
    assert ended(repo) == "x1  done  completed\n"
    told = gzia(repo, "read", "x1", "--stat").stdout
    assert told.index("the turn ended: cancelled") < told.index("> do that instead") < told.index("as you wish")


def test_a_name_that_was_used_is_a_conflict(repo: Path) -> None:
    scripted(repo, NEVER)
    gzia(repo, "steer", "x1", "a", "--id", "mine")

    done = gzia(repo, "steer", "x1", "b", "--id", "mine", "--json")

    assert (done.returncode, documents(done.stdout)[0]["error"]["code"]) == (6, "steer-id-taken")


# -- cancel ----------------------------------------------------------------------------------------------------------


def test_cancel_stops_what_runs_and_drops_what_waits(repo: Path) -> None:
    scripted(repo, NEVER)
    gzia(repo, "steer", "x1", "second", "--or-queue")

    done = gzia(repo, "cancel", "x1", "--json")

    assert documents(done.stdout) == [{"session": "x1", "running": 1, "dropped": [2]}]
    assert ended(repo) == "x1  done  cancelled\n"
    assert documents(gzia(repo, "cancel", "x1", "--json").stdout)[0] == {
        "session": "x1", "running": None, "dropped": [],
    }  # fmt: skip


def test_kill_ends_what_runs_and_what_waits(repo: Path) -> None:
    scripted(repo, NEVER)
    gzia(repo, "steer", "x1", "second", "--or-queue")

    done = gzia(repo, "kill", "x1")

    assert done.returncode == 0, done.stderr
    assert ended(repo) == "x1  done  killed\n"
    assert shown(repo)["waiting"] == []
    lines = [json.loads(line) for line in (repo / ".harness/sessions/x1.journal.jsonl").read_text().splitlines()]
    assert [line["turn"] for line in lines if line["kind"] == "turn"] == [1]


# -- looking on ------------------------------------------------------------------------------------------------------


def test_who_watches_gets_every_line_once(repo: Path) -> None:
    demo(repo, "hang\nslow 20")

    with start(repo, "watch", "x1", "--json") as early, start(repo, "watch", "x1", "--cursor", "3", "--json") as late:
        gzia(repo, "steer", "x1", "slow 5")
        outs = [process.communicate(timeout=30)[0] for process in (early, late)]

    journal = (repo / ".harness/sessions/x1.journal.jsonl").read_bytes()
    assert outs == [journal, b"".join(journal.splitlines(keepends=True)[3:])]


def test_wait_tells_when_an_answer_is_needed_and_anybody_can_give_it(repo: Path) -> None:
    scripted(repo, {"ask": [], "then": {"yes": [{"say": "allowed"}]}}, DONE)

    waited = gzia(repo, "wait", "x1", "--for", "input-needed", "--timeout", "20s")
    listed = gzia(repo, "list").stdout
    with remote(repo) as guest:
        outcome = {"outcome": "selected", "optionId": "yes"}
        taken = guest.ask("_gzia/answer", {"sessionId": "x1", "permissionId": "p1-1", "outcome": outcome})

    assert waited.stdout == "x1  input-needed\n"
    assert "input-needed" in listed
    assert taken == {"taken": True}
    assert ended(repo) == "x1  done  completed\n"
    assert "allowed" in gzia(repo, "read", "x1").stdout


def test_who_has_joined_keeps_a_session_in_the_background_open(repo: Path) -> None:
    demo(repo, "hang")

    with remote(repo) as guest:
        guest.ask("session/resume", {"sessionId": "x1", "cwd": str(repo), "mcpServers": []})
        gzia(repo, "steer", "x1", "say enough")
        idle = gzia(repo, "wait", "x1", "--for", "idle", "--timeout", "20s").stdout
        more = guest.begin("session/prompt", {"sessionId": "x1", "prompt": [{"type": "text", "text": "say more"}]})
        answer = guest.answer(more, None)

    assert (idle, answer["stopReason"]) == ("x1  idle\n", "end_turn")
    assert ended(repo) == "x1  done  completed\n"


def test_an_editor_joins_through_attach(repo: Path) -> None:
    demo(repo, "hang")
    hello = {"protocolVersion": 1, "clientCapabilities": {}}
    asked = [("initialize", hello), ("session/new", {"cwd": str(repo), "mcpServers": []})]

    with start(repo, "acp", "attach", "x1", stdin=-1) as process:
        assert process.stdin and process.stdout
        for id, (method, params) in enumerate(asked):
            frame = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
            process.stdin.write(json.dumps(frame).encode() + b"\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in asked]
        gzia(repo, "steer", "x1", "say hello")
        seen = b""
        while b"hello" not in seen:
            seen = process.stdout.readline()
        process.stdin.close()

        assert process.wait(20) == 0
    assert answers[1]["result"]["sessionId"] == "x1"
    assert ended(repo) == "x1  done  completed\n"


# -- going on --------------------------------------------------------------------------------------------------------


def crashed_with_a_queue(where: Path, *steps: Any) -> str:
    """A session whose gzia was killed in its first turn, while the second waited; its agent's command."""
    command = scripted(where, *steps)
    gzia(where, "steer", "x1", "second\nline", "--or-queue")
    os.kill(shown(where)["host_pid"], signal.SIGKILL)
    assert ended(where) == "x1  done  failed\n"
    return command


def test_a_crash_keeps_the_queue_and_shows_what_was_never_answered(repo: Path) -> None:
    crashed_with_a_queue(repo, NEVER)

    found, told = shown(repo), gzia(repo, "read", "x1", "--stat")

    assert (found["waiting"], found["unanswered"]) == ([{"turn": 2, "text": "second"}], [1])
    assert "! turn 1 was never answered\n▹ turn 2 waits: second\n" in told.stdout
    assert told.stderr == "Hint: run what waits with: gzia resume x1\n"


def test_what_waits_runs_when_somebody_asks_for_that_and_not_by_the_way(repo: Path) -> None:
    crashed_with_a_queue(repo, NEVER)
    command = scripted_command({"session/prompt": [{"say": "ok"}, DONE], **LOADS})

    other = gzia(repo, "run", "--session", "x1", "--agent-command", command, "third")
    resumed = gzia(repo, "resume", "x1", "fourth", "--agent-command", command, "--json")
    again = gzia(repo, "resume", "x1", "--agent-command", command, "--json")

    assert (other.returncode, other.stdout) == (0, "ok\n")
    assert "▹ 1 turn waits in this session; this runs it first: gzia resume x1\n" in other.stderr
    assert resumed.returncode == 0, resumed.stderr
    ends = [line["turn"] for line in documents(resumed.stdout) if line.get("kind") == "prompt"]
    assert ends == [2, 4]
    assert (again.returncode, documents(again.stdout)[0]["error"]["code"]) == (2, "nothing-to-resume")


def test_a_queue_that_nobody_wants_any_more_is_dropped(repo: Path) -> None:
    crashed_with_a_queue(repo, NEVER)

    done = gzia(repo, "cancel", "x1")

    assert (done.returncode, done.stdout) == (0, "■ Dropped: turn 2.\n")
    assert shown(repo)["waiting"] == []


@pytest.mark.parametrize("words", [["resume", "none"], ["resume", "none", "go"], ["run", "--session", "none", "go"]])
def test_a_session_that_is_not_there_is_status_4(repo: Path, words: list[str]) -> None:
    done = gzia(repo, *words)

    assert (done.returncode, done.stderr) == (4, "Error: There is no session none here.\nHint: see gzia list\n")


def test_a_session_that_is_open_elsewhere_is_not_resumed(repo: Path) -> None:
    demo(repo, "hang")

    done = gzia(repo, "resume", "x1", "go", "--json")

    assert (done.returncode, documents(done.stdout)[-1]["error"]["code"]) == (6, "session-running")
    assert git(repo, "status", "--porcelain") == ""
