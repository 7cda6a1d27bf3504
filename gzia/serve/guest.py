"""One connection from outside to one live session: another terminal, a script, a second editor.

It speaks ACP as the editor does, bound to that session.  ``session/new`` joins it, with what was said before as updates
after the answer; ``session/load`` joins with that before the answer, ``session/resume`` without.  ``session/close``
leaves.  Whoever only prompts, steers, cancels or answers need not join.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from gzia.acp import methods
from gzia.acp.agent import AgentSide
from gzia.acp.events import Event, Mistake
from gzia.errors import ConflictError, UsageError
from gzia.serve import answers, options, verbs
from gzia.serve.chain import Chain
from gzia.serve.desk import Desk, Handler, Told
from gzia.serve.pump import BACKLOG
from gzia.serve.seat import Seat
from gzia.serve.wire import Wire
from gzia.session.host import Live, listed
from gzia.session.ids import parse
from gzia.system.pump import Reader, Writer
from gzia.system.tasks import told

BAD_LINES = 3  # lines that are no message, after which a guest is dropped
LAST_TAKE = 1.0  # seconds for what a guest still gets, once it or the session has ended

Json = dict[str, Any]


class House(NamedTuple):
    """What a guest is told by the door that it came through.

    ``attached`` counts the guests that have joined, ``changed`` hears that this may be another number now, ``patience``
    are the seconds for which a guest may take nothing, ``mistaken`` takes note of a bug in one request.
    """

    live: Live
    attached: Callable[[], int]
    changed: Callable[[], object]
    patience: float
    mistaken: Callable[[Exception], object]


class Guest:
    """The near end of an accepted connection, which is taken over; ``name`` stands in the journal.

    OSError when there is no second descriptor for it: then it is still the caller's.
    """

    def __init__(self, connection: socket.socket, house: House, name: str) -> None:
        writing = os.dup(connection.fileno())
        self.chain = Chain()
        self.is_gone = False
        self._house = house
        self._loop = asyncio.get_running_loop()
        self._reader = Reader(connection.detach(), self._received)
        self._writer = Writer(writing, lambda _: self.drop())
        self._side = AgentSide(handles=verbs.EXTENSIONS)
        self._wire = Wire(self._side, self._writer, self._slow)
        self.seat = Seat(self._wire, house.live, name, house.attached)
        self._desk = Desk(self._wire, self._handlers(), self._cancelled, house.mistaken)
        self._bad_lines = 0
        self._watch: asyncio.TimerHandle | None = None  # while something waits to be taken
        self._reader.start()

    def _handlers(self) -> dict[str, Handler]:
        return {
            **verbs.handlers(self._place),
            methods.INITIALIZE: lambda _: verbs.result(answers.initialize()),
            methods.SESSION_LIST: lambda _: verbs.result({"sessions": [self._listed()]}),
            methods.SESSION_NEW: lambda _: self._new(),
            methods.SESSION_LOAD: self._load,
            methods.SESSION_RESUME: self._resume,
            methods.SESSION_CLOSE: self._close,
            methods.SESSION_SET_CONFIG_OPTION: self._set_option,
        }

    # -- bytes -------------------------------------------------------------------------------------------------------

    def _received(self, data: bytes) -> None:
        if not data:
            self._said_all()
            return
        for event in self._side.receive_data(data):
            if self._is_too_much(event):
                self.drop()
                return
            self._desk.take(event)
        self._wire.flush()
        if self._wire.pending > BACKLOG:  # it asks and does not read the answers
            self._reader.pause()
            asyncio.create_task(self._read_on()).add_done_callback(told)

    def _said_all(self) -> None:
        """The guest has gone, or sends nothing more and still reads what it asked for."""
        self.seat.leave()
        self._house.changed()
        asyncio.create_task(self.finish()).add_done_callback(told)

    def _is_too_much(self, event: Event) -> bool:
        if not isinstance(event, Mistake):
            return False
        self._bad_lines += event.kind == "no message"
        return event.kind == "too long" or self._bad_lines >= BAD_LINES

    async def _read_on(self) -> None:
        await self._wire.drained(BACKLOG)
        self._reader.resume()

    def _slow(self) -> None:
        """Something waits to be taken: look later whether anything was."""
        if self._watch is None and not self.is_gone:
            self._watch = self._loop.call_later(self._house.patience, self._look, self._wire.taken)

    def _look(self, taken: int) -> None:
        self._watch = None
        if self._wire.pending and self._wire.taken == taken:
            self.drop()
        elif self._wire.pending:
            self._slow()

    # -- requests ----------------------------------------------------------------------------------------------------

    def _place(self, params: Json) -> Guest:
        if parse(params.get("sessionId")) != self._house.live.id:
            raise answers.not_open(params["sessionId"])
        return self

    def _cancelled(self, session_id: str) -> None:
        if session_id == self._house.live.id:
            verbs.cancel(self)

    def _listed(self) -> Json:
        live = self._house.live
        return listed(live.record, Path(live.directory))

    async def _new(self) -> Told:
        self._refuse_twice()
        live = self._house.live
        described = {"sessionId": live.id, **self.seat.described()}
        return Told(described, lambda: self.seat.attach(0, live.conversation.journal.n))

    async def _load(self, params: Json) -> Json:
        self._place(params)
        self._refuse_twice()
        now = self._house.live.conversation.journal.n
        self.seat.attach(0, now)
        await self.seat.reached(now)
        return self.seat.described()

    async def _resume(self, params: Json) -> Told:
        self._place(params)
        self._refuse_twice()
        return Told(self.seat.described(), self._join_from_here)

    def _refuse_twice(self) -> None:
        if self.seat.is_attached:
            id = self._house.live.id
            raise ConflictError("session-open", f"This connection has session {id} open already.", "go on with it")

    def _join_from_here(self) -> None:
        self.seat.attach(self._house.live.conversation.journal.n)
        self.seat.ask_all()  # it does not see the lines that asked

    async def _close(self, params: Json) -> Json:
        self._place(params)
        self.seat.leave()
        self._house.changed()
        return {}

    def _set_option(self, params: Json) -> asyncio.Task[Json]:
        seat, option, value = self._place(params).seat, params["configId"], params["value"]
        if options.is_ours(option):
            raise UsageError("option-settled", f"{option} is settled by who began the session.", "leave it as it is")
        return self.chain.then(lambda: seat.set_option(option, value))

    # -- the end -----------------------------------------------------------------------------------------------------

    async def finish(self) -> None:
        """Let the guest take what it still gets, then end the connection."""
        try:
            async with asyncio.timeout(LAST_TAKE):
                await self._desk.all_answered()
                await self.seat.ended()
                await self._wire.drained(0)
        except TimeoutError:
            pass
        finally:
            self.drop()

    def drop(self) -> None:
        """End the connection now; what it began in the session goes on.  May be called twice."""
        if self.is_gone:
            return
        self.is_gone = True
        if self._watch:
            self._watch.cancel()
        self._reader.close()
        self.seat.leave()
        self._desk.stop()
        self._writer.abort()
        self._house.changed()
