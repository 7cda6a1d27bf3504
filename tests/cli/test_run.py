"""``gzia run`` for a person and for a script, with real agents processes and a real repository."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agents_for_tests import scripted_command
from tests.cli.command import GZIA, documents, environment, gzia, start
from tests.conftest import git

DONE = {"result": {"stopReason": "end_turn"}}


def run(where: Path, script: dict[str, Any], *args: str, stdin: str = "") -> Any:
    return gzia(where, "run", "--agent-command", scripted_command(script), *(args or ("go",)), stdin=stdin)


def prompt(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"session/prompt": list(steps)}


# -- the main job ----------------------------------------------------------------------------------------------------


def test_the_agent_works_in_a_worktree_and_merge_brings_its_work(repo: Path) -> None:
    before = git(repo, "status", "--porcelain")

    done = gzia(repo, "run", "-a", "demo", "-p", "autonomous", "--id", "x1", "write new.txt hello")

    assert done.returncode == 0, done.stderr
    assert git(repo, "status", "--porcelain") == before
    assert not (repo / "new.txt").exists()
    assert "new.txt" in gzia(repo, "diff", "x1").stdout
    assert gzia(repo, "merge", "x1").returncode == 0
    assert (repo / "new.txt").read_text().strip() == "hello"


def test_a_script_gets_the_journal_on_stdout_and_nothing_else(repo: Path) -> None:
    done = run(repo, prompt({"say": "Hello"}, DONE), "--json", "go")

    lines = documents(done.stdout)
    assert done.returncode == 0, done.stderr
    assert [line["n"] for line in lines] == list(range(1, len(lines) + 1))
    assert [line["kind"] for line in lines] == ["session", "session", "input", "turn", "update", "prompt", "session"]
    path = repo / ".harness/sessions" / f"{lines[0]['session']}.journal.jsonl"
    assert done.stdout == path.read_text(encoding="utf-8")


def test_quiet_prints_the_final_answer_only(repo: Path) -> None:
    tool = {"update": {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Look", "status": "completed"}}

    done = run(repo, prompt({"say": "Let me look."}, tool, {"say": "All "}, {"say": "good."}, DONE), "-q", "go")

    assert (done.returncode, done.stdout, done.stderr) == (0, "All good.\n", "")


def test_a_person_gets_the_answer_on_stdout_and_what_happens_on_stderr(repo: Path) -> None:
    tool = {
        "update": {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Look at f.txt", "status": "completed"}
    }

    done = run(repo, prompt({"say": "Hi "}, tool, {"say": "there"}, DONE), "--id", "x1", "go")

    assert done.stdout.split() == ["Hi", "there"]
    assert "session x1" in done.stderr
    assert "✓ Look at f.txt" in done.stderr
    assert "gzia merge x1" in done.stderr


def test_an_escape_sequence_of_an_agent_does_not_reach_the_terminal(repo: Path) -> None:
    done = run(repo, prompt({"say": "a\x1b]0;gotcha\x07b\x9b31mc"}, DONE), "go")

    assert done.stdout == "a\\x1b]0;gotcha\\x07b\\x9b31mc\n"


@pytest.mark.parametrize("how", ["argument", "dash", "nothing", "file"])
def test_the_prompt_comes_from_an_argument_a_file_or_stdin(repo: Path, how: str) -> None:
    text = "über\nzwei — Zeilen"
    (repo / "p.md").write_text(text, encoding="utf-8")
    args = {"argument": [text], "dash": ["-"], "nothing": [], "file": ["-f", "p.md"]}[how]

    done = run(repo, prompt(DONE), "--json", *args, stdin=text if how in ("dash", "nothing") else "")

    asked = next(line for line in documents(done.stdout) if line["kind"] == "input")
    assert asked["blocks"] == [{"type": "text", "text": text}]


def test_a_next_turn_goes_on_with_the_agents_own_conversation(repo: Path) -> None:
    gzia(repo, "run", "-a", "demo", "-p", "autonomous", "--id", "x1", "say one")

    done = gzia(repo, "run", "--session", "x1", "--json", "say two")

    lines = documents(done.stdout)
    assert done.returncode == 0, done.stderr
    assert {line["turn"] for line in lines if line["turn"]} == {2}
    assert [line["event"]["text"] for line in lines if line["kind"] == "update" and "text" in line["event"]] != []


def test_outside_git_the_session_works_in_the_directory_itself_and_says_so(tmp_path: Path) -> None:
    done = gzia(tmp_path, "run", "-a", "demo", "-p", "autonomous", "--id", "x1", "write new.txt hello")

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "new.txt").exists()
    assert "no worktree" in done.stderr
    assert json.loads(gzia(tmp_path, "show", "x1", "--json").stdout)["is_isolated"] is False


def test_a_session_that_is_started_in_a_subdirectory_works_there(repo: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (repo / "pkg").mkdir()
    (repo / "pkg/a.txt").write_text("a")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "a package")

    done = run(repo / "pkg", {"log": str(log), **prompt(DONE)}, "--id", "x1", "go")

    assert done.returncode == 0, done.stderr
    assert json.loads(log.read_text().splitlines()[0])["start"]["cwd"] == str(repo / ".harness/worktrees/x1/pkg")


# -- what goes wrong -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "status", "code"),
    [
        (prompt({"exit": 3}), 1, "agent-exited"),
        ({"initialize": [{"exit": 3}]}, 1, "agent-exited"),
        (prompt({"error": {"code": -32603, "message": "boom"}}), 1, "agent-refused"),
        (prompt({"error": {"code": -32603, "message": "rate limit reached"}}), 7, "quota-exhausted"),
        (prompt({"error": {"code": -32603, "message": "app.py:429: disk quota exceeded"}}), 1, "agent-refused"),
        (prompt({"result": {"stopReason": "max_tokens"}}), 1, "turn-stopped"),
        (prompt({"result": {"stopReason": "error"}}), 1, "agent-refused"),
        (prompt({"ask": []}, DONE), 5, "permission-refused"),
        ({"session/new": [{"error": {"code": -32000, "message": "log in"}}]}, 1, "auth-required"),
    ],
)
def test_a_failure_is_one_error_with_code_and_status(
    repo: Path, script: dict[str, Any], status: int, code: str
) -> None:
    said = run(repo, script, "--json", "go")
    told = run(repo, script, "go")

    assert (said.returncode, documents(said.stdout)[-1]["error"]["code"]) == (status, code)
    assert told.returncode == status
    assert told.stderr.count("Error:") == 1
    assert "Traceback" not in said.stderr + told.stderr


@pytest.mark.parametrize(
    ("script", "args", "shown"),
    [
        (prompt({"say": "a"}, {"wait": "never"}), ["--timeout", "2s"], "timeout"),
        (prompt({"ask": []}, DONE), [], "permission refused"),
        (prompt(DONE), [], "completed"),
        (prompt({"exit": 3}), [], "failed"),
    ],
)
def test_the_list_tells_how_a_turn_ended(repo: Path, script: dict[str, Any], args: list[str], shown: str) -> None:
    run(repo, script, "--id", "x1", *args, "go")

    assert f"x1       {shown}" in gzia(repo, "list").stdout


def test_standard_output_on_a_full_disk_is_an_error(repo: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*GZIA, "run", "-a", "demo", "--json", "say hi"], cwd=repo, env=environment(), stdout=full,
            stderr=subprocess.PIPE, timeout=60, start_new_session=True, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip

    assert done.returncode == 1


def test_RIG_08_a_refusal_names_the_action_and_the_flag_that_would_allow_it(repo: Path) -> None:
    call = {"toolCallId": "t1", "title": "Write out.txt", "kind": "edit"}

    done = run(repo, prompt({"ask": [], "toolCall": call}, {"say": "as you wish"}, DONE), "go")

    assert done.returncode == 5
    assert "Write out.txt" in done.stderr
    assert "-p autonomous" in done.stderr
    assert done.stdout == "as you wish\n"


@pytest.mark.parametrize(
    ("args", "status", "code"),
    [
        (["-a", "nobody", "go"], 4, "unknown-agent"),
        (["--agent-command", "/no/such/agent", "go"], 4, "agent-not-found"),
        (["--agent-command", "'", "go"], 2, "invalid-agent-command"),
        (["-a", "pi", "-p", "readonly", "go"], 2, "permission-not-enforceable"),
        (["-a", "demo", "--base", "nowhere", "go"], 2, "base-not-found"),
        (["-a", "demo", "--id", "../x", "go"], 2, "invalid-session-id"),
        (["-a", "demo", "--session", "nobody", "go"], 2, "invalid-arguments"),
        (["--session", "nobody", "go"], 4, "session-not-found"),
        (["--session", "nobody", "-p", "autonomous", "go"], 2, "invalid-arguments"),
        (["-a", "demo", "   "], 2, "no-prompt"),
        (["-a", "demo", "-p", "root", "go"], 2, "invalid-arguments"),
        (["-a", "demo", "-f", "nowhere.md"], 2, "prompt-file-unreadable"),
        (["-a", "demo", "--timeout", "soon", "go"], 2, "invalid-duration"),
    ],
)
def test_a_mistake_on_the_command_line_is_told_before_anything_is_made(
    repo: Path, args: list[str], status: int, code: str
) -> None:
    done = gzia(repo, "run", "--json", *args)

    assert (done.returncode, documents(done.stdout)[-1]["error"]["code"]) == (status, code)
    assert git(repo, "worktree", "list").count("\n") == 0
    assert git(repo, "branch", "--list", "harness/*") == ""
    assert list((repo / ".harness/sessions").glob("*.json")) == []


def test_an_agent_that_does_not_start_leaves_no_session(repo: Path) -> None:
    done = run(repo, {"initialize": [{"exit": 3}]}, "go")

    assert done.returncode == 1
    assert git(repo, "branch", "--list", "harness/*") == ""
    assert documents(gzia(repo, "list", "--json").stdout)[0]["sessions"] == []


def test_the_same_id_twice_is_a_conflict(repo: Path) -> None:
    gzia(repo, "run", "-a", "demo", "--id", "x1", "say hi")

    assert gzia(repo, "run", "-a", "demo", "--id", "x1", "say hi").returncode == 6


# -- deadlines and signals -------------------------------------------------------------------------------------------


def test_a_deadline_ends_the_turn_with_status_3_and_keeps_what_was_said(repo: Path) -> None:
    done = run(repo, prompt({"say": "so far"}, {"wait": "never"}), "--timeout", "500ms", "--json", "go")

    lines = documents(done.stdout)
    assert (done.returncode, lines[-1]["error"]["code"]) == (3, "timeout")
    assert any(line.get("event", {}).get("text") == "so far" for line in lines)


def test_PRO_03_the_deadline_covers_the_start_of_the_agent(repo: Path) -> None:
    begun = time.monotonic()

    done = run(repo, {"start": [{"spawn": ["sleep", "600"]}], "initialize": []}, "--timeout", "1s", "--json", "go")

    assert (done.returncode, documents(done.stdout)[-1]["error"]["code"]) == (3, "timeout")
    assert time.monotonic() - begun < 20
    assert documents(gzia(repo, "list", "--json").stdout)[0]["sessions"] == []


def test_a_silent_agent_meets_the_idle_limit(repo: Path) -> None:
    done = run(repo, prompt({"say": "so far"}, {"wait": "never"}), "--idle-timeout", "500ms", "go")

    assert (done.returncode, done.stdout) == (3, "so far")


def interrupted(repo: Path, script: dict[str, Any], *numbers: int) -> tuple[int, str]:
    """Run a turn, send the signals once it has said something; status and stdout."""
    with start(repo, "run", "--agent-command", scripted_command(script), "--json", "go") as process:
        assert process.stdout and process.stderr
        seen = b""
        while b'"kind":"update"' not in seen:
            seen += process.stdout.readline()
        for number in numbers:
            process.send_signal(number)
            while number == signal.SIGINT and b'"input":"cancel"' not in seen:  # two at once would be one
                seen += process.stdout.readline()
        rest, complaints = process.communicate(timeout=20)
        assert b"Traceback" not in complaints
    return process.returncode, (seen + rest).decode()


def test_ctrl_c_cancels_the_turn_and_the_status_is_130(repo: Path) -> None:
    status, out = interrupted(repo, prompt({"say": "a"}, {"wait": "never"}), signal.SIGINT)

    assert status == 130
    assert [line["stop_reason"] for line in documents(out) if line.get("kind") == "prompt"] == ["cancelled"]


def test_a_second_ctrl_c_ends_an_agent_that_does_not_stop(repo: Path) -> None:
    script = {**prompt({"say": "a"}, {"wait": "never"}), "session/cancel": []}

    status, _ = interrupted(repo, script, signal.SIGINT, signal.SIGINT)

    assert status == 130


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_everything_and_the_record_says_so(repo: Path, number: int) -> None:
    status, out = interrupted(repo, prompt({"say": "a"}, {"wait": "never"}), number)

    assert status == 128 + number
    session = documents(out)[0]["session"]
    shown = json.loads((repo / ".harness/sessions" / f"{session}.json").read_text())
    assert (shown["status"], shown["reason"], shown.get("pid")) == ("completed", "closed", None)


def test_PRO_07_a_reader_that_goes_away_ends_the_agent_and_leaves_no_orphan(repo: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = {"log": str(log), **prompt({"say": "x", "count": 50}, {"wait": "never"})}

    with start(repo, "run", "--agent-command", scripted_command(script), "--json", "go") as process:
        assert process.stdout and process.stderr
        process.stdout.read(1)
        process.stdout.close()
        assert process.wait(20) == 141
        assert process.stderr.read() == b""

    pid = json.loads(log.read_text().splitlines()[0])["start"]["pid"]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("args", [[], ["-q"]])
def test_PRO_07_a_reader_that_leaves_before_a_long_answer_is_no_error(repo: Path, args: list[str]) -> None:
    with start(repo, "run", "-a", "demo", "-p", "autonomous", *args, "big 3000000") as process:
        assert process.stdout and process.stderr
        process.stdout.read(1)
        process.stdout.close()

        assert process.wait(30) == 141
        assert b"Error" not in process.stderr.read()


@pytest.mark.parametrize("spawn", [{}, {"setsid": True}, {"quiet": True}])
def test_PRO_03_a_grandchild_that_holds_the_pipes_delays_nobody_and_does_not_survive(
    repo: Path, tmp_path: Path, spawn: dict[str, Any]
) -> None:
    log = tmp_path / "log"
    script = {"log": str(log), **prompt({"spawn": ["sleep", "600"], **spawn}, {"say": "started"}, {"wait": "never"})}

    done = run(repo, script, "--timeout", "500ms", "go")

    assert (done.returncode, done.stdout) == (3, "started")
    pid = next(json.loads(line)["spawned"] for line in log.read_text().splitlines() if "spawned" in line)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_PRO_03_an_agent_that_ignores_sigterm_is_killed(repo: Path, tmp_path: Path) -> None:
    script = {
        "start": [{"ignore": ["TERM", "HUP"]}],
        "eof": [{"wait": "never"}],
        **prompt({"say": "a"}, {"wait": "never"}),
    }

    done = run(repo, {**script, "session/cancel": []}, "--timeout", "1s", "go")

    assert (done.returncode, done.stdout) == (3, "a")


def test_PRO_06_a_talkative_agent_does_not_stall_the_turn(repo: Path) -> None:
    done = run(repo, prompt({"stderr": "e", "size": 1_000_000}, {"say": "done"}, DONE), "-q", "go")

    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_a_reader_that_stops_reading_does_not_hold_up_the_deadline(repo: Path) -> None:
    script = prompt({"say": "x", "size": 3_000_000}, {"wait": "never"})
    read, write = os.pipe()
    try:
        with start(
            repo, "run", "--agent-command", scripted_command(script), "--json", "--timeout", "1s", "go", stdout=write
        ) as process:
            try:
                assert process.wait(30) == 3
            finally:
                process.kill()
    finally:
        os.close(read)
        os.close(write)


def test_a_reader_of_the_notes_that_stops_reading_does_not_hold_up_the_deadline(repo: Path) -> None:
    tool = {"update": {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "x" * 500, "status": "completed"}}
    script = prompt({"steps": [tool], "times": 1000}, {"wait": "never"})
    read, write = os.pipe()
    try:
        with start(
            repo, "run", "--agent-command", scripted_command(script), "--timeout", "1s", "go", stderr=write
        ) as process:
            assert process.stdout
            try:
                assert process.wait(30) == 3
            finally:
                process.kill()
    finally:
        os.close(read)
        os.close(write)


def test_ctrl_c_while_the_worktree_is_made_leaves_nothing_of_it(repo: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    (repo / ".gitattributes").write_text("f.txt filter=slow\n")
    git(repo, "add", ".gitattributes")
    git(repo, "commit", "-qm", "slow checkout")
    git(repo, "config", "filter.slow.smudge", f"sh -c 'cat {fifo} >/dev/null; cat'")

    with start(repo, "run", "-a", "demo", "--id", "x1", "say hi") as process:
        with fifo.open("w"):  # returns when git is in the middle of the checkout
            process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130

    assert git(repo, "branch", "--list", "harness/*") == ""
    assert list((repo / ".harness/sessions").glob("*.json")) == []
    assert list((repo / ".harness/worktrees").glob("*")) == []


def test_a_session_of_a_custom_agent_goes_on_when_its_command_is_given_again(repo: Path) -> None:
    command = scripted_command({**prompt({"say": "hi"}, DONE), "session/load": [{"result": {}}]})
    gzia(repo, "run", "--agent-command", command, "--id", "x1", "go")

    without = gzia(repo, "run", "--session", "x1", "--json", "go")
    again = gzia(repo, "run", "--session", "x1", "--agent-command", command, "-q", "go")

    assert (without.returncode, documents(without.stdout)[-1]["error"]["code"]) == (4, "unknown-agent")
    assert (again.returncode, again.stdout) == (0, "hi\n"), again.stderr


def test_an_answer_is_not_cut_when_the_turn_fails_and_the_reader_is_slow(repo: Path) -> None:
    script = prompt({"say": "x", "size": 300_000}, {"error": {"code": -32603, "message": "boom"}})
    with start(repo, "run", "--agent-command", scripted_command(script), "--json", "go") as process:
        assert process.stdout and process.stderr
        select.select([process.stdout], [], [])
        out, _ = process.communicate(timeout=30)

    assert documents(out.decode())[-1]["error"]["code"] == "agent-refused"


# -- environment and nothing left ------------------------------------------------------------------------------------


def test_the_agent_gets_the_environment_without_what_would_bend_it(repo: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = scripted_command({"log": str(log), **prompt(DONE)})
    given = {"GIT_DIR": "/nowhere", "PYTHONSTARTUP": "x.py", "GZIA_TIMEOUT": "60s", "KEEP_ME": "yes"}

    done = gzia(repo, "run", "--id", "x1", "--agent-command", command, "go", env=given)

    assert done.returncode == 0, done.stderr
    started = json.loads(log.read_text().splitlines()[0])["start"]
    env = started["env"]
    assert env["KEEP_ME"] == "yes"
    assert (env["GZIA_SESSION"], env["GZIA_ROOT"]) == ("x1", str(repo))
    assert not {"GIT_DIR", "PYTHONSTARTUP", "GZIA_TIMEOUT"} & set(env)
    assert started["cwd"] == str(repo / ".harness/worktrees/x1")


def test_a_harness_that_is_a_link_is_refused_before_anything_is_written(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (repo / ".harness").symlink_to(tmp_path / "elsewhere")

    done = gzia(repo, "run", "-a", "demo", "--json", "say hi")

    assert (done.returncode, documents(done.stdout)[-1]["error"]["code"]) == (6, "harness-is-a-link")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_WT_03_a_worktree_that_cannot_be_made_is_an_error_and_no_agent_is_started(repo: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    (repo / ".harness").mkdir()
    (repo / ".harness/worktrees").write_text("in the way")

    done = run(repo, {"log": str(log), **prompt({"write": ["t.txt", "x"]}, DONE)}, "go")

    assert done.returncode != 0
    assert not log.exists()
    assert not (repo / "t.txt").exists()


def test_WT_03_a_session_whose_worktree_vanished_is_told_as_broken_not_moved_elsewhere(repo: Path) -> None:
    import shutil

    gzia(repo, "run", "-a", "demo", "-p", "autonomous", "--id", "x1", "say hi")
    shutil.rmtree(repo / ".harness/worktrees/x1")

    done = gzia(repo, "run", "--session", "x1", "--json", "write t.txt hello")

    assert documents(done.stdout)[-1]["error"]["code"] == "worktree-missing"
    assert not (repo / "t.txt").exists()
