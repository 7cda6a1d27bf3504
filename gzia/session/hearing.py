"""What is heard of an agent becomes lines of the journal, in its order, and then has its effects."""

from __future__ import annotations

import json
from collections.abc import Sequence

from gzia.driver.observation import (
    Heard,
    Lost,
    Notice,
    PromptObservation,
    Question,
    QuestionWithdrawn,
    Unreadable,
    UpdateObservation,
)
from gzia.session import lines
from gzia.session.books import Books
from gzia.session.calls import Calls
from gzia.session.journal import Draft, draft
from gzia.session.link import Link
from gzia.session.permissions import Permissions
from gzia.session.runner import Runner
from gzia.session.turns import Running
from gzia.session.writing import Pen


class Hearing:
    """Hears the agent of one conversation."""

    def __init__(
        self, link: Link, pen: Pen, runner: Runner, permissions: Permissions, calls: Calls, books: Books
    ) -> None:
        self.is_closing = False  # the agent's end is no news then
        self._link = link
        self._pen = pen
        self._runner = runner
        self._permissions = permissions
        self._calls = calls
        self._books = books

    def heard(self, batch: Sequence[Heard]) -> None:
        """Take what the agent did, in order (see gzia.driver.agent.Listener)."""
        drafts: list[Draft] = []
        endings: list[tuple[Running, PromptObservation]] = []
        current, connection = self._runner.current, self._link.connection
        turn = current if current and current.was_sent else None
        for item in batch:
            if type(item) is UpdateObservation:
                drafts.append(lines.update(item, turn.number if turn else None, connection))
                kind = item.event["kind"]
                if turn:
                    turn.saw(item.event)
                if kind != "text_delta" and kind != "thinking_delta":
                    self._saw(item)
            elif isinstance(item, PromptObservation | Lost):
                ending = item if isinstance(item, PromptObservation) else self._lost(item, turn, drafts)
                if turn:
                    drafts += self._runner.ending(turn, ending)
                    endings.append((turn, ending))
                    turn = None
            elif isinstance(item, Question):
                drafts += self._asked(item, turn)
            elif isinstance(item, QuestionWithdrawn):
                self._calls.withdrawn(item.key)
                drafts += self._permissions.withdrawn(item.key)
            elif isinstance(item, Unreadable):
                unread = {"state": "unreadable", "reason": item.why}
                drafts.append(draft("session", turn.number if turn else None, unread))
            elif isinstance(item, Notice):
                drafts.append(lines.notice(item, turn.number if turn else None, connection))
        if self._pen.write(drafts, durable=bool(endings)):
            return
        for ended, observation in endings:
            self._runner.settle(ended, observation)

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

    def _lost(self, lost: Lost, turn: Running | None, drafts: list[Draft]) -> PromptObservation:
        """The agent is gone; how that ends a running turn."""
        self._link.lost(lost.error)
        drafts += self._permissions.all_settled("agent gone")
        if not self.is_closing:
            number = turn.number if turn else None
            drafts.append(draft("session", number, {"state": "agent-gone", **lost.error.document()}))
        return PromptObservation("", {}, True, 0, self._link.sequencer.local(), lost.error)
