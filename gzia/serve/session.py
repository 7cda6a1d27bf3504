"""One session of an editor: its choices, and the live session that they make."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from gzia.errors import GziaError, UsageError
from gzia.serve import options
from gzia.serve.chain import Chain
from gzia.serve.door import Door
from gzia.serve.options import Choices
from gzia.serve.seat import Seat
from gzia.serve.taker import Taker
from gzia.serve.wire import Wire
from gzia.session.host import Host, Live, Wanted

NAME = "editor"  # in the journal


class EditorSession:
    """What the editor calls a session.  Its id is gzia's session id, and stays when its choices change."""

    def __init__(
        self, wire: Wire, host: Host, wanted: Wanted, choices: Choices, mistaken: Callable[[Exception], object]
    ) -> None:
        self.choices = choices
        self.chain = Chain()  # of what the editor asked for
        self._wire = wire
        self._host = host
        self._wanted = wanted
        self._mistaken = mistaken
        self._seat: Seat | None = None
        self._door: Door | None = None
        self._taker: Taker | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        """gzia's session id; the session must be open."""
        return self.seat.live.id

    @property
    def seat(self) -> Seat:
        """The editor's place in the live session; GziaError when it could not be started again."""
        if self._seat is None:
            raise GziaError("session-broken", "This session could not be started again.", "open a new session")
        return self._seat

    # -- opening -----------------------------------------------------------------------------------------------------

    async def open(self) -> dict[str, Any]:
        """Start it as its choices say; the result of ``session/new``."""
        choices = self.choices
        live = await self._host.begin(self._wanted.chosen(choices.agent, choices.permission, choices.isolated))
        self._begun(live)
        self.choices = replace(choices, isolated=live.record.is_isolated)  # outside git nothing can be
        return self.seat.described()

    async def reopen(self, *, replay: bool) -> dict[str, Any]:
        """Go on with a session that exists; the result of ``session/load`` (with ``replay``) or ``session/resume``.

        What was said before comes as updates, each once, before this returns.
        """
        live = await self._host.rejoin(self._wanted)
        self._begun(live)
        self.choices = Choices(live.record.provider, live.record.is_isolated, str(live.record.permission_level))
        if replay:
            self.seat.attach(0, live.first_line)
            await self.seat.reached(live.first_line)
        else:
            self.seat.attach(live.first_line)
        return self.seat.described()

    def _begun(self, live: Live) -> None:
        door = self._door = Door(live, self._mistaken)
        self._seat = Seat(self._wire, live, NAME, lambda: door.attached, self._own_options)
        self._seat.can_answer()
        self._taker = Taker(self._wire, live.id, self._wanted.client_capabilities)
        live.conversation.calls.taker = self._taker.take
        door.open()

    def attach(self) -> None:
        """Begin to send updates; called when the editor knows the session's id."""
        self.seat.attach(0)

    def _own_options(self) -> list[dict[str, Any]]:
        return options.shown(self.choices, self._host.agents)

    # -- requests of the editor, one after another -------------------------------------------------------------------

    def set_option(self, option: str, value: Any) -> Awaitable[dict[str, Any]]:
        """Change an option of gzia, or one of the agent; the result is the full list."""
        if options.is_ours(option):
            return self.chain.then(lambda: self._choose(option, value))
        return self.chain.then(lambda: self.seat.set_option(option, value))

    async def _choose(self, option: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, str) or not options.allowed(option, value, self._host.agents):
            raise UsageError(
                "invalid-option-value", f"“{value}” is not a value of {option}.", "choose one that is shown"
            )
        choices = self.choices.changed(option, value)
        if choices != self.choices:
            if self.seat.conversation.was_prompted:
                settled = f"{option} is settled by the first prompt."
                raise UsageError("option-settled", settled, "open a new session to change it")
            await self._begin_again(choices)
        if choices.isolated and not self.choices.isolated:
            raise UsageError(
                "not-a-repository",
                f"{self.seat.live.directory} is not under git, so it has no worktrees.",
                "make it a repository",
            )
        return {"configOptions": self.seat.config_options()}

    async def _begin_again(self, choices: Choices) -> None:
        before = self.choices
        self._wanted = replace(self._wanted, id=self.id)
        await self._end()
        self.choices = choices
        try:
            await self.open()
        except GziaError:
            self.choices = before
            await self.open()
            raise
        finally:
            if self._seat:
                self.attach()

    # -- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> asyncio.Future[None]:
        """End the agent.  A session that was never prompted leaves nothing behind.  May be called twice."""
        if self._closing is None:
            if not self.chain.is_idle:
                self.chain.drop_last()  # a change that nobody will see
            self._closing = self.chain.then(self._end)
        return asyncio.shield(self._closing)

    async def _end(self) -> None:
        seat, self._seat = self._seat, None
        door, self._door = self._door, None
        if door:
            door.shut()
        if seat:
            await seat.live.end()
            await seat.ended()
        if door:
            await door.close()

    async def deserted(self) -> None:
        """The editor has gone.  Wait for the guests that have joined; then the session is to be closed."""
        if self._seat:
            self._seat.leave()
            self._seat.conversation.calls.taker = None
        if self._taker:
            self._taker.close()
        if self._door:
            await self._door.left()
