"""``gzia run --input ndjson``: a script on both ends of a live session."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.agents_for_tests import scripted_command
from tests.cli.command import documents, gzia, start

DONE = {"result": {"stopReason": "end_turn"}}
NEVER = {"wait": "never"}
HANG_UNTIL_STEERED = "hang"  # what the demo agent understands
Json = dict[str, Any]


class Script:
    """A running ``gzia run --input ndjson``, whose lines are read one by one."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin and process.stdout
        self.process = process
        self._stdin, self._stdout = process.stdin, process.stdout

    def say(self, *lines: Json) -> None:
        """Send input lines."""
        self.raw("".join(f"{json.dumps(line)}\n" for line in lines).encode())

    def raw(self, data: bytes) -> None:
        """Send bytes."""
        self._stdin.write(data)
        self._stdin.flush()

    def until(self, test: Callable[[Json], bool]) -> Json:
        """Read to the first line that is meant."""
        while line := self._stdout.readline():
            if test(found := json.loads(line)):
                return dict(found)
        raise AssertionError("the output ended before that line came")

    def has(self, kind: str, **members: Any) -> Json:
        """The next line of this kind with these members."""
        return self.until(lambda line: line.get("kind") == kind and members.items() <= line.items())

    def end(self) -> tuple[int, list[Json]]:
        """End the input; the exit status and the rest of the lines."""
        self._stdin.close()
        rest = self._stdout.read()
        return self.process.wait(20), documents(rest.decode())


@contextmanager
def running(where: Path, *args: str, **popen: Any) -> Iterator[Script]:
    with start(where, "run", "--id", "x1", "--input", "ndjson", *args, stdin=subprocess.PIPE, **popen) as process:
        try:
            yield Script(process)
        finally:
            process.kill()


def scripted(*steps: Json) -> list[str]:
    return ["--agent-command", scripted_command({"session/prompt": list(steps)})]


def prompts(lines: list[Json]) -> list[tuple[int, str]]:
    """The ends of turns."""
    return [(line["turn"], line["stop_reason"]) for line in lines if line.get("kind") == "prompt"]


# -- the ways in -----------------------------------------------------------------------------------------------------


