"""A live session: it gives turns to an agent, writes down everything in order, and answers the agent's questions.

Nothing here waits for a reader.  What the agent does goes into the journal as it arrives; editors, terminals and
scripts read the journal by cursor.  Lines are written before the frames that they announce leave; where a line cannot
be written, its frame does not leave.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from gzia.driver.agent import AgentFacts
from gzia.driver.turn import Block, PermissionLevel
from gzia.errors import GziaError
from gzia.session import policy
from gzia.session.books import GIVEN_UP, Books
from gzia.session.calls import Calls
from gzia.session.hearing import Hearing
from gzia.session.journal import Journal, draft
from gzia.session.link import Link, Start
from gzia.session.permissions import Permissions
from gzia.session.runner import Runner
from gzia.session.turns import TurnEnd
from gzia.session.writing import Pen


class Conversation:
    """One session's agent, its turns and its journal.  Use :meth:`open` first and :meth:`close` last."""

    def __init__(self, journal: Journal, books: Books, level: PermissionLevel, start: Start) -> None:
        self.journal = journal
        self.calls = Calls(level)
        self._books = books
        self._link = Link(start, lambda batch: self._hearing.heard(batch))
        self.permissions = Permissions(level, self._link.reply, books.permission)
        self._pen = Pen(journal, self.permissions, self._cannot_keep)
        self._runner = Runner(self._link, self._pen, self.permissions, books, self._reopen)
        self._hearing = Hearing(self._link, self._pen, self._runner, self.permissions, self.calls, books)
        self._closing: asyncio.Task[None] | None = None

    @property
    def facts(self) -> AgentFacts:
        """What the agent said about itself."""
        return self._link.facts

    @property
    def was_prompted(self) -> bool:
        """Whether the session has ever had a turn."""
        return self._runner.turns > 0

    # -- opening and closing -----------------------------------------------------------------------------------------

    async def open(self, resume: str = "") -> AgentFacts:
        """Start the agent; with ``resume``, on its own conversation of that id.  Raises GziaError."""
        facts = await self._link.open(resume)
        # The record's essentials stand in the journal too, so that a damaged record can be made from it again.
        record = self._books.agent_started(facts)
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
        self._hearing.is_closing = True
        self._runner.stop()
        self._pen.write(self.permissions.all_settled("closed"))
        await self._link.close()
        await self._runner.finished()
        await self._link.close()  # an agent that was being started all the same
        self._pen.write([draft("session", None, {"state": "closed", "record": self._books.closed()})])
        self.journal.close()

    # -- what a client does ------------------------------------------------------------------------------------------

    def prompt(self, blocks: Sequence[Block]) -> asyncio.Future[TurnEnd]:
        """Accept a turn; GziaError when it cannot be written down.

        It runs after those accepted before.  The future holds its end, also when it failed; it may be cancelled.
        """
        if self._closing:
            raise GziaError("session-closed", "This session is being closed.", "open a new session")
        return asyncio.shield(self._runner.accept(blocks))

    def cancel(self, why: str = "cancelled") -> None:
        """Stop the running turn and drop those that wait; each of them ends ``cancelled``.  Harmless when idle.

        The record keeps ``why``.
        """
        self._runner.cancel(why)

    def answer(self, permission_id: str, outcome: dict[str, Any], by: str) -> None:
        """A person's answer to an open permission (an ACP outcome).  An answer that comes too late is dropped."""
        self._pen.write(self.permissions.answered(permission_id, outcome, by))

    def nobody_left(self) -> None:
        """The last client that could answer questions is gone: the open ones are answered with ``cancelled``."""
        self.permissions.answerers = 0
        self._pen.write(self.permissions.all_settled(policy.NOBODY))

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """Pass a request of the agent's protocol on, for example ``session/set_mode``."""
        if self._link.agent is None:
            raise self._link.gone
        return await self._link.agent.call(method, {**params, "sessionId": self.facts.agent_session_id})

    def changed(self, told: dict[str, Any]) -> None:
        """The agent said that its config options or its mode are now these (an answer or an update)."""
        self._link.changed(told)

    def _cannot_keep(self, error: GziaError) -> None:
        """What happens cannot be written down any more: the agent is ended, and the turn fails with the reason."""
        self._link.drop(error)
        self._runner.fail(error)
