"""A turn from its prompt to its end, as a session keeps it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gzia.driver.observation import Event
from gzia.driver.turn import Block
from gzia.errors import GziaError

MESSAGE_LIMIT = 65536  # characters of the answer on the prompt line; all of it is in the update lines


class TurnEnd(NamedTuple):
    """How a turn ended.  ``refused`` are the titles of what was refused because nobody could be asked."""

    number: int
    stop_reason: str
    message: str
    refused: tuple[str, ...] = ()
    error: GziaError | None = None
    result: dict[str, Any] = {}  # noqa: RUF012  (never changed)
    why: str = ""  # it was cancelled


@dataclass(slots=True)
class Running:
    """A turn that was accepted and has not ended."""

    number: int
    blocks: tuple[Block, ...]
    ended: asyncio.Future[TurnEnd]
    cancelled: bool = False
    why: str = ""  # it was cancelled
    was_sent: bool = False  # the agent has got it
    open_tools: dict[str, Event] = field(default_factory=dict)
    _message: list[str] = field(default_factory=list)
    _size: int = 0

    def saw(self, event: Event) -> None:
        """Keep what the end of the turn needs: the answer's text and the tool calls that are still open."""
        kind = event["kind"]
        if kind == "text_delta":
            self._add(event["text"])
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
        if event.get("status") in ("completed", "failed"):
            self.open_tools.pop(event["id"], None)
        else:
            self.open_tools[event["id"]] = {**self.open_tools.get(event["id"], {}), **event}

    @property
    def message(self) -> str:
        """The answer so far: the text after the last tool call, its last :data:`MESSAGE_LIMIT` characters."""
        return "".join(self._message)[-MESSAGE_LIMIT:]
