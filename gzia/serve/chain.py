"""Steps of one client that must not overtake each other: a change of options, then the prompt behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Chain:
    """Does each step when those before it are done."""

    def __init__(self) -> None:
        self._last: asyncio.Task[Any] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return self._last is None or self._last.done()

    def then(self, step: Callable[[], Awaitable[T]]) -> asyncio.Task[T]:
        """Do a step after those that were asked for before."""
        before = self._last

        async def run() -> T:
            if before:
                await asyncio.wait([before])
            return await step()

        task = asyncio.create_task(run())
        self._last = task
        return task

    def enter(self, step: Callable[[], Awaitable[T]]) -> Awaitable[T]:
        """Call ``step`` in its place, at once when nothing is under way; what it gives holds nobody up."""
        if self.is_idle:
            return step()

        async def called() -> Awaitable[T]:
            return step()

        return result_of(self.then(called))

    def drop_last(self) -> None:
        """Give up the newest step, if it is not done."""
        if self._last:
            self._last.cancel()


async def result_of(task: Awaitable[Awaitable[T]]) -> T:
    """What comes of what ``task`` gives."""
    return await (await task)