def test_prompts_run_one_after_another_and_the_end_of_input_ends_the_session(repo: Path) -> None:
    with running(repo, "-a", "demo", "say one") as script:
        script.say({"prompt": "say two"}, {"prompt": [{"type": "text", "text": "say three"}]})
        status, lines = script.end()

    assert (status, prompts(lines)) == (0, [(1, "end_turn"), (2, "end_turn"), (3, "end_turn")])
    assert (lines[-1]["kind"], lines[-1]["state"]) == ("session", "closed")
    journal = (repo / ".harness/sessions/x1.journal.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line) for line in journal.splitlines()] == lines


def test_a_script_can_wait_for_one_turn_before_it_asks_for_the_next(repo: Path) -> None:
    with running(repo, "-a", "demo") as script:
        script.say({"prompt": "say one"})
        first = script.has("prompt")
        script.say({"prompt": "say two"})
        second = script.has("prompt")
        status, _ = script.end()

    assert (status, first["message"], second["message"]) == (0, "one", "two")


def test_a_steer_keeps_its_id_and_its_outcome_is_a_line(repo: Path) -> None:
    with running(repo, "-a", "demo", HANG_UNTIL_STEERED) as script:
        script.has("turn", state="started")
        script.say({"steer": "say thanks", "id": "mine"})
        steer, end, note = script.has("steer"), script.has("prompt"), script.has("steer_note")
        status, _ = script.end()

    assert (steer["steer_id"], steer["outcome"]) == ("mine", "injected")
    assert (end["stop_reason"], note["steer_id"], note["acted"], status) == ("end_turn", "mine", "yes", 0)


def test_a_steer_that_no_turn_takes_becomes_one_where_the_line_says_so(repo: Path) -> None:
    with running(repo, "-a", "demo") as script:
        script.say({"steer": "say lost"}, {"steer": "say kept", "fallback": "queue"})
        status, lines = script.end()

    assert [line["outcome"] for line in lines if line["kind"] == "steer"] == ["unsupported", "unsupported"]
    assert [line["message"] for line in lines if line["kind"] == "prompt"] == ["kept"]
    assert status == 0


def test_a_cancel_stops_the_turn_and_drops_those_that_wait(repo: Path) -> None:
    with running(repo, *scripted({"say": "a"}, NEVER)) as script:
        script.say({"prompt": "one"}, {"prompt": "two"})
        script.has("update")
        script.say({"cancel": True})
        ends = [script.has("prompt"), script.has("prompt")]
        status, _ = script.end()

    assert {end["stop_reason"] for end in ends} == {"cancelled"}
    assert status == 1


@pytest.mark.parametrize("answer", [{"option": "yes"}, {"kind": "allow_once"}])
def test_a_question_is_answered_by_option_or_by_kind(repo: Path, answer: Json) -> None:
    steps = scripted({"ask": [], "then": {"yes": [{"say": "allowed"}]}}, DONE)

    with running(repo, *steps, "go") as script:
        asked = script.has("permission", state="asked")
        script.say({"permission": asked["permission_id"], **answer})
        answered = script.has("permission", state="answered")
        status, lines = script.end()

    assert (answered["allowed"], answered["by"], answered["outcome"]["optionId"]) == (True, "script", "yes")
    assert [line["message"] for line in lines if line["kind"] == "prompt"] == ["allowed"]
    assert status == 0


# -- the end ---------------------------------------------------------------------------------------------------------


def test_a_question_that_nobody_can_answer_any_more_is_refused(repo: Path) -> None:
    with running(repo, *scripted({"ask": []}, DONE), "go") as script:
        script.has("permission", state="asked")
        status, lines = script.end()

    assert [line["outcome"]["outcome"] for line in lines if line.get("state") == "answered"] == ["cancelled"]
    assert status in (0, 5)


def test_the_status_is_that_of_the_last_turn_that_was_asked_for(repo: Path) -> None:
    steps = [[{"error": {"code": -32603, "message": "boom"}}], [DONE]]
    command = scripted_command({"session/prompt": steps})

    with running(repo, "--agent-command", command) as script:
        script.say({"prompt": "one"}, {"prompt": "two"})
        good, _ = script.end()
    with running(repo, "--agent-command", scripted_command({"session/prompt": steps[::-1]}), "--id", "x2") as script:
        script.say({"prompt": "one"}, {"prompt": "two"})
        bad, lines = script.end()

    assert (good, bad) == (0, 1)
    assert lines[-1]["error"]["code"] == "agent-refused"


def test_input_without_a_line_leaves_nothing(repo: Path) -> None:
    with running(repo, "-a", "demo") as script:
        status, _ = script.end()

    assert status == 0
    assert documents(gzia(repo, "list", "--json").stdout)[0]["sessions"] == []


def test_a_last_line_without_its_end_counts(repo: Path) -> None:
    with running(repo, "-a", "demo") as script:
        script.raw(b'{"prompt": "say hi"}')
        status, lines = script.end()

    assert (status, prompts(lines)) == (0, [(1, "end_turn")])


def test_ctrl_c_ends_it_although_input_is_open(repo: Path) -> None:
    with running(repo, *scripted({"say": "a"}, NEVER), "go") as script:
        script.has("update")
        script.process.send_signal(signal.SIGINT)

        assert script.has("prompt")["stop_reason"] == "cancelled"
        assert script.process.wait(20) == 130


# -- lines that cannot be meant --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{torn", "invalid-input-line"),
        (b"[]", "invalid-input-line"),
        (b"\xff", "invalid-input-line"),
        (b"[" * 100_000, "invalid-input-line"),
        (b"{}", "invalid-input-line"),
        (b'{"prompt": "say hi", "stear": "x"}', "invalid-input-line"),
        (b'{"prompt": 7}', "invalid-input-line"),
        (b'{"prompt": " "}', "invalid-prompt"),
        (b'{"prompt": []}', "invalid-prompt"),
        (b'{"prompt": [{"type": "smell"}]}', "invalid-prompt"),
        (b'{"prompt": [{"type": "image", "data": "", "mimeType": "image/png"}]}', "unsupported-content"),
        (b'{"steer": ""}', "invalid-prompt"),
        (b'{"steer": "x", "id": 7}', "invalid-input-line"),
        (b'{"steer": "x", "fallback": "later"}', "invalid-input-line"),
        (b'{"steer": "x", "fallback": []}', "invalid-input-line"),
        (b'{"cancel": false}', "invalid-input-line"),
        (b'{"cancel": 1}', "invalid-input-line"),
        (b'{"permission": "p1-9", "option": "yes"}', "question-not-open"),
        (b'{"permission": "p1-9"}', "invalid-input-line"),
    ],
)
def test_a_line_that_cannot_be_meant_is_told_by_its_number_and_the_rest_goes_on(
    repo: Path, line: bytes, code: str
) -> None:
    with running(repo, "-a", "demo") as script:
        script.raw(b'{"prompt": "say one"}\n' + line + b'\n{"prompt": "say two"}\n')
        status, lines = script.end()

    assert [(one["error"]["code"], one["error"]["line"]) for one in lines if "kind" not in one] == [(code, 2)]
    assert (status, prompts(lines)) == (0, [(1, "end_turn"), (2, "end_turn")])


