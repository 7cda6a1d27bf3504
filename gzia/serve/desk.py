"""One client's connection: its requests are answered side by side, one task each.

A handler is a plain call that registers what its request begins and gives what must be awaited, so that a prompt and
its cancel in one burst of lines meet in the right order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, NamedTuple

from gzia.acp.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, REQUEST_CANCELLED
from gzia.acp.events import Answer, ClientNotification, ClientRequest, Refused
from gzia.acp.methods import CANCEL_REQUEST, SESSION_CANCEL
from gzia.errors import GziaError
from gzia.serve import answers
from gzia.serve.wire import Wire


class Told(NamedTuple):
    """A result, and what follows its answer at once."""

    result: Any
    then: Callable[[], object]


class Begun(NamedTuple):
    """A request under way; ``stop`` is what ``$/cancel_request`` does to it."""

    answer: Awaitable[Any]
    stop: Callable[[], object]


Handler = Callable[[dict[str, Any]], Awaitable[Any] | Begun]  # the result may be Told


class Desk:
    """Hands each request to its handler.

    ``cancelled`` hears the session id of each ``session/cancel``; ``mistaken`` takes note of a bug in one request.
    """

    def __init__(
        self,
        wire: Wire,
        handlers: Mapping[str, Handler],
        cancelled: Callable[[str], object],
        mistaken: Callable[[Exception], object],
    ) -> None:
        self._wire = wire
        self._handlers = handlers
        self._cancelled = cancelled
        self._mistaken = mistaken
        self._tasks: set[asyncio.Task[None]] = set()
        self._stops: dict[Any, Callable[[], object]] = {}  # open requests that can be cancelled

    def take(self, event: object) -> None:
        """Take what came out of the client's connection."""
        if isinstance(event, ClientRequest):
            self._requested(event)
        elif isinstance(event, ClientNotification):
            self._notified(event)
        elif isinstance(event, Answer | Refused):
            self._wire.settle(event)

    def _requested(self, event: ClientRequest) -> None:
        handler = self._handlers.get(event.method)
        if handler is None:
            self._wire.reply_error(event.id, METHOD_NOT_FOUND, f"gzia does not offer {event.method}")
        elif not isinstance(params := event.params or {}, dict):
            self._wire.reply_error(event.id, INVALID_PARAMS, "Invalid params: the whole is not an object")
        else:
            self._begin(event, handler, params)

    def _begin(self, event: ClientRequest, handler: Handler, params: dict[str, Any]) -> None:
        try:
            coming = handler(params)
        except Exception as error:  # noqa: BLE001  # see _failed
            self._failed(event, error)
            return
        if isinstance(coming, Begun):
            self._stops[event.id] = coming.stop
            coming = coming.answer
        work = asyncio.create_task(self._answered(event, coming))
        self._tasks.add(work)
        work.add_done_callback(lambda _: self._done(work, coming))

    def _done(self, work: asyncio.Task[None], coming: Awaitable[Any]) -> None:
        self._tasks.discard(work)
        if isinstance(coming, Coroutine):
            coming.close()  # it was never begun, if the work was stopped at once

    async def _answered(self, event: ClientRequest, coming: Awaitable[Any]) -> None:
        try:
            result = await coming
        except Exception as error:  # noqa: BLE001  # see _failed
            self._failed(event, error)
        except asyncio.CancelledError:
            self._wire.reply_error(event.id, REQUEST_CANCELLED, "the session was closed")
            raise
        else:
            told = result if isinstance(result, Told) else Told(result, nothing)
            self._wire.reply(event.id, told.result)
            told.then()
        finally:
            self._stops.pop(event.id, None)

    def _failed(self, event: ClientRequest, error: Exception) -> None:
        """Answer with an error; one request's bug must not take the other sessions along."""
        if isinstance(error, GziaError):
            self._wire.reply_error(event.id, *answers.error(error))
            return
        self._mistaken(error)
        self._wire.reply_error(event.id, INTERNAL_ERROR, f"a bug in gzia: {type(error).__name__}")

    def _notified(self, event: ClientNotification) -> None:
        params = event.params if isinstance(event.params, dict) else {}
        if event.method == SESSION_CANCEL:
            self._cancelled(params.get("sessionId", ""))
        elif event.method == CANCEL_REQUEST:
            self._stops.get(params.get("requestId"), nothing)()

    async def all_answered(self) -> None:
        """Wait until nothing is open."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    def stop(self) -> set[asyncio.Task[None]]:
        """Give up what is open; the tasks that end because of it."""
        for task in self._tasks:
            task.cancel()
        return set(self._tasks)


def nothing() -> None:
    """What follows most answers."""
