"""SIGKILL of gzia at any moment of a busy session: the journal tells what was, and the next process goes on from it."""

from __future__ import annotations

import json
import random
import select
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gzia.session.service import Service
from tests.agents_for_tests import scripted_command
from tests.cli.command import documents, gzia, start
from tests.system.watching import children, still_running

Json = dict[str, Any]
CAN = {"steering": {"supported": True, "idleBehaviors": ["promptRequired"]}}
HELLO = {"result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "_meta": CAN}}
TURN = [{"after": 0.005}, {"say": "working"}, {"after": 0.005}, {"result": {"stopReason": "end_turn"}}]
BUSY = 0.4  # seconds after its first line, before which it is killed
CHUNK = 1 << 20
MESSAGES = 60  # at most
RETRY_SAFE = ("fallback_required", "unsupported")


class Round:
    """One session that is kept busy, killed and gone on with."""

    def __init__(self, repo: Path, number: int) -> None:
        self.repo, self.id, self.chance = repo, f"x{number}", random.Random(number)
        self.log = repo.parent / f"log{number}"
        script = {"log": str(self.log), "initialize": [HELLO], "session/prompt": TURN}
        self.agent = ["--agent-command", scripted_command(script)]
        self.told: list[Json] = []  # the lines that came out before the kill
        self.said = 0

    def play(self) -> None:
        self.kill_when_busy()
        self.told_lines_are_in_the_journal()
        waiting = self.everything_asked_is_accounted_for()
        self.next_process_goes_on()
        self.nothing_is_sent_twice(waiting)

    def journal(self) -> list[Json]:
        """Its whole lines; each must be readable, and their numbers must be without gaps."""
        *whole, _ = Service(self.repo).journal_path(self.id).read_bytes().split(b"\n")
        lines: list[Json] = [json.loads(line) for line in whole]
        assert [line["n"] for line in lines] == [*range(1, len(lines) + 1)]
        return lines

    # -- the process that is killed ----------------------------------------------------------------------------------

    def kill_when_busy(self) -> None:
        words = ["run", "--id", self.id, "--input", "ndjson", *self.agent]
        with start(self.repo, *words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0) as process:
            assert process.stdin and process.stdout
            process.stdin.write(b"".join(self.prompt() for _ in range(3)))
            out = process.stdout.read(CHUNK)  # it has begun
            end = time.monotonic() + self.chance.uniform(0, BUSY)
            seen = 0
            while (left := end - time.monotonic()) > 0:
                for line in out[seen:].split(b"\n")[:-1]:
                    seen += len(line) + 1
                    process.stdin.write(self.reaction(json.loads(line)))
                if select.select([process.stdout], [], [], left)[0]:
                    out += process.stdout.read(CHUNK)
            family = children(process.pid)
            process.kill()
            out += process.stdout.read()
        self.told = [json.loads(line) for line in out.split(b"\n")[:-1]]
        assert still_running([*family, *self.agents()]) == set()

    def prompt(self) -> bytes:
        self.said += 1
        return json.dumps({"prompt": f"message {self.said}"}).encode() + b"\n"

    def steer(self) -> bytes:
        self.said += 1
        fallback = self.chance.choice(["queue", "refuse", "interrupt"])
        return json.dumps({"steer": f"message {self.said}", "fallback": fallback}).encode() + b"\n"

    def reaction(self, line: Json) -> bytes:
        """Prompts so that it never runs dry, steers in between; fewer than fill its queue."""
        if self.said >= MESSAGES:
            return b""
        if line["kind"] == "prompt":
            return self.prompt()
        return self.steer() if self.chance.random() < 0.3 else b""

    def agents(self) -> list[int]:
        """The pids of its agents."""
        return [entry["start"]["pid"] for entry in self.logged() if "start" in entry]

    def logged(self) -> list[Json]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines]

    # -- what is left ------------------------------------------------------------------------------------------------

    def told_lines_are_in_the_journal(self) -> None:
        assert self.journal()[: len(self.told)] == self.told

    def everything_asked_is_accounted_for(self) -> set[str]:
        """Each turn has ended, was cut off or waits; the texts of those that wait."""
        owed, lines = Service(self.repo).ledger(self.id), self.journal()
        asked = {line["turn"]: text(line) for line in lines if line["kind"] == "input" and line["input"] == "prompt"}
        ended = [line["turn"] for line in lines if line["kind"] == "prompt"]
        waiting = [one.turn for one in owed.waiting]
        assert sorted([*ended, *owed.unanswered, *waiting]) == sorted(asked)
        assert len(owed.unanswered) <= 1
        shown = documents(gzia(self.repo, "show", self.id, "--json").stdout)[0]
        assert shown["unanswered"] == list(owed.unanswered)
        assert [one["turn"] for one in shown["waiting"]] == waiting
        return {asked[turn] for turn in waiting}

    def next_process_goes_on(self) -> None:
        cut_off = Service(self.repo).ledger(self.id).unanswered
        done = gzia(self.repo, "resume", self.id, "one more", "--json", *self.agent)
        assert done.returncode == 0, done.stderr
        owed, lines = Service(self.repo).ledger(self.id), self.journal()
        assert (owed.waiting, owed.unanswered) == ((), cut_off)
        assert (lines[-1]["kind"], lines[-1]["state"]) == ("session", "closed")

    def nothing_is_sent_twice(self, waited: set[str]) -> None:
        """The agents' own log against the journal."""
        frames = [entry["in"] for entry in self.logged() if isinstance(entry.get("in"), dict)]
        prompts = Counter(text(one["params"]) for one in frames if one.get("method") == "session/prompt")
        steers = Counter(text(one["params"]) for one in frames if one.get("method") == "_session/steering")
        assert max([*prompts.values(), *steers.values()]) == 1
        assert {one for one in waited if prompts[one] != 1} == set()
        lines = self.journal()
        texts = {line["steer_id"]: text(line) for line in lines if line.get("input") == "steer"}
        outcomes = {texts[line["steer_id"]]: line["outcome"] for line in lines if line["kind"] == "steer"}
        assert {one for one in texts.values() if prompts[one] and outcomes.get(one) not in RETRY_SAFE} == set()
        assert {one for one, outcome in outcomes.items() if outcome == "injected" and not steers[one]} == set()


def text(line: Json) -> str:
    """Of a journal line or of the parameters of a request."""
    return str((line.get("blocks") or line["prompt"])[0]["text"])


def test_a_killed_session_owes_what_it_says_and_the_next_process_goes_on(repo: Path) -> None:
    for number in range(6):
        Round(repo, number).play()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_200_kills_lose_nothing(repo: Path) -> None:
    for number in range(6, 206):
        Round(repo, number).play()
