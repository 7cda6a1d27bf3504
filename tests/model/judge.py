"""Holds what the journal says against what the agents really received, line by line and frame by frame.

Nothing of gzia's own bookkeeping is used: the judge reads the journal and sees the pipes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from gzia.driver.lane import ACKNOWLEDGED, GRACE
from gzia.driver.steer import SteerOutcome
from gzia.errors import GziaError
from gzia.session.journal import Draft, Journal
from gzia.session.ledger import Ledger
from gzia.session.runner import INTERRUPT
from gzia.transports.acp import LAST_WORDS
from tests.model.process import END, NOBODY_WORKS, Json, Message, Pipe, Program
from tests.virtual_time import VirtualLoop

KEPT_NOTHING = ("promptRequired", "failed", -32601, -32602)  # answers of an agent that did not take a message
STOP_REASONS = ("end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled")
A_WHISKER = 1e-6  # seconds: sums of floats


class WatchedJournal(Journal):
    """Knows what is on the disk for certain.

    ``refuses``: the disk takes nothing now; ``has_gaps``: that happened, so that lines are missing.
    """

    durable = 0
    refuses = False
    has_gaps = False

    def write(self, drafts: Sequence[Draft], *, durable: bool = False) -> None:
        if self.refuses and drafts:
            self.has_gaps = True
            raise GziaError("journal-not-writable", "The disk is full.", "make room")
        super().write(drafts, durable=durable)
        if durable and drafts:
            self.durable = self.n


@dataclass(slots=True)
class Turn:
    """What the journal says of a turn."""

    number: int
    text: str
    steer: Steer | None = None  # what it came of
    started: int = 0  # number of that line
    end: Json | None = None
    cancelled_at: float = 0.0
    calls: set[str] = field(default_factory=set)

    @property
    def is_urgent(self) -> bool:
        return self.steer is not None and self.steer.fallback == "interrupt"


@dataclass(slots=True)
class Steer:
    """What the journal says of a steer."""

    id: str
    text: str
    n: int
    turn: int | None
    fallback: str
    line: Json | None = None
    note: Json | None = None
    shown: bool = False  # the agent did something new after its answer
    is_lost: bool = False  # gzia was killed before anything was told
    is_renounced: bool = False  # nobody wants it as a turn any more


class Judge:
    """Sees one session from its first process to its last."""

    def __init__(self, seen: Counter[str]) -> None:
        self.seen = seen  # counts what happened, so that a check that sees nothing is found out
        self.lines: list[Json] = []
        self.messages: list[Message] = []
        self.turns: dict[int, Turn] = {}
        self.steers: dict[str, Steer] = {}
        self.waiting: list[int] = []
        self.held: list[int] = []
        self.running: Turn | None = None
        self.questions: dict[str, Json | None] = {}  # permission id -> the line that settled it
        self._stopping: set[Pipe] = set()  # a cancel was sent in the running turn
        self._order = 0
        self._responses: set[int] = set()
        self._progress = self._answered_at = 0.0
        self._told_answer: Message | None = None

    def watch(self, journal: WatchedJournal, loop: VirtualLoop) -> None:
        """A process of gzia begins."""
        self.journal, self._loop = journal, loop

    def catch_up(self) -> None:
        """Read what was written since the last time."""
        while found := self.journal.remembered(len(self.lines)):
            for entry in found:
                self._read(json.loads(entry.line))

    # -- frames ------------------------------------------------------------------------------------------------------

    def given(self, process: Program, frame: Json, message: Message | None) -> None:
        """See Witness: lines come before the frames that they announce."""
        self.catch_up()
        if message and message.is_steer:
            self._steer_given(process, message)
        elif message:
            self._prompt_given(process, message)
        elif frame.get("method") == "session/cancel":
            self._stopping.add(process.stdin)
        elif "result" in frame:
            call = f"t{process.pid}-{frame['id']}"
            assert any(line["state"] == "answered" for line in self._of_question(call)), "an answer without its line"
        if message:
            self.messages.append(message)

    def _of_question(self, call: str) -> list[Json]:
        lines = [line for line in self.lines if line["kind"] == "permission"]
        ids = {one["permission_id"] for one in lines if one.get("tool_call", {}).get("toolCallId") == call}
        return [line for line in lines if line["permission_id"] in ids]

    def _prompt_given(self, process: Program, message: Message) -> None:
        turn = self.running
        assert turn and turn.text == message.text, "a prompt that is not the turn that started"
        assert 0 < turn.started <= self.journal.durable, "a prompt before its line"
        before = [one for one in process.messages if not one.is_steer]
        assert all(one.heard for one in before), "a second prompt in a turn"
        same = [one for one in self.messages if one.text == message.text]
        assert not [one for one in same if not one.is_steer], "a prompt that is sent again"
        assert not [one for one in same if not (one.heard and _kept_nothing(one.heard[0])) and one.is_taken]
        self._stopping.discard(process.stdin)

    def _steer_given(self, process: Program, message: Message) -> None:
        steer = next(one for one in self.steers.values() if one.text == message.text)
        assert steer.line is None, "a steer after it was told"
        assert steer.n <= self.journal.durable, "a steer before its line"
        assert process.stdin.pending == 0, "a steer that can no longer be called back"
        assert process.stdin not in self._stopping, "a steer after a cancel"
        assert process.messages and not [one for one in process.messages if not one.is_steer][-1].heard, "no turn"
        earlier = [one for one in process.messages if one.is_steer]
        assert all(one.heard or self._told(one.text) for one in earlier), "two steers at once"
        certain = [one.heard and (one.heard[0] == "injected" or _kept_nothing(one.heard[0])) for one in earlier]
        assert all(certain), "a steer after an unknown one"

    def _told(self, text: str) -> bool:
        return any(one.line is not None for one in self.steers.values() if one.text == text)

    # -- lines -------------------------------------------------------------------------------------------------------

    def _read(self, line: Json) -> None:
        self.lines.append(line)
        assert line["n"] == len(self.lines), line
        self._in_order(line)
        turn = self.turns.get(line["turn"] or 0)
        if turn and line["kind"] != "steer_note":
            assert turn.end is None, ("a line after the last of its turn", line)
        match line:
            case {"kind": "input", "input": "prompt"}:
                self._asked(line)
            case {"kind": "input", "input": "steer"}:
                self._steer_asked(line)
            case {"kind": "input", "input": "cancel"} if turn:
                turn.cancelled_at = turn.cancelled_at or self._loop.now
            case {"kind": "turn", "state": "started"} if turn:
                self._started(turn, line)
            case {"kind": "update"} if turn:
                self._updated(turn, line)
            case {"kind": "prompt"} if turn:
                self._ended(turn, line)
            case {"kind": "steer"}:
                self._steered(self.steers[line["steer_id"]], line)
            case {"kind": "steer_note"}:
                self._noted(self.steers[line["steer_id"]], line)
            case {"kind": "permission", "permission_id": str(id)}:
                self._permission(id, line)

    def _in_order(self, line: Json) -> None:
        if line.get("state") == "agent-started":
            self._order = 0
            self._responses.clear()
        if "order_sequence" in line:
            goes_up = line["order_sequence"] >= self._order or self.journal.has_gaps
            assert goes_up and line["order_sequence"] >= line["receive_sequence"], line
            self._order = line["order_sequence"]
        if response := line.get("response_sequence"):
            assert response not in self._responses, ("a response that settles twice", line)
            self._responses.add(response)

    def _asked(self, line: Json) -> None:
        steer = self.steers[line["steer_id"]] if "steer_id" in line else None
        turn = Turn(line["turn"], line["blocks"][0]["text"], steer)
        assert turn.number == len(self.turns) + 1, line
        if steer:
            assert steer.line and SteerOutcome(steer.line["outcome"]).retry_safe, ("sent again", line)
            assert (steer.text, steer.fallback == "refuse") == (turn.text, False), line
            assert line["n"] > steer.line["n"] and not steer.is_renounced, line
            self.seen[f"turn of a steer: {steer.fallback}"] += 1
        self.turns[turn.number] = turn
        urgent = sum(self.turns[number].is_urgent for number in self.waiting)
        self.waiting.insert(urgent if turn.is_urgent else len(self.waiting), turn.number)

    def _started(self, turn: Turn, line: Json) -> None:
        assert self.running is None or self.journal.has_gaps, ("two turns at once", line)
        usual = [number for number in self.waiting if not self.turns[number].is_urgent]
        in_turn = turn.number in (self.waiting[0], *usual[:1])
        assert in_turn or self.journal.has_gaps, ("out of turn", self.waiting, line)
        assert not turn.started, line
        self.waiting.remove(turn.number)
        self.running, turn.started = turn, line["n"]

    def _updated(self, turn: Turn, line: Json) -> None:
        update = line["update"]
        kind, call = update["sessionUpdate"], update.get("toolCallId", "")
        if kind in ("agent_message_chunk", "agent_thought_chunk") or (kind == "tool_call" and call not in turn.calls):
            for steer in self.steers.values():
                if steer.turn == turn.number and steer.line and steer.line["outcome"] == "injected":
                    steer.shown = True
        if call:
            turn.calls.add(call)

    def _ended(self, turn: Turn, line: Json) -> None:
        message = next((one for one in self.messages if one.text == turn.text and not one.is_steer), None)
        assert line["write_admitted"] == bool(message and message.is_taken), ("what was written", line)
        is_answered = bool(message and message.heard) or "could not be read" in line.get("error", {}).get("message", "")
        assert bool(line["response_sequence"]) == is_answered, ("what was answered", line)
        if message and line.get("error", {}).get("code") == "agent-exited":
            assert message.pipe.is_closed, ("another process ended", line)
        said = line.get("agent_stop_reason", line["stop_reason"])
        if message and message.heard:
            assert said == (message.heard[0] if message.heard[0] in STOP_REASONS else ""), line
        assert not [one for one in self._open_steers() if one.turn == turn.number], ("a steer is open", line)
        assert turn.started or turn.number in self.waiting or turn.number in self.held, line
        for queue in (self.waiting, self.held):
            if turn.number in queue:
                queue.remove(turn.number)
        turn.end = line
        if turn is self.running:
            self.running = None
        self.seen[f"turn: {line['stop_reason'] or line['error']['code']}"] += 1

    # -- steers ------------------------------------------------------------------------------------------------------

    def _open_steers(self) -> list[Steer]:
        return [one for one in self.steers.values() if one.line is None and not one.is_lost]

    def _steer_asked(self, line: Json) -> None:
        if not self._open_steers():
            self._progress = self._loop.now
        assert line["steer_id"] not in self.steers, line
        text = line["blocks"][0]["text"]
        self.steers[line["steer_id"]] = Steer(line["steer_id"], text, line["n"], line["turn"], line["fallback"])

    def _steered(self, steer: Steer, line: Json) -> None:
        assert steer.line is None, ("told twice", line)
        assert not steer.is_lost, line
        assert line["turn"] == steer.turn, line
        steer.line = line
        self._progress = self._loop.now
        self._is_true(steer, now=True)
        self.seen[f"steer: {line['outcome']}{', answered' * bool(line['response_sequence'])}"] += 1

    def _is_true(self, steer: Steer, *, now: bool) -> None:
        """Whether what is told of a steer is what happened to it; ``now``: the line has just been written."""
        line = steer.line
        assert line
        messages = [one for one in self.messages if one.text == steer.text and one.is_steer]
        message = messages[0] if messages else None
        answer = message.heard[0] if message and message.heard else NOBODY_WORKS
        is_taken = bool(message and message.is_taken)
        truth = {
            "injected": answer == "injected",
            "fallback_required": _kept_nothing(answer) if line["write_admitted"] else not is_taken,
            "unsupported": message is None,
            "admission_unknown": message is not None,
            "delivery_unknown": is_taken,
            "delivered_untrackable": answer == "startedNewTurn",
        }[line["outcome"]]
        assert truth, ("not what happened", line, message)
        assert len(messages) <= 1, ("given twice", line)
        if now:
            decided_before = line["outcome"] == "admission_unknown"  # the line comes a moment later
            assert line["write_admitted"] == is_taken or decided_before, line
            assert not line["response_sequence"] or (message and message.heard), line
        if message and message.in_turn and line["outcome"] == "injected":
            assert message.in_turn == self.turns[steer.turn or 0].text, ("another turn", line)

    def _noted(self, steer: Steer, line: Json) -> None:
        turn = self.turns[steer.turn or 0]
        assert steer.line and steer.line["outcome"] == "injected" and steer.note is None, line
        assert turn.end, ("a note before the end of its turn", line)
        if line["acted"] == "yes":
            assert steer.shown, line
        elif line["acted"] == "unlikely":
            assert not steer.shown or turn.end["stop_reason"] == "cancelled", line
        steer.note = line
        self.seen[f"note: {line['acted']}"] += 1

    def _permission(self, id: str, line: Json) -> None:
        if line["state"] == "asked":
            assert id not in self.questions, line
            self.questions[id] = None
        else:
            assert self.questions[id] is None, ("settled twice", line)
            self.questions[id] = line
            self.seen[f"question: {line.get('by', line['state'])}"] += 1

    # -- time --------------------------------------------------------------------------------------------------------

    def on_time(self) -> None:
        """Nothing is late; to be asked when the loop has settled."""
        now = self._loop.now - A_WHISKER
        if self.running and self.running.cancelled_at:
            assert now - self.running.cancelled_at <= INTERRUPT + LAST_WORDS + END, "a cancelled turn goes on"
        if self._open_steers():
            assert now - self._progress <= 2 * ACKNOWLEDGED, "a steer waits longer than it may"
        answered = next((one for one in self.messages if self.running and one.text == self.running.text), None)
        if answered is None or answered.is_steer or not answered.heard:
            self._told_answer = None
        elif self._told_answer is not answered:
            self._told_answer, self._answered_at = answered, self._loop.now
        else:
            assert now - self._answered_at <= GRACE, "the end of a turn waits longer than it may"

    # -- what people do that no line tells ---------------------------------------------------------------------------

    def renounced(self, *steer_ids: str) -> None:
        """These, or all, are to become no turns."""
        self.catch_up()
        for steer in self._open_steers():
            steer.is_renounced = steer.is_renounced or not steer_ids or steer.id in steer_ids

    def resumed(self) -> None:
        """The held turns wait like others."""
        self.catch_up()
        self.waiting, self.held = self.held + self.waiting, []

    # -- ends --------------------------------------------------------------------------------------------------------

    def killed(self, owed: Ledger) -> None:
        """gzia was killed; ``owed`` is what the journal alone still knows."""
        unanswered = [self.running.number] if self.running else []
        unanswered += [one.number for one in self.turns.values() if one.started and not one.end]
        assert sorted(one.turn for one in owed.waiting) == sorted(self.waiting + self.held)
        assert sorted(owed.unanswered) == sorted(set(unanswered))
        assert all((one.turn, one.blocks[0]["text"]) == (one.turn, self.turns[one.turn].text) for one in owed.waiting)
        lost = [one for one in self.steers.values() if one.line is None]
        assert list(owed.unsettled) == [one.id for one in lost]
        assert (owed.turns, owed.steer_ids) == (len(self.turns), frozenset(self.steers))
        self.seen["killed"] += 1
        self.seen["killed while turns waited"] += bool(owed.waiting)
        self.seen["killed in a turn"] += bool(self.running)
        self.seen["killed while a steer was open"] += any(not one.is_lost for one in lost)
        self.held, self.waiting, self.running = [one.turn for one in owed.waiting], [], None
        for steer in lost:
            steer.is_lost = True
        self.questions = {id: line for id, line in self.questions.items() if line}

    def finish(self) -> None:
        """Everything is over: what was told stays true, and nothing is left open."""
        self.catch_up()
        for steer in self.steers.values():
            if steer.line:
                self._is_true(steer, now=False)
        if not self.journal.has_gaps:
            assert not self._open_steers()
            assert not self.running and not self.waiting
            assert None not in self.questions.values()
            injected = {one.id for one in self.steers.values() if one.line and one.line["outcome"] == "injected"}
            assert {one.id for one in self.steers.values() if one.note or one.is_lost} >= {
                id for id in injected if self.turns[self.steers[id].turn or 0].end
            }


def _kept_nothing(answer: Any) -> bool:
    return any(type(answer) is type(one) and answer == one for one in KEPT_NOTHING)
