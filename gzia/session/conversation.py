"""A live session: it gives turns to an agent, writes down everything in order, and answers the agent's questions.

Nothing here waits for a reader.  What the agent does goes into the journal as it arrives; editors, terminals and
scripts read the journal by cursor.  Lines are written before the frames that they announce leave; where a line cannot
be written, its frame does not leave.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from gzia.driver.agent import AgentFacts
from gzia.driver.errors import SteerAdmissionError
from gzia.driver.steer import SteerRequest
from gzia.driver.turn import Block, PermissionLevel
from gzia.errors import GziaError
from gzia.session.books import GIVEN_UP, Books
from gzia.session.calls import Calls
from gzia.session.hearing import Hearing
from gzia.session.journal import Journal, draft
from gzia.session.ledger import Ledger
from gzia.session.link import Link, Start
from gzia.session.permissions import Permissions
from gzia.session.queue import Cancelled, Queue
from gzia.session.runner import Runner
from gzia.session.steers import Steered, Steering, Steers
from gzia.session.turns import Fallback, TurnEnd
from gzia.session.writing import Pen

__all__ = [  # what a client of a conversation needs
    "Cancelled", "Conversation", "Fallback", "SteerAdmissionError", "SteerRequest", "Steered", "Steering",
]  # fmt: skip


class Conversation:
    """One session's agent, its turns and its journal.  Use :meth:`open` first and :meth:`close` last.

    ``ledger`` is what earlier processes left open in the journal.
    """

    def __init__(
        self, journal: Journal, books: Books, level: PermissionLevel, start: Start, ledger: Ledger | None = None
    ) -> None:
        owed = ledger or Ledger()
        self.journal = journal
        self.calls = Calls(level)
        self._books = books
        self._link = link = Link(start, lambda batch: self._hearing.heard(batch))
        self.permissions = Permissions(
            level, link.reply, books.permission, lambda drafts: pen.write(drafts),
            earlier=max(0, journal.n - 1),  # each question has a line, and the first line is none
        )  # fmt: skip
        pen = self._pen = Pen(journal, self.permissions, books, self._cannot_keep)
        self._queue = queue = Queue(max(books.turns, owed.turns), owed.waiting)
        self._runner = Runner(queue, link, pen, self.permissions, books, self._reopen)
        self._steers = Steers(queue, link, pen, self._runner, owed.steer_ids)
        self._hearing = Hearing(queue, link, pen, self._runner, self._steers, self.permissions, self.calls, books)
        self._closing: asyncio.Task[None] | None = None

    # -- how it stands -----------------------------------------------------------------------------------------------

    @property
    def facts(self) -> AgentFacts:
        """What the agent said about itself."""
        return self._link.facts

    @property
    def was_prompted(self) -> bool:
        """Whether the session has ever had a turn."""
        return self._queue.last > 0

    @property
    def state(self) -> Literal["working", "input-needed", "idle"]:
        """``working``: a turn runs; ``input-needed``: a permission question is open."""
        if self.permissions.open:
            return "input-needed"
        return "working" if self._queue.running else "idle"

    @property
    def turn(self) -> int | None:
        """The number of the running turn."""
        return self._queue.running.number if self._queue.running else None

    @property
    def waiting(self) -> tuple[int, ...]:
        """The numbers of the turns that run next, in their order."""
        return self._queue.waiting

    @property
    def held(self) -> tuple[int, ...]:
        """The numbers of the turns that an earlier process left waiting: they run after :meth:`resume_queue` only."""
        return self._queue.held

    async def idle(self) -> None:
        """Wait until no turn runs, nor any that would begin by itself."""
        while running := self._queue.running:
            await asyncio.wait([running.ended])

    # -- opening and closing -----------------------------------------------------------------------------------------

    async def open(self, resume: str = "") -> AgentFacts:
        """Start the agent; with ``resume``, on its own conversation of that id.  Raises GziaError."""
        facts = await self._link.open(resume)
        # The record's essentials stand in the journal too, so that a damaged record can be made from it again.
        record = self._books.agent_started(facts, idle=self._queue.is_idle)
        self._pen.write([draft("session", None, {"state": "agent-started", "record": record})])
        return facts

    async def _reopen(self) -> AgentFacts:
        return await self.open(self.facts.agent_session_id)

    def failed(self, error: BaseException) -> None:
        """The agent could not be started."""
        self._books.failed(error.message if isinstance(error, GziaError) else GIVEN_UP)

    async def close(self) -> None:
        """End the agent and everything it started, and finish the record.  May be called twice."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._runner.close()
        await self._link.close()
        await self._runner.finished()
        await self._link.close()  # a process that was being started all the same
        self._pen.write([draft("session", None, {"state": "closed", "record": self._books.closed()})])
        self.journal.close()

    # -- what a client does ------------------------------------------------------------------------------------------

    def prompt(self, blocks: Sequence[Block], *, steer_id: str = "") -> asyncio.Future[TurnEnd]:
        """Accept a turn; ``steer_id`` tells which steer it was.

        It runs after those accepted before.  The future holds its end, also when it failed; it may be cancelled.
        ConflictError ``queue-full``; GziaError ``session-closed``, or when it cannot be written down.
        """
        self._refuse_when_closing()
        turn, drafts = self._runner.draft(blocks, steer_id)
        try:
            self.journal.write(drafts, durable=True)
        except GziaError:
            self._queue.forget()
            raise
        self._runner.confirm()
        return asyncio.shield(turn.ended)

    def resume_queue(self) -> list[asyncio.Future[TurnEnd]]:
        """Run what an earlier process left waiting, before anything that is asked from now on."""
        self._refuse_when_closing()
        return [asyncio.shield(turn.ended) for turn in self._runner.resume()]

    def steer(self, request: SteerRequest, *, steer_id: str = "", fallback: Fallback = Fallback.REFUSE) -> Steering:
        """Put a message into the running turn.  ``steer_id`` is minted when it is empty.

        SteerAdmissionError when too many wait (with Fallback.REFUSE); ConflictError ``steer-id-taken``; GziaError
        ``session-closed``, or when it cannot be written down.
        """
        self._refuse_when_closing()
        return self._steers.steer(request, steer_id, fallback)

    def withdraw(self, steer_id: str) -> bool:
        """Take a steer back, and its fallback with it; whether that was before any of it was sent."""
        return self._steers.withdraw(steer_id)

    def cancel(self, why: str = "cancelled") -> Cancelled:
        """Stop the running turn and drop those that wait or are held; each ends ``cancelled``.  Harmless when idle.

        Steers that are not sent yet become no turns.  The record keeps ``why``.
        """
        self._steers.renounce()
        return self._runner.cancel(why)

    def answer(self, permission_id: str, outcome: dict[str, Any], by: str) -> bool:
        """A person's answer to an open permission (an ACP outcome); False: it came too late and was dropped."""
        drafts = self.permissions.answered(permission_id, outcome, by)
        self._pen.write(drafts)
        return bool(drafts)

    def nobody_left(self) -> None:
        """The last client that could answer questions is gone: after the patience, open ones are settled without."""
        self._pen.write(self.permissions.nobody_left())

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """Pass a request of the agent's protocol on, for example ``session/set_mode``."""
        if self._link.agent is None:
            raise self._link.gone
        return await self._link.agent.call(method, {**params, "sessionId": self.facts.agent_session_id})

    def changed(self, told: dict[str, Any]) -> None:
        """The agent said that its config options or its mode are now these (an answer or an update)."""
        self._link.changed(told)

    # -- what goes wrong ---------------------------------------------------------------------------------------------

    def _refuse_when_closing(self) -> None:
        if self._closing:
            raise GziaError("session-closed", "This session is being closed.", "open a new session")

    def _cannot_keep(self, error: GziaError) -> None:
        """What happens cannot be written down any more: the agent is ended, and the turn fails with the reason."""
        self._link.drop(error)
        self._steers.abandon()
        self._runner.fail(error)
