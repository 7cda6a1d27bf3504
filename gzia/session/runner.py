"""Gives an agent one turn after another, and tells how each ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from gzia.driver.observation import PromptObservation
from gzia.driver.turn import Block, Turn
from gzia.errors import GziaError
from gzia.session import lines
from gzia.session.books import Books
from gzia.session.journal import Draft
from gzia.session.link import Link
from gzia.session.permissions import Permissions
from gzia.session.queue import Cancelled, Queue
from gzia.session.turns import Running, TurnEnd
from gzia.session.writing import Pen
from gzia.system.tasks import told

INTERRUPT = 10.0  # seconds that an agent has to answer a cancel before it is ended

Reopen = Callable[[], Coroutine[Any, Any, object]]  # starts the agent again on its conversation


class Runner:
    """Runs the turns of a queue.

    A turn is drafted, its lines are written by the caller, and then it is confirmed (or forgotten): so what it comes
    from and the turn itself can stand in one write.
    """

    def __init__(
        self, queue: Queue, link: Link, pen: Pen, permissions: Permissions, books: Books, reopen: Reopen
    ) -> None:
        self.is_closing = False
        self._queue = queue
        self._link = link
        self._pen = pen
        self._permissions = permissions
        self._books = books
        self._reopen = reopen
        self._starting: asyncio.Task[None] | None = None  # starts the agent for a turn
        self._opening: asyncio.Task[object] | None = None  # the part of it that can be given up

    # -- coming in ---------------------------------------------------------------------------------------------------

    def draft(
        self, blocks: Sequence[Block], steer_id: str = "", *, is_urgent: bool = False
    ) -> tuple[Running, list[Draft]]:
        """A new turn and its lines.  ConflictError ``queue-full``, GziaError ``session-closed``."""
        if self.is_closing:
            raise GziaError("session-closed", "This session is being closed.", "open a new session")
        begins = self._queue.is_idle and self._link.agent is not None
        turn = self._queue.reserve(blocks, steer_id, is_urgent=is_urgent)
        turn.is_announced = begins
        return turn, [lines.asked(turn), *([lines.started(turn)] if begins else [])]

    def confirm(self, *, soon: bool = False) -> None:
        """The lines are written.  ``soon``: the agent is being listened to and cannot be spoken to just now."""
        self._queue.confirm()
        if turn := self._next():
            if soon:
                asyncio.get_running_loop().call_soon(self._begin, turn)
            else:
                self._begin(turn)

    def resume(self) -> list[Running]:
        """Run what an earlier process left waiting, before everything else that waits."""
        released = self._queue.release()
        self.confirm()
        return released

    # -- stopping ----------------------------------------------------------------------------------------------------

    def cancel(self, why: str) -> Cancelled:
        """Stop the running turn, and a turn that nobody owns, and drop those that wait."""
        running, dropped, untracked = self._stoppable, self._queue.drop(held=True), self._link.untracked
        if not (running or dropped or untracked):
            return Cancelled()
        drafts = [lines.cancel(running.number if running else None), *self._permissions.all_settled("cancel")]
        if untracked:
            drafts.append(lines.untracked_ended(untracked, "cancelled"))
        self._stop(running, why, drafts, dropped)
        return Cancelled(running.number if running else None, tuple(turn.number for turn in dropped))

    def interrupt(self, turn: Running | None) -> None:
        """Stop this turn, if it still runs, and no other."""
        if turn and turn is self._stoppable and not turn.is_cancelled:
            drafts = [lines.cancel(turn.number), *self._permissions.all_settled("cancel")]
            self._stop(turn, "interrupted by a message", drafts, [])

    def close(self) -> None:
        """Begin nothing more; what runs ends with the agent.  Held turns stay as they are."""
        self.is_closing = True
        self._stop(self._stoppable, "closed", self._permissions.all_settled("closed"), self._queue.drop(held=False))

    async def finished(self) -> None:
        """Wait until no turn runs."""
        if self._queue.running:
            await asyncio.wait([self._queue.running.ended])
        if self._starting:
            await asyncio.wait([self._starting])

    @property
    def _stoppable(self) -> Running | None:
        """The running turn, unless the agent is done with it."""
        running = self._queue.running
        return running if running and not running.is_answered else None

    def _stop(self, running: Running | None, why: str, drafts: list[Draft], dropped: list[Running]) -> None:
        if running:
            running.is_cancelled, running.why = True, why
            if self._opening:
                self._opening.cancel()
        drafts += [lines.dropped(turn.number, self._link.sequencer.local()) for turn in dropped]
        error = self._pen.write(drafts, durable=bool(dropped))
        for turn in dropped:
            end = TurnEnd(turn.number, "cancelled", "", error=error, why=why)
            self._books.turn_dropped(end)
            turn.ended.set_result(end)
        if not error and not self.is_closing:
            self._ask_to_stop(running)

    def _ask_to_stop(self, running: Running | None) -> None:
        agent, untracked = self._link.agent, self._link.untracked
        self._link.untracked = ""
        if agent and ((running and running.was_sent) or untracked):
            agent.cancel()
            if running:
                asyncio.get_running_loop().call_later(INTERRUPT, self._insist, running)

    def _insist(self, turn: Running) -> None:
        if self._queue.running is turn and not turn.ended.done():
            self._link.give_up()

    # -- one after another -------------------------------------------------------------------------------------------

    def _next(self) -> Running | None:
        turn = self._queue.next()
        if turn:
            self._books.turn_started(turn.number)
        return turn

    def _begin(self, turn: Running) -> None:
        if self._link.agent is None and not turn.is_cancelled:
            self._starting = asyncio.create_task(self._started_again(turn))
            self._starting.add_done_callback(told)
        else:
            self._send(turn)

    async def _started_again(self, turn: Running) -> None:
        """Start the agent again on its conversation; given up when the turn is cancelled meanwhile."""
        self._opening = asyncio.create_task(self._reopen())
        try:
            await self._opening
        except GziaError as error:
            self._end(turn, self._never_sent("", error))
            return
        except asyncio.CancelledError:
            if not turn.is_cancelled:
                raise
        finally:
            self._opening = None
        self._send(turn)

    def _send(self, turn: Running) -> None:
        """Give the turn to the agent."""
        if turn.is_cancelled:
            self._end(turn, self._never_sent("cancelled"))
        elif self._link.agent is None:
            self._end(turn, self._never_sent("", self._link.gone))
        elif turn.is_announced or not self._announce(turn):
            self._permissions.begin_turn()
            turn.was_sent = True
            self._link.agent.prompt(Turn(turn.number, turn.blocks))

    def _announce(self, turn: Running) -> GziaError | None:
        error = self._pen.write([lines.started(turn)], durable=True)
        if error:
            self._end(turn, self._never_sent("", error))
        return error

    def _never_sent(self, stop_reason: str, error: GziaError | None = None) -> PromptObservation:
        return PromptObservation(stop_reason, {}, False, 0, self._link.sequencer.local(), error)

    # -- the end of a turn -------------------------------------------------------------------------------------------

    def ending(self, turn: Running, observation: PromptObservation) -> list[Draft]:
        """The lines that close a turn: its open questions, the tool calls it left open, then the prompt line."""
        drafts = self._permissions.all_settled("turn ended")
        if observation.stop_reason == "cancelled" or turn.is_cancelled or observation.error:
            for id in turn.open_tools:
                closed = lines.tool_closed(id, observation.order_sequence)
                self._books.saw(closed)
                drafts.append(lines.update(closed, turn.number, self._link.connection))
            turn.open_tools.clear()
        return [*drafts, lines.prompt(turn, observation)]

    def _end(self, turn: Running, observation: PromptObservation) -> None:
        """End a turn that the agent never got."""
        error = self._pen.write(self.ending(turn, observation), durable=True)
        self.settle(turn, observation._replace(error=error) if error else observation)

    def fail(self, error: GziaError) -> None:
        """What the running turn does cannot be written down any more."""
        turn = self._queue.running
        if turn and turn.was_sent:
            self.settle(turn, PromptObservation("", {}, True, 0, self._link.sequencer.local(), error))

    def settle(self, turn: Running, observation: PromptObservation) -> None:
        """The lines that close the running turn are written: tell its end, and begin the next one soon."""
        self._queue.running = None
        if self._books.was_killed:  # whoever ended the session meant all of it
            self._stop(None, "killed", [], self._queue.drop(held=False))
        following = self._queue.next()
        reason = turn.stop_reason(observation)
        error = None if reason == "cancelled" else observation.error
        refused = tuple(self._permissions.refused) if turn.was_sent else ()
        end = TurnEnd(turn.number, reason, turn.message, refused, error, observation.result, turn.why)
        self._books.turn_ended(end, more=following is not None)
        unkept = self._books.take_problem()
        if unkept and not error and reason != "cancelled":
            end = end._replace(error=unkept)
        turn.ended.set_result(end)
        if following:
            self._books.turn_started(following.number)
            asyncio.get_running_loop().call_soon(self._begin, following)
