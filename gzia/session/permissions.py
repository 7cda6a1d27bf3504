"""The open questions of a conversation: who is asked, who answered, and what the journal says about it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gzia.driver.observation import Question
from gzia.driver.turn import PermissionLevel
from gzia.session import policy
from gzia.session.journal import Draft, draft

POLICY = "policy:"  # who answered, when it was the permission level: "policy:readonly"


@dataclass(slots=True)
class Open:
    """A permission that is being asked."""

    id: str
    key: Any
    tool_call: dict[str, Any]
    options: list[Any]
    turn: int | None
    patience: asyncio.TimerHandle | None = None  # what settles it when nobody has come


class Permissions:
    """Settles permission questions.

    ``reply(key, result)`` carries an answer to the agent, ``told(allowed, title, by)`` hears what was settled, and
    ``write`` gets the lines for what is settled by time.  ``earlier``: at least as many as the questions of earlier
    processes, so that no answer meant for one of them ever settles a new one.
    """

    def __init__(
        self,
        level: PermissionLevel,
        reply: Callable[[Any, Any], None],
        told: Callable[[bool, str, str], None],
        write: Callable[[list[Draft]], object],
        *,
        earlier: int = 0,
    ) -> None:
        self.level = level
        self.open: dict[str, Open] = {}
        self.answerers = 0  # how many clients could answer a question now
        self.patience: float | None = None  # seconds that a question waits for one when there is none; None: not at all
        self.refused: list[str] = []  # titles of what was refused in this turn because nobody could be asked
        self._reply = reply
        self._told = told
        self._write = write
        self._minted = earlier
        self._ready: list[tuple[Any, Any]] = []  # answers whose line is not written yet

    def begin_turn(self) -> None:
        """A new turn: nothing has been refused in it."""
        self.refused = []

    def refuse(self, title: str) -> None:
        """Something was refused because of the level."""
        self.refused.append(title)

    def asked(self, question: Question, turn: int | None, tool_kind: str | None) -> list[Draft]:
        """The lines for a new question, and for its answer when the level settles it at once."""
        self._minted += 1
        call, options = question.params.get("toolCall", {}), question.params.get("options", [])
        one = Open(f"p{turn or 0}-{self._minted}", question.key, call, options, turn)
        self.open[one.id] = one
        line = {"permission_id": one.id, "state": "asked", "tool_call": one.tool_call, "options": one.options}
        can_wait = self.answerers > 0 or self.patience is not None
        outcome = policy.settle(self.level, tool_kind, one.options, somebody=can_wait)
        lines = [draft("permission", turn, line)]
        if outcome is not None:
            return lines + self.settled(one.id, outcome, f"{POLICY}{self.level}")
        self._wait(one)
        return lines

    def nobody_left(self) -> list[Draft]:
        """The lines when the last client that could answer is gone: open questions wait as long as the patience."""
        self.answerers = 0
        if self.patience is None:
            return self.all_settled(policy.NOBODY)
        for one in self.open.values():
            self._wait(one)
        return []

    def _wait(self, one: Open) -> None:
        if one.patience:
            one.patience.cancel()
        if self.answerers == 0 and self.patience is not None:
            one.patience = asyncio.get_running_loop().call_later(self.patience, self._nobody_came, one)

    def _nobody_came(self, one: Open) -> None:
        if self.answerers == 0:  # else that client has all the time it wants
            outcome = policy.settle(self.level, None, one.options, somebody=False)
            self._write(self.settled(one.id, outcome or policy.CANCELLED, f"{POLICY}{self.level}"))

    def settled(self, permission_id: str, outcome: dict[str, Any], by: str) -> list[Draft]:
        """The line for an answer.  The agent gets it through :meth:`deliver`, once the line is written."""
        one = self.open.pop(permission_id, None)
        if one is None:
            return []  # somebody else was faster
        if one.patience:
            one.patience.cancel()
        allowed = policy.allows(outcome, one.options)
        title = str(one.tool_call.get("title") or one.tool_call.get("toolCallId"))
        if not allowed and by.startswith(POLICY):
            self.refuse(title)
        self._told(allowed, title, by)
        line = {"permission_id": one.id, "state": "answered", "outcome": outcome, "allowed": allowed, "by": by}
        self._ready.append((one.key, {"outcome": outcome}))
        return [draft("permission", one.turn, line)]

    def answered(self, permission_id: str, outcome: dict[str, Any], by: str) -> list[Draft]:
        """The line for a person's answer.  An option that was not offered counts as ``cancelled``."""
        one = self.open.get(permission_id)
        offered = [option.get("optionId") for option in one.options if isinstance(option, dict)] if one else []
        if outcome.get("outcome") == "selected" and outcome.get("optionId") not in offered:
            outcome = policy.CANCELLED
        return self.settled(permission_id, outcome, by)

    def withdrawn(self, key: Any) -> list[Draft]:
        """The line for a question that the agent took back."""
        gone = [one for one in self.open.values() if one.key == key]
        for one in gone:
            del self.open[one.id]
            if one.patience:
                one.patience.cancel()
        return [draft("permission", one.turn, {"permission_id": one.id, "state": "withdrawn"}) for one in gone]

    def all_settled(self, by: str) -> list[Draft]:
        """Every open question answered with ``cancelled``: after a cancel, or when nobody is left to ask."""
        return [line for one in list(self.open) for line in self.settled(one, policy.CANCELLED, by)]

    def drop(self) -> None:
        """Nothing can be written down: forget all answers and questions.  The next process must not get any of them."""
        self._ready.clear()
        for one in self.open.values():
            if one.patience:
                one.patience.cancel()
        self.open.clear()

    def deliver(self) -> None:
        """Send the answers whose lines are written."""
        ready, self._ready = self._ready, []
        for key, result in ready:
            self._reply(key, result)