def test_an_option_that_was_not_offered_leaves_the_question_open(repo: Path) -> None:
    with running(repo, *scripted({"ask": []}, DONE), "go") as script:
        id = script.has("permission", state="asked")["permission_id"]
        script.say({"permission": id, "option": "maybe"}, {"permission": id, "option": "no"})
        refused = script.until(lambda line: "kind" not in line)
        answered = script.has("permission", state="answered")
        script.end()

    assert refused["error"]["code"] == "option-not-offered"
    assert answered["outcome"] == {"outcome": "selected", "optionId": "no"}


@pytest.mark.parametrize(
    "args", [["--input", "xml", "go"], ["--input", "ndjson", "-"], ["--input", "ndjson", "-f", "nowhere.md"]]
)
def test_what_cannot_be_meant_on_the_command_line_is_refused(repo: Path, args: list[str]) -> None:
    done = gzia(repo, "run", "-a", "demo", "--json", *args)

    assert done.returncode == 2
    assert documents(gzia(repo, "list", "--json").stdout)[0]["sessions"] == []


# -- nobody waits ----------------------------------------------------------------------------------------------------


def test_a_reader_that_stops_reading_holds_up_neither_input_nor_agent(repo: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    steps = [[{"say": "x", "size": 3_000_000}, DONE], [{"hold": str(fifo)}, DONE]]

    with running(repo, "--agent-command", scripted_command({"session/prompt": steps})) as script:
        script.raw(b'{"prompt": "one"}\n' + b"nonsense\n" * 30_000 + b'{"prompt": "two"}\n')
        with fifo.open("w"):  # returns when the second turn runs, and nothing was read until then
            pass
        status, lines = script.end()

    assert (status, prompts(lines)) == (0, [(1, "end_turn"), (2, "end_turn")])


def test_a_disk_that_is_full_ends_the_turn_and_the_session(repo: Path) -> None:
    room = 1 << 16  # bytes for a file; the answer does not fit into the journal
    small = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))}

    with running(repo, *scripted({"say": "x" * room}, NEVER), **small) as script:
        script.say({"prompt": "go"})
        status, lines = script.end()

    assert status == 1
    assert [line["error"]["code"] for line in lines if "kind" not in line] == ["journal-not-writable"]
