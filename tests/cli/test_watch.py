"""``gzia watch`` and ``gzia events --follow``, as processes beside the one that writes."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import documents, gzia, start
from tests.cli.watching import Held


@pytest.fixture
def held(repo: Path) -> Iterator[Held]:
    with Held(repo) as held:
        yield held


def test_a_program_gets_history_and_then_each_line_as_it_is(repo: Path, held: Held) -> None:
    held.say("before")

    with start(repo, "watch", "x1", "--json") as process:
        assert process.stdout
        first = process.stdout.readline()
        held.say("Ünï\u2028code")
        second = process.stdout.readline()
        held.let_go()
        rest, complaints = process.communicate(timeout=20)

    assert first + second + rest == held.journal.path.read_bytes()
    assert (process.returncode, complaints) == (0, b"")


def test_a_person_reads_words_as_they_come(repo: Path, held: Held) -> None:
    with start(repo, "watch", "x1") as process:
        assert process.stdout
        held.say("All ")
        assert process.stdout.read(4) == b"All "
        held.say("good.")
        assert process.stdout.read(5) == b"good."
        held.let_go()

        assert process.communicate(timeout=20) == (b"\n", b"")
    assert process.returncode == 0


def test_a_cursor_leaves_out_what_is_known(repo: Path, held: Held) -> None:
    for word in "abc":
        held.say(word)
    held.let_go()

    done = gzia(repo, "watch", "x1", "--cursor", "2", "--json")

    assert [line["n"] for line in documents(done.stdout)] == [3, 4]


def test_a_closed_session_is_shown_and_ends(repo: Path, held: Held) -> None:
    held.say("so far")
    held.let_go()

    assert gzia(repo, "watch", "x1").stdout == "so far\n"


def test_a_session_whose_gzia_is_gone_ends_with_its_closing_line(repo: Path, held: Held) -> None:
    held.say("so far")
    held.change(host_pid=2**22 - 1, host_identity="boot:1")

    done = gzia(repo, "watch", "x1", "--json")

    assert [line.get("state") for line in documents(done.stdout)] == [None, "lost"]


def test_a_damaged_line_is_told_and_the_rest_goes_on(repo: Path, held: Held) -> None:
    held.say("one")
    with held.journal.path.open("ab") as file:
        file.write(b"{torn\n")
    held.say("two")
    held.let_go()

    done = gzia(repo, "watch", "x1")

    assert (done.stdout, done.returncode) == ("one\ntwo\n", 0)
    assert done.stderr.startswith("Warning: a damaged line of the journal was passed over (at byte ")


def test_steers_and_queued_turns_are_told_when_they_happen(repo: Path, held: Held) -> None:
    def say(text: str) -> list[dict[str, str]]:
        return [{"type": "text", "text": text}]

    held.write("input", 1, {"input": "prompt", "blocks": say("first")})
    held.write("turn", 1, {"state": "started"})
    held.write("input", 2, {"input": "prompt", "blocks": say("second\nthing")})
    held.say("working")
    held.write("input", 1, {"input": "steer", "steer_id": "s1", "blocks": say("also this"), "fallback": "refuse"})
    held.write("steer", 1, {"steer_id": "s1", "outcome": "delivery_unknown"})
    held.write("prompt", 1, {"stop_reason": "end_turn", "message": ""})
    held.write("steer_note", 1, {"steer_id": "s1", "acted": "unlikely", "evidence": "e"})
    held.write("turn", 2, {"state": "started"})
    held.let_go()

    assert gzia(repo, "watch", "x1").stdout == (
        "> first\n"
        "▹ queued: second\\nthing\n"
        "working\n"
        "↪ steered: also this — delivery unknown\n"
        "↪ steered: also this — acted: unlikely\n"
        "> second\n> thing\n"
    )


@pytest.mark.parametrize("command", [["watch", "x1"], ["events", "x1", "--follow"], ["wait", "x1"]])
def test_a_reader_that_goes_away_ends_it_although_nothing_happens(repo: Path, held: Held, command: list[str]) -> None:
    with start(repo, *command) as process:
        assert process.stdout and process.stderr
        process.stdout.close()

        assert process.wait(20) == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize("command", [["watch", "x1"], ["events", "x1", "--follow"]])
def test_ctrl_c_ends_it_with_its_status(repo: Path, held: Held, command: list[str]) -> None:
    held.say("here")
    held.service.log_event("x1", action="here", stage="FINISH")

    with start(repo, *command) as process:
        assert process.stdout and process.stderr
        process.stdout.read(1)
        process.send_signal(signal.SIGINT)

        assert process.wait(20) == 130
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    ("args", "status", "code"),
    [
        (["none"], 4, "session-not-found"),
        (["../x"], 2, "invalid-session-id"),
        (["x1", "--cursor", "-1"], 2, "invalid-cursor"),
    ],
)
@pytest.mark.parametrize("command", [["watch"], ["events", "--follow"]])
def test_what_cannot_be_followed_is_refused(
    repo: Path, held: Held, command: list[str], args: list[str], status: int, code: str
) -> None:
    done = gzia(repo, *command, *args, "--json")

    assert (done.returncode, documents(done.stdout)[-1]["error"]["code"]) == (status, code)


# -- action events ---------------------------------------------------------------------------------------------------


def test_events_are_followed_with_a_cursor_each(repo: Path, held: Held) -> None:
    held.service.log_event("x1", action="one", stage="FINISH")

    with start(repo, "events", "x1", "--follow", "--json") as process:
        assert process.stdout
        first = json.loads(process.stdout.readline())
        held.service.log_event("x1", action="two", stage="FINISH")
        second = json.loads(process.stdout.readline())
        held.let_go()
        rest, _ = process.communicate(timeout=20)

    size = held.service.layout.events(held.record.id).stat().st_size
    assert [first["action"], second["action"], second["cursor"]] == ["one", "two", size]
    assert documents(rest.decode()) == [{"cursor": size, "damaged": []}]
    again = gzia(repo, "events", "x1", "--follow", "--json", "--cursor", str(first["cursor"]))
    assert [line.get("action") for line in documents(again.stdout)] == ["two", None]


def test_a_damaged_event_is_told_where_it_lies(repo: Path, held: Held) -> None:
    path = held.service.layout.events(held.record.id)
    path.write_bytes(b"{torn\n")
    held.service.log_event("x1", action="two", stage="FINISH")
    held.let_go()

    told = gzia(repo, "events", "x1", "--follow")
    said = documents(gzia(repo, "events", "x1", "--follow", "--json").stdout)

    assert told.stderr == "Warning: a damaged line was passed over (at byte 0).\n"
    assert told.stdout.count("two") == 1
    assert said[0] == {"cursor": 6, "damaged": [{"offset": 0, "length": 6}]}
    assert said[-1] == {"cursor": path.stat().st_size, "damaged": []}
