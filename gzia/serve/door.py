"""The way into a live session from outside: a socket that speaks ACP (serve/guest.py), open while the session lives.

Guests that have joined see every update in order and are asked for permissions; the first answer counts.  Nothing that
a guest does or does not do slows the session or another guest.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable

from gzia.errors import GziaError
from gzia.serve.guest import Guest, House
from gzia.session.host import Live
from gzia.session.journal import draft
from gzia.system import local_socket

GUESTS = 32  # at once
PATIENCE = 30.0  # seconds for which a guest may take nothing of what waits for it
AGAIN = 1.0  # seconds until the next try, when there is no descriptor for a connection


class Door:
    """The socket of one live session.

    Order of the end: :meth:`shut`, then the session's own end, then :meth:`close`.  ``mistaken`` takes note of a bug in
    a request of a guest.
    """

    def __init__(self, live: Live, mistaken: Callable[[Exception], object], *, patience: float = PATIENCE) -> None:
        self.live = live
        self._house = House(live, lambda: self.attached, self._changed, patience, mistaken)
        self._loop = asyncio.get_running_loop()
        self._listener: socket.socket | None = None
        self._guests: list[Guest] = []
        self._count = 0  # of all guests, for their names
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def attached(self) -> int:
        """How many guests have joined the session."""
        return sum(guest.seat.is_attached for guest in self._guests)

    def open(self) -> None:
        """Let guests in.  Where no socket can be made the session goes on without one, and its journal says why."""
        try:
            self._listener = local_socket.listen(local_socket.path_for(self.live.service.root, self.live.id))
        except GziaError as error:
            with contextlib.suppress(GziaError):  # a journal that cannot be written has its own consequences
                line = draft("session", None, {"state": "no-socket", **error.document()})
                self.live.conversation.journal.write([line])
            return
        self._loop.add_reader(self._listener, self._accept)

    def shut(self) -> None:
        """Let nobody in any more, and free the name.  May be called twice."""
        listener, self._listener = self._listener, None
        if listener:
            self._loop.remove_reader(listener)
            local_socket.stop(listener)

    async def left(self) -> None:
        """Wait until no guest is joined."""
        while self.attached:
            future = self._loop.create_future()
            self._waiting.append(future)
            await future

    async def close(self) -> None:
        """Shut it; guests that take it get what was said until the end of the session.  May be called twice."""
        self.shut()
        await asyncio.gather(*(guest.finish() for guest in self._guests))

    def _accept(self) -> None:
        assert self._listener
        try:
            connection, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):
            return  # it has gone again
        except OSError:
            self._loop.remove_reader(self._listener)
            self._loop.call_later(AGAIN, self._listen_again)
            return
        if len(self._guests) >= GUESTS or not local_socket.is_peer_ours(connection):
            connection.close()
            return
        self._count += 1
        try:
            self._guests.append(Guest(connection, self._house, f"guest {self._count}"))
        except OSError:
            connection.close()  # that was the last descriptor

    def _listen_again(self) -> None:
        if self._listener:
            self._loop.add_reader(self._listener, self._accept)

    def _changed(self) -> None:
        self._guests = [guest for guest in self._guests if not guest.is_gone]
        if not self.attached:
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)
