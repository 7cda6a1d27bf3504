"""From a session's journal to one client: updates in their order, questions where they stand."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from operator import itemgetter

from gzia.serve.wire import Wire
from gzia.session.journal import Entry, Follower
from gzia.system.tasks import told

BACKLOG = 1 << 20  # bytes that may wait for a slow client before the journal is left to wait for it


class Pump:
    """Follows one journal and sends what it says to the client.

    ``merged`` adds gzia's options to the agent's list of them; ``line`` takes the lines that are no updates.
    """

    def __init__(
        self,
        session_id: str,
        follower: Follower,
        wire: Wire,
        merged: Callable[[str], str],
        line: Callable[[Entry], None],
    ) -> None:
        self.delivered = follower.cursor
        self._head, self._tail = wire.side.update_frame(session_id)
        self._follower = follower
        self._wire = wire
        self._merged = merged
        self._line = line
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self.task = asyncio.create_task(self._run())
        self.task.add_done_callback(self._done)

    async def _run(self) -> None:
        while entries := await self._follower.next():
            send = self._wire.side.send_text
            head, tail = self._head, self._tail
            for entry in entries:
                if entry.kind == "update":
                    body = entry.body
                    if "config_option_update" in body:
                        body = self._merged(body)
                    send(f"{head}{body}{tail}")
                else:
                    self._line(entry)
            self._wire.flush()
            self._took(entries[-1].n)
            await self._wire.drained(BACKLOG)

    def _done(self, task: asyncio.Task[None]) -> None:
        """Nothing more will be sent, so nobody may wait for it; a mistake reaches the loop's exception handler."""
        self._took(1 << 62)
        told(task)

    def stop(self) -> None:
        """Send nothing more."""
        self.task.cancel()

    def _took(self, n: int) -> None:
        self.delivered = n
        if not self._waiting:
            return
        reached = sorted((one for one in self._waiting if one[0] <= n), key=itemgetter(0))
        self._waiting = [one for one in self._waiting if one[0] > n]
        for _, future in reached:  # in the order of their lines, so that answers keep it
            if not future.done():
                future.set_result(None)

    async def reached(self, n: int) -> None:
        """Wait until line ``n`` was sent (or the journal is closed)."""
        if self.delivered < n and not self.task.done():
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((n, future))
            await future
