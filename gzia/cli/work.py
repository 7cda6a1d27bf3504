"""What a command does with a session that it has open, from its first turn to its last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from gzia.driver.turn import Block
from gzia.serve.door import Door
from gzia.session.conversation import Conversation
from gzia.session.host import Live
from gzia.session.turns import TurnEnd

PATIENCE = 600.0  # seconds that a question in the background waits for somebody


class Work(Protocol):
    """What is done while the session is open."""

    async def do(self, live: Live, door: Door) -> TurnEnd | None:
        """Do it; the end of the last turn that it asked for.  None: it asked for none."""

    def stop(self) -> None:
        """A person wants it to end: nothing new is begun."""


class Turns:
    """The turns that wait from before (``held``), then the one of ``prompt``, then what others asked for meanwhile.

    ``started`` hears the session's id when the first of them runs.  Given that, the session is in the background: a
    question waits for somebody to join, and who has joined may go on.
    """

    def __init__(self, prompt: str, *, held: bool = False, started: Callable[[str], None] | None = None) -> None:
        self._prompt = prompt
        self._held = held
        self._started = started

    async def do(self, live: Live, door: Door) -> TurnEnd | None:
        """See Work."""
        if self._started:
            live.conversation.permissions.patience = PATIENCE
        asked = list(live.conversation.resume_queue()) if self._held else []
        if self._prompt:
            asked.append(live.conversation.prompt(said(self._prompt)))
        if self._started:
            self._started(live.id)
        await asyncio.gather(*asked)
        await live.conversation.idle()
        while self._started and door.attached:
            await door.left()
            await live.conversation.idle()
        return asked[-1].result() if asked else None

    def stop(self) -> None:
        """Nothing: a cancel drops what waits."""


def said(text: str) -> list[Block]:
    """A text as content blocks."""
    return [{"type": "text", "text": text}]


def one_less(conversation: Conversation) -> None:
    """Somebody who could answer questions does so no more."""
    if conversation.permissions.answerers > 1:
        conversation.permissions.answerers -= 1
    else:
        conversation.nobody_left()
