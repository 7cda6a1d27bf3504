"""Which turn of a session runs, which wait, and in which order."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from gzia.driver.turn import Block
from gzia.errors import ConflictError
from gzia.session.ledger import Asked
from gzia.session.turns import Running, TurnEnd

LIMIT = 64  # turns that wait


class Cancelled(NamedTuple):
    """The numbers of the turns that a cancel stops: the one that ran, and those that never will."""

    running: int | None = None
    dropped: tuple[int, ...] = ()


class Queue:
    """The turns of one session.  ``last`` is the highest number so far.

    ``held`` were left waiting by an earlier process; they are not begun before :meth:`release`.
    """

    def __init__(self, last: int, held: Sequence[Asked]) -> None:
        self.running: Running | None = None
        self.last = last
        self._waiting: list[Running] = []
        self._held = list(held)
        self._reserved: list[Running] = []  # turns whose lines are not written yet

    @property
    def waiting(self) -> tuple[int, ...]:
        """The numbers of the turns that run next, in their order."""
        return tuple(turn.number for turn in self._waiting)

    @property
    def held(self) -> tuple[int, ...]:
        """The numbers of the held turns."""
        return tuple(one.turn for one in self._held)

    @property
    def is_idle(self) -> bool:
        """Whether a new turn would run at once."""
        return self.running is None and not self._waiting and not self._reserved

    # -- coming in ---------------------------------------------------------------------------------------------------

    def reserve(self, blocks: Sequence[Block], steer_id: str = "", *, is_urgent: bool = False) -> Running:
        """A new turn with its number; it counts from :meth:`confirm` on.  ConflictError ``queue-full``."""
        if not self.is_idle and len(self._held) + len(self._waiting) + len(self._reserved) >= LIMIT:
            message = f"{LIMIT} turns of this session are waiting already."
            raise ConflictError("queue-full", message, "wait until some of them are done, or drop them: gzia cancel")
        number = self.last + 1 + len(self._reserved)
        turn = Running(number, tuple(blocks), _future(), steer_id, is_urgent)
        self._reserved.append(turn)
        return turn

    def confirm(self) -> None:
        """The lines of the reserved turns are written."""
        for turn in self._reserved:
            self.last = turn.number
            urgent = sum(one.is_urgent for one in self._waiting)
            self._waiting.insert(urgent if turn.is_urgent else len(self._waiting), turn)
        self._reserved.clear()

    def forget(self) -> None:
        """The lines of the reserved turns could not be written."""
        self._reserved.clear()

    # -- going out ---------------------------------------------------------------------------------------------------

    def next(self) -> Running | None:
        """The turn that runs from now on, if none does and one waits."""
        if self.running or not self._waiting:
            return None
        self.running = self._waiting.pop(0)
        return self.running

    def release(self) -> list[Running]:
        """The held turns wait like others now, before those that were asked since."""
        released = self._freed()
        self._waiting[:0] = released
        return released

    def drop(self, *, held: bool) -> list[Running]:
        """Take out all that wait."""
        dropped = [*(self._freed() if held else []), *self._waiting]
        self._waiting.clear()
        return dropped

    def _freed(self) -> list[Running]:
        freed = [Running(one.turn, one.blocks, _future(), one.steer_id, one.is_urgent) for one in self._held]
        self._held.clear()
        return freed


def _future() -> asyncio.Future[TurnEnd]:
    return asyncio.get_running_loop().create_future()
