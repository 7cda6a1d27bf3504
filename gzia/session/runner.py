"""Gives an agent one turn after another, and tells how each ended."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from gzia.driver.observation import PromptObservation
from gzia.driver.turn import Block, Turn
from gzia.errors import GziaError
from gzia.session import lines
from gzia.session.books import Books
from gzia.session.journal import Draft, draft
from gzia.session.link import Link
from gzia.session.permissions import Permissions
from gzia.session.turns import Running, TurnEnd
from gzia.session.writing import Pen
from gzia.system.tasks import told

INTERRUPT = 10.0  # seconds that an agent has to answer a cancel before it is ended

Reopen = Callable[[], Coroutine[Any, Any, object]]  # starts the agent again on its conversation


class Runner:
    """The turns of one session: the one that runs and those that wait."""

    def __init__(self, link: Link, pen: Pen, permissions: Permissions, books: Books, reopen: Reopen) -> None:
        self.current: Running | None = None
        self.turns = books.turns
        self._link = link
        self._pen = pen
        self._permissions = permissions
        self._books = books
        self._reopen = reopen
        self._queue: deque[Running] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._opening: asyncio.Task[object] | None = None

    # -- asking and stopping -----------------------------------------------------------------------------------------

    def accept(self, blocks: Sequence[Block]) -> asyncio.Future[TurnEnd]:
        """A new turn, after those accepted before; GziaError when it cannot be written down."""
        number = self.turns + 1
        asked = draft("input", number, {"input": "prompt", "blocks": list(blocks)})
        self._pen.journal.write([asked], durable=True)
        self.turns = number
        turn = Running(number, tuple(blocks), asyncio.get_running_loop().create_future())
        self._queue.append(turn)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
            self._worker.add_done_callback(told)
        return turn.ended

    def cancel(self, why: str) -> None:
        """Stop the running turn and drop those that wait."""
        turns = self.stop()
        for turn in turns:
            turn.why = why
        if not turns:
            return
        cancelled = draft("input", turns[0].number, {"input": "cancel"})
        if self._pen.write([cancelled, *self._permissions.all_settled("cancel")]) or not self._link.agent:
            return
        if self.current and self.current.was_sent:
            self._link.agent.cancel()
            asyncio.get_running_loop().call_later(INTERRUPT, self._insist, self.current)

    def stop(self) -> list[Running]:
        """Mark every turn as cancelled."""
        turns = [*([self.current] if self.current else []), *self._queue]
        for turn in turns:
            turn.cancelled = True
        if self._opening:
            self._opening.cancel()
        return turns

    async def finished(self) -> None:
        """Wait until no turn runs or waits."""
        if self._worker:
            await asyncio.wait([self._worker])

    def _insist(self, turn: Running) -> None:
        if self.current is turn and not turn.ended.done():
            self._link.give_up()

    # -- one after another -------------------------------------------------------------------------------------------

    async def _work(self) -> None:
        while self._queue:
            turn = self.current = self._queue.popleft()
            try:
                await self._run(turn)
            except GziaError as error:
                self._end(turn, PromptObservation("", {}, False, 0, self._link.sequencer.local(), error))
            await asyncio.wait([turn.ended])

    async def _run(self, turn: Running) -> None:
        if self._link.agent is None and not turn.cancelled:
            await self._started_again(turn)
        if turn.cancelled:
            self._end(turn, PromptObservation("cancelled", {}, False, 0, self._link.sequencer.local()))
            return
        if self._link.agent is None:
            raise self._link.gone
        self._books.turn_started(turn.number)
        self._permissions.begin_turn()
        turn.was_sent = True
        self._link.agent.prompt(Turn(turn.number, turn.blocks))

    async def _started_again(self, turn: Running) -> None:
        """Start the agent again on its conversation; given up when the turn is cancelled meanwhile."""
        self._opening = asyncio.create_task(self._reopen())
        try:
            await self._opening
        except asyncio.CancelledError:
            if not turn.cancelled:
                raise
        finally:
            self._opening = None

    # -- the end of a turn -------------------------------------------------------------------------------------------

    def ending(self, turn: Running, observation: PromptObservation) -> list[Draft]:
        """The lines that close a turn: its open questions, the tool calls it left open, then the prompt line."""
        drafts = self._permissions.all_settled("turn ended")
        if observation.stop_reason == "cancelled" or turn.cancelled or observation.error:
            for id in turn.open_tools:
                closed = lines.tool_closed(id, self._link.sequencer)
                self._books.saw(closed)
                drafts.append(lines.update(closed, turn.number, self._link.connection))
            turn.open_tools.clear()
        return [*drafts, lines.prompt(turn, observation, stop_reason_of(turn, observation))]

    def _end(self, turn: Running, observation: PromptObservation) -> None:
        """End a turn that the agent never got."""
        error = self._pen.write(self.ending(turn, observation), durable=True)
        self.settle(turn, observation._replace(error=error) if error else observation)

    def fail(self, error: GziaError) -> None:
        """What the running turn does cannot be written down any more."""
        turn = self.current
        if turn and turn.was_sent and not turn.ended.done():
            self.settle(turn, PromptObservation("", {}, True, 0, self._link.sequencer.local(), error))

    def settle(self, turn: Running, observation: PromptObservation) -> None:
        """The lines that close the running turn are written: tell its end."""
        self.current = None
        reason = stop_reason_of(turn, observation)
        error = None if reason == "cancelled" else observation.error
        refused = tuple(self._permissions.refused)
        end = TurnEnd(turn.number, reason, turn.message, refused, error, observation.result, turn.why)
        self._books.turn_ended(end)
        unkept = self._books.take_problem()
        if unkept and not error and reason != "cancelled":
            end = end._replace(error=unkept)
        if not turn.ended.done():
            turn.ended.set_result(end)


def stop_reason_of(turn: Running, observation: PromptObservation) -> str:
    """What is told: some agents answer ``end_turn`` or an error to a turn that was stopped before its answer came."""
    return "cancelled" if turn.cancelled else observation.stop_reason
