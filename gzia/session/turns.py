"""A turn from its prompt to its end, as a session keeps it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from gzia.driver.observation import Event, PromptObservation, UpdateObservation
from gzia.driver.turn import Block
from gzia.errors import GziaError
from gzia.session.notes import Begun

MESSAGE_LIMIT = 65536  # characters of the answer on the prompt line; all of it is in the update lines


class Fallback(StrEnum):
    """What becomes of a message that was certainly not delivered.

    ``refuse``: nothing.  ``queue``: it is a turn, after those that wait.  ``interrupt``: it is the next turn, and the
    running one is cancelled for it.
    """

    QUEUE = "queue"
    REFUSE = "refuse"
    INTERRUPT = "interrupt"


class TurnEnd(NamedTuple):
    """How a turn ended.  ``refused`` are the titles of what was refused because nobody could be asked."""

    number: int
    stop_reason: str
    message: str
    refused: tuple[str, ...] = ()
    error: GziaError | None = None
    result: dict[str, Any] = {}  # noqa: RUF012  (never changed)
    why: str = ""  # it was cancelled


@dataclass(slots=True, eq=False)
class Running:
    """A turn that was accepted and has not ended.

    ``steer_id``: the steer that became this turn.  ``is_urgent``: it goes before those that were only queued.
    """

    number: int
    blocks: tuple[Block, ...]
    ended: asyncio.Future[TurnEnd]
    steer_id: str = ""
    is_urgent: bool = False
    is_cancelled: bool = False
    why: str = ""  # it was cancelled
    is_announced: bool = False  # the line that says that it starts is written
    was_sent: bool = False  # the agent has got it
    is_answered: bool = False  # the agent is done with it, and a steer of it is not settled yet
    open_tools: dict[str, Event] = field(default_factory=dict)
    begun: Begun = field(default_factory=Begun)
    _message: list[str] = field(default_factory=list)
    _size: int = 0

    @property
    def is_reachable(self) -> bool:
        """Whether the agent works on it."""
        return self.was_sent and not self.is_answered

    def stop_reason(self, observation: PromptObservation) -> str:
        """What is told: some agents answer ``end_turn`` or an error to a turn that was stopped before its answer."""
        return "cancelled" if self.is_cancelled else observation.stop_reason

    def saw(self, item: UpdateObservation) -> None:
        """Keep what the end of the turn needs: the answer's text and the tool calls that are still open."""
        event = item.event
        kind = event["kind"]
        if kind == "text_delta":
            self.begun.spoke(item.text)
            self._add(event["text"])
        elif kind == "thinking_delta":
            self.begun.spoke(item.text)
        elif kind in ("tool_use", "tool_result"):
            self._tool(event)

    def _add(self, text: str) -> None:
        self._message.append(text)
        self._size += len(text)
        if self._size > 2 * MESSAGE_LIMIT:
            self._message = [self.message]
            self._size = len(self._message[0])

    def _tool(self, event: Event) -> None:
        self._message.clear()  # the answer is what comes after the last tool call
        self._size = 0
        self.begun.used(event["id"])
        if event.get("status") in ("completed", "failed"):
            self.open_tools.pop(event["id"], None)
        else:
            self.open_tools[event["id"]] = {**self.open_tools.get(event["id"], {}), **event}

    @property
    def message(self) -> str:
        """The answer so far: the text after the last tool call, its last :data:`MESSAGE_LIMIT` characters."""
        return "".join(self._message)[-MESSAGE_LIMIT:]
