"""The commands on sessions, each as a person and as a program sees it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gzia.cli.sessions import age, title
from gzia.driver.turn import PermissionLevel
from gzia.session.ids import SessionId
from gzia.session.record import Record
from gzia.session.service import Service
from gzia.system import jsonl
from tests.cli.conftest import GZIA, Answer, Call
from tests.conftest import git

LATE = "2099-01-01T00:00:00Z"


@pytest.fixture
def service(repo: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> Service:
    """The sessions of a repository in which the commands are run."""
    monkeypatch.chdir(repo)
    return Service(repo)


def made(service: Service, id: str, prompt: str = "fix it\nplease", *, isolate: bool = True) -> Path:
    """A session that has ended; where it worked."""
    record = service.create(
        provider="demo", permission_level=PermissionLevel.SUPERVISED, id=id, prompt=prompt, isolate=isolate
    )

    def end(now: Record) -> None:
        now.finish("completed", LATE)
        now.host_pid = None

    service.store.update(record.id, end)
    return Path(record.worktree_dir or record.working_dir)


def test_list_shows_the_newest_first_and_is_a_table_for_a_pipe(service: Service, call: Call) -> None:
    made(service, "older", "\n\n  first line\x1b[2J\nsecond")
    made(service, "newer", "t" * 300)

    told = call("list")
    document = json.loads(call("list", "--json").out)

    assert re.sub(r" \d+s", " 0s", told.out) == (
        f"SESSION  STATE      AGENT  AGE  TITLE\n"
        f"newer    completed  demo   0s   {'t' * 300}\n"
        f"older    completed  demo   0s   first line\\x1b[2J\n"
    )
    assert (told.status, told.err) == (0, "")
    assert [(each["id"], each["status"], each["live"]) for each in document["sessions"]] == [
        ("newer", "completed", None), ("older", "completed", None),
    ]  # fmt: skip
    assert document["damaged"] == []
    assert call("list", "--names").out == "newer\nolder\n"


def test_an_empty_project_says_so_and_stays_empty(service: Service, call: Call, repo: Path) -> None:
    assert call("list") == Answer(0, "", "No sessions here yet.\n")
    assert call("list", "--json") == Answer(0, '{"sessions":[],"damaged":[]}\n', "")
    assert not (repo / ".harness").exists()


def test_a_damaged_record_is_named_and_hides_no_other(service: Service, call: Call, repo: Path) -> None:
    made(service, "good")
    made(service, "bad")
    (repo / ".harness/sessions/bad.json").write_text("{")

    document = json.loads(call("list", "--json").out)
    (repo / ".harness/sessions/bad.json").write_text("")
    told = call("show", "bad")

    assert {each["id"] for each in document["sessions"]} == {"good", "bad"}
    assert [(each["id"], each["reason"]) for each in document["damaged"]] == [("bad", "it is not a JSON object")]
    assert told.status == 0
    assert told.err.startswith("Warning: The record of session bad was damaged (it is empty) and was rebuilt; ")


def test_show_tells_what_is_known_and_gives_a_program_the_record(service: Service, call: Call) -> None:
    made(service, "one")

    told = call("show", "one").out
    document = json.loads(call("show", "one", "--json").out)

    assert re.search(r"^status +completed$", told, re.M)
    assert re.search(r"^initial_prompt +fix it\\nplease$", told, re.M)
    assert "summary" not in told
    owed: dict[str, Any] = {"steering": None, "waiting": [], "unanswered": [], "unsettled": []}
    assert document == {**service.get("one").to_json(), "live": None, **owed}


def test_path_is_a_word_for_cd(service: Service, call: Call) -> None:
    where = made(service, "one")

    assert call("path", "one") == Answer(0, f"{where}\n", "")
    assert json.loads(call("path", "one", "--json").out) == {"id": "one", "path": str(where)}


def test_a_patch_on_a_pipe_applies_byte_for_byte(service: Service, call: Call, repo: Path, tmp_path: Path) -> None:
    where = made(service, "one")
    name = os.fsdecode(b"caf\xe9 \x1b.txt")
    (where / name).write_bytes(b"latin \xe9\r\n\x1b[2J\n")
    (where / "f.txt").write_text("two\n")

    patch = subprocess.run([*GZIA, "diff", "one"], cwd=repo, capture_output=True, check=True).stdout
    document = json.loads(call("diff", "one", "--json").out)
    stat = call("diff", "one", "--stat").out
    git(tmp_path, "clone", "-q", str(repo), "copy")
    subprocess.run(["git", "-C", str(tmp_path / "copy"), "apply"], input=patch, check=True)

    assert (tmp_path / "copy" / name).read_bytes() == b"latin \xe9\r\n\x1b[2J\n"
    assert document["patch"].encode("utf-8", "surrogateescape") == patch
    assert [os.fsencode(each["path"]) for each in document["files"]] == [b"caf\xe9 \x1b.txt", b"f.txt"]
    assert stat == "A     +2    -0  caf\\xe9 \\x1b.txt\nM     +1    -1  f.txt\n"
    assert "patch" not in json.loads(call("diff", "one", "--json", "--stat").out)


def test_read_shows_who_said_what_and_the_changes(service: Service, call: Call) -> None:
    where = made(service, "one")
    (where / "f.txt").write_text("two\n")
    lines: list[dict[str, Any]] = [
        {"kind": "session", "state": "opened", "record": {}},
        {"kind": "input", "input": "prompt", "blocks": [{"type": "text", "text": "fix it\nplease"}, {"type": "image"}]},
        _update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Look\x1b[2Jing "}}),
        _update({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hmm"}}),
        _update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "at it"}}),
        _update({"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Edit f.txt", "status": "pending"}),
        {"kind": "permission", "permission_id": "p1", "state": "asked", "tool_call": {}, "options": []},
        {"kind": "permission", "permission_id": "p1", "state": "answered", "allowed": False, "by": "policy:supervised"},
        _update({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "failed"}),
        {"kind": "input", "input": "cancel"},
        {"kind": "prompt", "stop_reason": "cancelled"},
        {"kind": "session", "state": "agent-gone", "turn": 1, "error": {"code": "x", "message": "The agent\ndied."}},
        {"kind": "session", "state": "agent-gone", "turn": None, "error": {"code": "x", "message": "It ended."}},
        {"kind": "session", "state": "lost", "turn": None, "record": {"reason": "gzia ended"}},
        {"kind": "future", "strange": [1]},
    ]
    journal = service.journal_path("one")
    journal.write_bytes(b"".join(jsonl.dump(line) for line in lines))

    told = call("read", "one", "--stat")
    objects = [json.loads(line) for line in call("read", "one", "--json", "--stat").out.splitlines()]

    assert told == Answer(
        0,
        "> fix it\n> please\n> [image]\n"
        "Look\\x1b[2Jing at it\n"
        "? refused by policy:supervised\n"
        "✗ Edit f.txt\n"
        "■ cancelled\n"
        "■ the turn ended: cancelled\n"
        "✗ The agent\\ndied.\n"
        "✗ gzia ended\n"
        "\n"
        "M     +1    -1  f.txt\n",
        "",
    )
    assert objects[:-1] == lines
    assert objects[-1] == {
        "kind": "changes", "session": "one", "base": git(where, "rev-parse", "HEAD"),
        "files": [{"path": "f.txt", "old_path": None, "status": "modified", "added": 1, "deleted": 1}],
    }  # fmt: skip


def test_read_passes_a_damaged_line_over_and_says_so(service: Service, call: Call) -> None:
    made(service, "one")
    service.journal_path("one").write_bytes(b"{torn\n" + jsonl.dump({"kind": "input", "input": "cancel"}))

    assert call("read", "one") == Answer(
        0, "■ cancelled\n\n", "Warning: a damaged line of the journal was passed over (at byte 0).\n"
    )


def test_read_of_a_session_without_a_worktree_shows_the_conversation(service: Service, call: Call, repo: Path) -> None:
    made(service, "one", isolate=False)

    assert call("read", "one", "--json") == Answer(
        0, "", f"This session has no worktree: its agent worked in {repo} itself.\n"
    )


def test_merge_tells_what_came_in_and_get_is_the_same_word(service: Service, call: Call, repo: Path) -> None:
    (made(service, "one") / "new.txt").write_text("new\n")

    forecast = call("merge", "one", "--dry-run")
    document = json.loads(call("get", "one", "--json").out)

    assert (forecast.status, forecast.out) == (0, "A     +1    -0  new.txt\n")
    assert (repo / "new.txt").read_text() == "new\n"
    assert document["commit"] == git(repo, "rev-parse", "HEAD")
    assert (document["id"], document["dry_run"], document["conflicts"]) == ("one", False, [])
    assert [each["path"] for each in document["files"]] == ["new.txt"]


def test_a_conflict_foreseen_has_the_status_of_a_conflict(service: Service, call: Call, repo: Path) -> None:
    (made(service, "one") / "f.txt").write_text("theirs\n")
    (repo / "f.txt").write_text("ours\n")
    git(repo, "commit", "-qam", "ours")

    told = call("merge", "one", "--dry-run")
    document = call("merge", "one", "--dry-run", "--json")

    assert (told.status, "conflict  f.txt\n" in told.out) == (6, True)
    assert (document.status, json.loads(document.out)["conflicts"]) == (6, ["f.txt"])


def test_delete_goes_on_after_a_refusal_and_keeps_its_status(service: Service, call: Call) -> None:
    (made(service, "work") / "new.txt").write_text("new\n")
    made(service, "done")

    answer = call("delete", "work", "none", "done", "--json")

    objects = [json.loads(line) for line in answer.out.splitlines()]
    assert answer.status == 6
    assert [(each["error"]["id"], each["error"]["code"]) for each in objects[:2]] == [
        ("work", "work-would-be-lost"), ("none", "session-not-found"),
    ]  # fmt: skip
    assert objects[2] == {"id": "done", "deleted": True, "preserved": None}
    assert call("delete", "--force", "work") == Answer(
        0, "", "Session work is removed; its work is kept: git branch work refs/gzia/preserved/work\n"
    )
    assert call("list", "--names").out == ""


def test_kill_of_what_does_not_run_is_not_found(service: Service, call: Call) -> None:
    made(service, "one")

    answer = call("kill", "one", "--grace", "1s", "--json")

    assert (answer.status, json.loads(answer.out)["error"]["code"]) == (4, "session-not-running")


def test_logged_events_come_back_and_a_cursor_goes_on(service: Service, call: Call) -> None:
    made(service, "one")

    first = call(
        "log", "one", "--action", "run tests", "--status", "FAILED", "--agent-id", "ci", "--role", "tester",
        "--duration-ms", "12", "--error", "2 failed\x1b", "--metadata", '{"suite": "fast"}', "--json",
    )  # fmt: skip
    *_, end = [json.loads(line) for line in call("events", "one", "--json").out.splitlines()]
    second = call("log", "one", "--action", "fix", "--stage", "PENDING", "--json")
    rest = [
        json.loads(line) for line in call("events", "one", "--cursor", str(end["cursor"]), "--json").out.splitlines()
    ]
    told = call("events", "one").out

    assert json.loads(first.out)["metadata"] == {"suite": "fast"}
    assert rest[:-1] == [json.loads(second.out)]
    assert [line.split("  ", 1)[1] for line in told.splitlines()] == [
        "FINISH   FAILED  run tests ci 12 ms 2 failed\\x1b", "PENDING    fix",
    ]  # fmt: skip
    assert call("log", "one", "--action", "x") == Answer(0, "", "")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["log", "one"], "invalid-arguments"),
        (["log", "one", "--action", " "], "invalid-event"),
        (["log", "one", "--action", "x", "--metadata", "[1]"], "invalid-event"),
        (["log", "one", "--action", "x", "--metadata", "{"], "invalid-event"),
        (["log", "one", "--action", "x", "--stage", "LATER"], "invalid-arguments"),
        (["events", "one", "--cursor", "-1"], "invalid-cursor"),
        (["events", "one", "--cursor", "x"], "invalid-arguments"),
        (["kill", "one", "--grace", "soon"], "invalid-duration"),
    ],
)
def test_what_means_nothing_is_refused_with_status_2(service: Service, call: Call, words: list[str], code: str) -> None:
    made(service, "one")

    answer = call(*words, "--json")

    assert (answer.status, json.loads(answer.out)["error"]["code"]) == (2, code)


WRONG = ["../../victim", "..", ".", "", "/etc/passwd", "a/b", "a\\b", "CON", "x\n", "a" * 5000, "one.json", "ONE", "-"]
ON_A_SESSION = [
    "show",
    "path",
    "diff",
    "read",
    "merge",
    "kill",
    "delete",
    "events",
    "log",
    "watch",
    "wait",
    "steer",
    "cancel",
]


@pytest.mark.parametrize(
    ("command", "id"), [*(("delete", id) for id in WRONG), *((command, WRONG[0]) for command in ON_A_SESSION)]
)
def test_JSO_10_an_id_that_is_a_path_reaches_no_file(service: Service, call: Call, command: str, id: str) -> None:
    more = ["--action", "x"] if command == "log" else []

    answer = call(command, "--json", *more, "--", id)

    assert (answer.status, json.loads(answer.out)["error"]["code"]) == (2, "invalid-session-id")


@pytest.mark.parametrize("command", ON_A_SESSION)
def test_a_session_that_is_not_there_is_status_4(service: Service, call: Call, command: str) -> None:
    more = ["--action", "x"] if command == "log" else []

    answer = call(command, "none", *more)

    assert answer == Answer(4, "", "Error: There is no session none here.\nHint: see gzia list\n")


def test_the_orientation_says_what_is_here_and_what_to_try(service: Service, call: Call, tmp_path: Path) -> None:
    quiet = call()
    service.create(provider="demo", permission_level=PermissionLevel.SUPERVISED, id="one", prompt="fix it")
    busy = call()
    document = json.loads(call("--json").out)

    assert quiet == Answer(
        0,
        "gzia 0.1.0 runs coding agents in worktrees of their own.\n"
        "Agents here:  demo\n"
        "Try:\n"
        '  gzia run -a demo "fix the failing test"\n'
        "  gzia list\n"
        "  gzia --help\n",
        "",
    )
    assert "Running here:\nSESSION  STATE     AGENT  AGE  TITLE\none      starting  demo   0s   fix it\n" in busy.out
    assert "  gzia diff one\n" in busy.out
    assert (document["agents"], [each["id"] for each in document["running"]]) == (["demo"], ["one"])


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-5, "0s"), (0, "0s"), (59, "59s"), (60, "1m"), (7199, "1h"), (86400, "1d"), (10**8, "1157d")],
)
def test_an_age_has_one_unit(seconds: int, shown: str) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)

    assert age(start.isoformat(), datetime.fromtimestamp(start.timestamp() + seconds, UTC)) == shown


def test_a_title_stands_for_the_prompt() -> None:
    record = Record(SessionId("x"), "completed", LATE, title="About it", initial_prompt="do")

    assert title(record) == "About it"
    assert title(Record(SessionId("x"), "completed", LATE)) == ""


def _update(update: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "update", "update": update}
