"""An event loop whose clock the test moves: nothing blocks, and the same steps give the same run every time."""

from __future__ import annotations

import asyncio
import heapq
import selectors
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Glance(selectors.PollSelector):
    """Looks which descriptors are ready and never waits for one."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """Runs only inside of its own methods; ``faults`` are what would have gone to the log."""

    def __init__(self) -> None:
        self.now = 1000.0  # seconds
        self.faults: list[dict[str, Any]] = []
        self._given = 0  # calls that were put into the loop
        self._times: list[float] = []  # a heap of when timers are due, cancelled ones too
        super().__init__(Glance())
        self.set_exception_handler(lambda _, fault: self.faults.append(fault))

    def time(self) -> float:
        return self.now

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        self._given += 1
        return super().call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        heapq.heappush(self._times, when)
        return super().call_at(when, callback, *args, context=context)

    # -- what a test calls -------------------------------------------------------------------------------------------

    def round(self) -> None:
        """Run what is ready now, and nothing that becomes ready meanwhile."""
        super().call_soon(self.stop)
        self.run_forever()

    def settle(self) -> None:
        """Run what is ready, what that makes ready, and so on until nothing is."""
        before = -1
        while before != self._given or self._is_due():
            before = self._given
            self.round()

    def do(self, call: Callable[[], T]) -> T:
        """Call it inside the loop, in one round: what it sets off is left for the next."""
        return self.start(_called(call)).result()

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin ``work`` in one round."""
        task = self.create_task(work)
        self.round()
        return task

    def advance(self, seconds: float) -> None:
        """Move the clock, and stop at each moment at which a timer is due."""
        end = self.now + seconds
        self.settle()
        while self._times and self._times[0] <= end:
            self.now = max(self.now, self._times[0])
            self.settle()
        self.now = end
        self.settle()

    def finish(self, work: Coroutine[Any, Any, T], within: float) -> T:
        """The result of ``work``, which takes at most ``within`` seconds of this clock."""
        task = self.start(work)
        self.advance(within)
        return task.result()

    def abandon(self) -> None:
        """Close the loop; the tasks that are left are thrown away."""
        for task in asyncio.all_tasks(self):
            task.cancel()
        self.settle()
        self.close()

    def _is_due(self) -> bool:
        due = False
        while self._times and self._times[0] <= self.now:
            heapq.heappop(self._times)
            due = True
        return due


async def _called(call: Callable[[], T]) -> T:
    return call()
