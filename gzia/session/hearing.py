"""What is heard of an agent becomes lines of the journal, in its order, and then has its effects."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gzia.driver.observation import (
    Heard,
    Lost,
    Notice,
    PromptAnswered,
    PromptObservation,
    Question,
    QuestionWithdrawn,
    SteerObservation,
    Unreadable,
    UpdateObservation,
)
from gzia.session import lines
from gzia.session.books import Books
from gzia.session.calls import Calls
from gzia.session.journal import Draft, draft
from gzia.session.link import Link
from gzia.session.permissions import Permissions
from gzia.session.queue import Queue
from gzia.session.runner import Runner
from gzia.session.steers import Steers
from gzia.session.turns import Running
from gzia.session.writing import Pen


class Hearing:
    """Hears the agent of one conversation."""

    def __init__(
        self,
        queue: Queue,
        link: Link,
        pen: Pen,
        runner: Runner,
        steers: Steers,
        permissions: Permissions,
        calls: Calls,
        books: Books,
    ) -> None:
        self._queue = queue
        self._link = link
        self._pen = pen
        self._runner = runner
        self._steers = steers
        self._permissions = permissions
        self._calls = calls
        self._books = books

    def heard(self, batch: Sequence[Heard]) -> None:
        """Take what the agent did, in order (see gzia.driver.agent.Listener)."""
        drafts: list[Draft] = []
        endings: list[tuple[Running, PromptObservation]] = []
        current, connection, sequencer = self._queue.running, self._link.connection, self._link.sequencer
        running = current if current and current.was_sent else None
        turn = running if running and not running.is_answered else None
        unproven = self._steers.unproven
        floor, order = sequencer.last, 0
        for item in batch:
            if type(item) is UpdateObservation:
                order = item[3]
                if order < floor:  # this side has counted on, for something of its own
                    item, order = item._replace(order_sequence=floor), floor
                drafts.append(lines.update(item, turn.number if turn else None, connection))
                kind = item.event["kind"]
                if turn:
                    if unproven:
                        self._steers.saw(turn, item)
                    turn.saw(item)
                if kind != "text_delta" and kind != "thinking_delta":
                    self._saw(item)
                continue
            sequencer.received(order)
            if isinstance(item, SteerObservation):
                self._steers.observed(self._lifted(item), drafts)
            elif isinstance(item, PromptAnswered):
                if running:
                    running.is_answered, turn = True, None
            elif isinstance(item, PromptObservation | Lost):
                ending = self._lost(item, running, drafts) if isinstance(item, Lost) else item
                if running:
                    ending = ending._replace(order_sequence=sequencer.received(ending.order_sequence))
                    drafts += self._runner.ending(running, ending)
                    self._steers.ended(running, ending, drafts)
                    endings.append((running, ending))
                    running = turn = None
            else:
                drafts += self._told(item, turn)
            floor = sequencer.last
        sequencer.received(order)
        first = self._pen.journal.n + 1
        failed = self._pen.write(drafts, durable=bool(endings) or self._steers.has_turns)
        self._steers.written(0 if failed else first)
        if not failed:
            for ended, observation in endings:
                self._runner.settle(ended, observation)

    def _lifted(self, item: SteerObservation) -> SteerObservation:
        order = self._link.sequencer.received(item.result.order_sequence)
        return item._replace(result=item.result._replace(order_sequence=order))

    def _told(self, item: Question | QuestionWithdrawn | Notice | Unreadable, turn: Running | None) -> list[Draft]:
        number = turn.number if turn else None
        if isinstance(item, Question):
            return self._asked(item, turn)
        if isinstance(item, QuestionWithdrawn):
            self._calls.withdrawn(item.key)
            return self._permissions.withdrawn(item.key)
        if isinstance(item, Unreadable):
            return [draft("session", number, {"state": "unreadable", "reason": item.why})]
        return [lines.notice(item, number, self._link.connection)]

    def _saw(self, item: UpdateObservation) -> None:
        self._books.saw(item)
        if item.event.get("update") in ("config_option_update", "current_mode_update"):
            self._link.changed(json.loads(item.text))

    def _asked(self, question: Question, turn: Running | None) -> list[Draft]:
        if question.method == "session/request_permission":
            call = question.params.get("toolCall", {})
            known = turn.open_tools.get(call.get("toolCallId"), {}) if turn else {}
            kind = call.get("kind") or known.get("tool_kind")
            return self._permissions.asked(question, turn.number if turn else None, kind)
        if self._link.agent and self._calls.asked(self._link.agent, question):
            self._permissions.refuse(question.method)
        return []

    def _lost(self, lost: Lost, running: Running | None, drafts: list[Draft]) -> PromptObservation:
        """The agent is gone; how that ends a running turn."""
        self._link.lost(lost.error)
        drafts += self._permissions.all_settled("agent gone")
        self._steers.lost(drafts)
        if not self._runner.is_closing:
            self._books.agent_gone()
            number = running.number if running else None
            drafts.append(draft("session", number, {"state": "agent-gone", **lost.error.document()}))
        return PromptObservation("", {}, lost.write_admitted, 0, self._link.sequencer.local(), lost.error)
