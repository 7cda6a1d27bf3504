"""One turn of a conversation as a stream that is read (:mod:`gzia.driver.stream`), for programs that embed gzia.

It reads the journal by cursor, so that a slow reader costs no memory and holds up nobody; a stream that is never read
costs nothing at all.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from gzia.driver.errors import DecodeError, ExitError, SpawnError
from gzia.driver.observation import Observation, PromptObservation, UpdateObservation
from gzia.driver.steer import SteerOutcome, SteerRequest, SteerResult
from gzia.driver.stream import Event, History, Kind, model_facing
from gzia.driver.turn import Block
from gzia.errors import ConflictError, GziaError
from gzia.session import history, projection
from gzia.session.conversation import Conversation
from gzia.session.turn_lines import Line, TurnLines
from gzia.session.turns import TurnEnd

T = TypeVar("T")
SPEECH = (Kind.TEXT_DELTA, Kind.THINKING_DELTA)


def spawn(conversation: Conversation, blocks: Sequence[Block]) -> TurnStream:
    """Start a turn.  SpawnError when it cannot be started, or another one runs or waits."""
    cursor = conversation.journal.n
    try:
        if conversation.turn or conversation.waiting:
            raise ConflictError("session-busy", "This session has a turn already.", "wait for its end, or cancel it")
        end = conversation.prompt(blocks)
    except GziaError as error:
        raise SpawnError.of(error) from error
    return TurnStream(conversation, cursor, end)


class TurnStream:
    """A turn that was started; see :class:`gzia.driver.stream.Stream` and ``OrderedStream``.

    ``cursor`` is the number of the journal's line before it, ``end`` what the conversation promised.
    """

    def __init__(self, conversation: Conversation, cursor: int, end: asyncio.Future[TurnEnd]) -> None:
        self._conversation = conversation
        self._journal = conversation.journal
        asked = self._journal.remembered(cursor)
        self._turn = asked[0].turn if asked else None
        self._end = end
        self._lines = TurnLines(self._journal, self._turn, cursor, end)
        self._events: AsyncIterator[Event] | None = None
        self._observations: AsyncIterator[Observation] | None = None
        self._step: Kind | None = None  # the latest event of the step that goes on
        self._order = 0
        self._is_stopped = False

    # -- what a reader does ------------------------------------------------------------------------------------------

    def events(self) -> AsyncIterator[Event]:
        """What happens; empty when the observations were asked for first."""
        if self._events is None:
            self._events, self._observations = _Reading(self._lines, self._plain, self._plain_end), _nothing()
        return self._events

    def observations(self) -> AsyncIterator[Observation]:
        """What happens, with its order; empty when the events were asked for first."""
        if self._observations is None:
            self._observations, self._events = _Reading(self._lines, self._ordered, self._ordered_end), _nothing()
        return self._observations

    async def steer(self, request: SteerRequest) -> SteerResult:
        """Put a message into this turn; what became of it.  Each is observed, too, unless the turn has ended.

        Whoever gives up waiting takes the message back, if none of it was sent.  SteerAdmissionError when too many
        wait, GziaError when it cannot be written down; neither is observed.
        """
        if self._conversation.turn != self._turn:
            return SteerResult(SteerOutcome.UNSUPPORTED, "this turn does not run any more")
        steering = self._conversation.steer(request)
        try:
            return (await steering.settled).result
        except asyncio.CancelledError:
            self._conversation.withdraw(steering.steer_id)
            raise

    async def history(self) -> History:
        """All steps of the session so far.  HistoryError when a line of its journal cannot be read."""
        return await asyncio.to_thread(history.read, self._journal.path, self._journal.n)

    async def close(self) -> None:
        """Cancel the turn, if it runs, and wait for its end, which is still observed.  May be called twice."""
        if not self._is_stopped and self._conversation.turn == self._turn:
            self._is_stopped = True
            self._conversation.cancel("closed")
        await asyncio.wait([self._end])

    # -- the projections ---------------------------------------------------------------------------------------------

    def _ordered(self, one: Line) -> Iterable[Observation]:
        entry, line = one
        self._order = line.get("order_sequence", self._order)
        if entry.kind == "update":
            yield UpdateObservation(line["event"], entry.body, line["receive_sequence"], self._order)
        elif entry.kind == "steer":
            yield projection.steered(line)

    def _ordered_end(self, end: TurnEnd) -> Iterable[Observation]:
        written, received, order = self._lines.was_sent, 0, self._order + 1
        if line := self._lines.last:
            written, received, order = line["write_admitted"], line["receive_sequence"], line["order_sequence"]
        yield PromptObservation(end.stop_reason, end.result, written, received, order, self._error(end.error))

    def _plain(self, one: Line) -> Iterable[Event]:
        entry, line = one
        if entry.kind == "turn":
            yield Event(Kind.INIT)
        elif entry.kind == "session" and line["state"] == "unreadable":
            yield Event(Kind.MODEL_FACING_ERROR, model_facing(line["reason"]), is_error=True)
        elif entry.kind == "update" and (event := projection.event(line)):
            if self._step is Kind.TOOL_RESULT and event.kind in SPEECH:
                yield Event(Kind.STEP_COMPLETE)
            self._step = event.kind
            yield event

    def _plain_end(self, end: TurnEnd) -> Iterable[Event]:
        if self._step:
            yield Event(Kind.STEP_COMPLETE)
        if error := self._error(end.error):
            yield Event(Kind.TERMINAL_ERROR, error.message, is_error=True, stop_reason=end.stop_reason)
        else:
            yield Event(Kind.TERMINAL_OK, end.message, stop_reason=end.stop_reason)

    def _error(self, error: GziaError | None) -> GziaError | None:
        """Of the kind that it is."""
        if self._lines.has_gap:
            return DecodeError("journal-damaged", f"Lines of {self._journal.path} were lost before they were read.")
        if error is None:
            return None
        if not self._lines.was_sent:
            return SpawnError.of(error)
        if error.code == "agent-exited":
            return ExitError.of(error)
        return DecodeError.of(error) if self._lines.is_garbled else error


class _Reading(Generic[T]):
    """One projection.  No generator: that would be over as soon as somebody gives up waiting for its next one."""

    def __init__(
        self, lines: TurnLines, each: Callable[[Line], Iterable[T]], last: Callable[[TurnEnd], Iterable[T]]
    ) -> None:
        self._lines = lines
        self._each = each
        self._last = last
        self._ready: deque[T] = deque()
        self._is_over = False

    def __aiter__(self) -> AsyncIterator[T]:
        return self

    async def __anext__(self) -> T:
        while not self._ready:
            if self._is_over:
                raise StopAsyncIteration
            if lines := await self._lines.next():
                self._ready += [item for line in lines for item in self._each(line)]
            else:
                end = await self._lines.end
                self._is_over = True
                self._ready += self._last(end)
        return self._ready.popleft()


async def _nothing() -> AsyncIterator[Any]:
    return
    yield
