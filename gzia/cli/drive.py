"""Drives a session: signals, deadlines, and the order of the end (agent, then output, then status)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, TypeVar

from gzia.cli import faults, verdict
from gzia.cli.ask import Asker, terminal
from gzia.cli.output import READER_GONE
from gzia.cli.views import View
from gzia.cli.work import Work
from gzia.errors import INTERRUPTED, OK, DeadlineError, GziaError
from gzia.serve.door import Door
from gzia.session.host import Host, Live, Wanted
from gzia.session.journal import Follower
from gzia.session.turns import TurnEnd
from gzia.system.sink import silence

AFTER_DEADLINE = 2.0  # seconds an agent has to stop by itself once a deadline has passed
TAKE_OUTPUT = 2.0  # seconds the reader of our output has to take the rest

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for the whole turn and for the agent's silence; None is no limit."""

    whole: float | None = None
    idle: float | None = None


class Left(Exception):
    """A signal or a closed pipe ends the command with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Drive:
    """One ``gzia run``.  Made and used inside a running event loop."""

    def __init__(self, host: Host, view: View, limits: Limits, work: Work) -> None:
        self._host = host
        self._view = view
        self._limits = limits
        self._work = work
        self._loop = asyncio.get_running_loop()
        self._leaving: asyncio.Future[int] = self._loop.create_future()
        self._live: Live | None = None
        self._interrupted = False
        self._until: float | None = None  # when the whole limit passes

    async def run(self, wanted: Wanted, *, again: bool) -> int:
        """Begin the session (or go on with it: ``again``), do the work, end everything; the exit status."""
        self._loop.set_exception_handler(self._bug)
        self._loop.add_signal_handler(signal.SIGINT, self._interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            self._loop.add_signal_handler(number, self._leave, 128 + number)
        self._view.start(self._unwritable)
        self._until = self._loop.time() + self._limits.whole if self._limits.whole else None
        try:
            return await self._all(wanted, again)
        except Left as left:
            await self._view.close(TAKE_OUTPUT)
            return left.status
        except GziaError:
            if not await self._view.close(TAKE_OUTPUT):
                silence(1)
            raise

    async def _all(self, wanted: Wanted, again: bool) -> int:
        live = await self._begun(wanted, again)
        end = await self._session(live)
        if not await self._unless_leaving(self._view.close(self._left_to_take())):
            raise self._deadline(f"see gzia read {live.id}", whole=True)
        if self._interrupted:
            return INTERRUPTED
        if end:
            verdict.check(live, end)
        return OK

    async def _begun(self, wanted: Wanted, again: bool) -> Live:
        """The session with its agent; the whole limit counts from here."""
        try:
            async with asyncio.timeout_at(self._until):
                return await self._unless_leaving(self._host.rejoin(wanted) if again else self._host.begin(wanted))
        except TimeoutError:
            raise self._deadline("its agent had not started; start it by hand to see why", whole=True) from None

    async def _session(self, live: Live) -> TurnEnd | None:
        self._live = live
        door = Door(live, faults.write_log)
        door.open()
        self._view.begun(live)
        tty = terminal() if self._view.asks else None
        asker = None if tty is None else Asker(live.conversation, tty)
        showing = asyncio.create_task(self._show(live.conversation.journal.follow(live.first_line), asker))
        patience: float | None = TAKE_OUTPUT
        try:
            end = await self._limited(live, door)
            patience = self._left_to_take()
        finally:
            if asker:
                asker.close()
            door.shut()
            await live.end()
            await door.close()
            first: list[asyncio.Future[Any]] = [showing, self._leaving]
            await asyncio.wait(first, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if showing.done():
                showing.result()  # a mistake there must not end as a success
            showing.cancel()
        self._view.ended(live, end)
        return end

    async def _show(self, follower: Follower, asker: Asker | None) -> None:
        while entries := await follower.next():
            await self._view.show(entries)
            if asker:
                for entry in entries:
                    if entry.kind == "permission":
                        asker.line(entry)

    def _left_to_take(self) -> float | None:
        """Seconds that the reader of our output still has; None: as long as it likes, as a pager does."""
        return None if self._until is None else max(TAKE_OUTPUT, self._until - self._loop.time())

    # -- limits ------------------------------------------------------------------------------------------------------

    async def _limited(self, live: Live, door: Door) -> TurnEnd | None:
        watch = asyncio.create_task(self._watch(live))
        doing = asyncio.create_task(self._work.do(live, door))
        try:
            first: list[asyncio.Future[Any]] = [doing, self._leaving, watch]
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                return doing.result()
            if self._leaving.done():
                raise Left(self._leaving.result())
            live.conversation.cancel("timeout")
            await self._idle_within(live, AFTER_DEADLINE)
            watch.result()
            raise AssertionError("a watch ends by raising only")
        finally:
            watch.cancel()
            doing.cancel()

    async def _idle_within(self, live: Live, seconds: float) -> None:
        try:
            await asyncio.wait_for(live.conversation.idle(), seconds)
        except TimeoutError:
            pass

    async def _watch(self, live: Live) -> None:
        """Raise DeadlineError when a limit has passed.  Only an agent that works is silent: not one that asked."""
        journal = live.conversation.journal
        while not journal.closed:
            left = [] if self._until is None else [self._until - self._loop.time()]
            left += [self._limits.idle] if self._limits.idle else []
            try:
                async with asyncio.timeout(min(left, default=None)):
                    await journal.beyond(journal.n)
            except TimeoutError:
                if self._until is not None and self._loop.time() >= self._until:
                    raise self._deadline(f"what it did so far: gzia read {live.id}", whole=True) from None
                if live.conversation.state == "working":
                    raise self._deadline(f"what it did so far: gzia read {live.id}", whole=False) from None

    def _deadline(self, hint: str, *, whole: bool) -> DeadlineError:
        limit = self._limits.whole if whole else self._limits.idle
        what = f"The turn was not done within {limit:g} s" if whole else f"The agent gave no sign for {limit:g} s"
        return DeadlineError("timeout" if whole else "idle-timeout", f"{what} and was stopped.", hint)

    # -- signals -----------------------------------------------------------------------------------------------------

    def _interrupt(self) -> None:
        """The first Ctrl-C stops the turn, a second one ends it."""
        if self._interrupted or self._live is None:
            self._leave(INTERRUPTED)
        else:
            self._interrupted = True
            self._view.interrupting()
            self._work.stop()
            self._live.conversation.cancel()

    def _bug(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """A mistake of ours in a callback must end the command, not leave it waiting."""
        if not self._leaving.done():
            self._leaving.set_exception(context.get("exception") or RuntimeError(context["message"]))

    def _unwritable(self, error: OSError) -> None:
        """Standard output takes nothing more: its reader is gone, or the disk is full."""
        if isinstance(error, BrokenPipeError | ConnectionResetError):
            self._leave(READER_GONE)
        elif not self._leaving.done():
            silence(1)
            message = f"Standard output cannot be written: {error.strerror}."
            self._leaving.set_exception(GziaError("output-failed", message, "choose another place to write to"))

    def _leave(self, status: int) -> None:
        if not self._leaving.done():
            self._leaving.set_result(status)

    async def _unless_leaving(self, work: Awaitable[T]) -> T:
        """The result of ``work``, or Left as soon as the command is to end; the work is then undone."""
        task = asyncio.ensure_future(work)
        first: list[asyncio.Future[Any]] = [task, self._leaving]
        try:
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
        if task.cancelled():
            raise Left(self._leaving.result())
        return task.result()
