"""The lane by which steers reach one agent process: who waits, what is in flight, and what became of each.

A state machine without I/O.  Its owner writes what :meth:`Lane.hand` gives out, tells what happened, calls
:meth:`Lane.check` when :meth:`Lane.due` says so, and passes on what :meth:`Lane.take` returns.  The rules:

1. An accepted steer gives exactly one observation, whatever happens.  One that is not accepted gives none.
2. Order is kept, and at most ``Terms.at_once`` steers are with the agent unacknowledged at a time.
3. ``fallback_required`` needs a proof: the frame's end was never written, or the agent said that it did not take it.
4. After an unknown outcome of a lane that answers, the process gets no further steer.
5. When the agent has answered its prompt, whatever is unresolved is resolved within ``GRACE``, and no sign that comes
   then proves anything of its turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from gzia.driver.errors import SteerAdmissionError
from gzia.driver.observation import Sequencer, SteerObservation
from gzia.driver.steer import SteerOutcome, SteerRequest, SteerResult, bounded

LIMIT = 128  # accepted steers of a turn that are not resolved
GRACE = 0.1  # seconds between the end of a turn and the end of what is in flight then
ACKNOWLEDGED = 1.0  # seconds that an agent has to take a steer and to answer it


class Terms(NamedTuple):
    """What may be asked of a lane.

    ``at_once``: steers that are with the agent and not acknowledged.  ``deadline`` for that in seconds; None: a steer
    is resolved at the turn's end at last.
    """

    at_once: int = 1
    deadline: float | None = ACKNOWLEDGED


class Verdict(Enum):
    """What an answer of the agent means."""

    INJECTED = auto()
    NOT_TAKEN = auto()  # nothing of it was kept
    NEW_TURN = auto()  # it began a turn that nobody owns
    TAKEN = auto()  # it says so, but too early to be a proof: see Lane.proved
    UNKNOWN = auto()


class State(Enum):
    """How far a steer has come."""

    WAITING = auto()
    HANDED = auto()  # the writer has it, and it can no longer be called back
    WRITTEN = auto()  # the pipe has its last byte
    TAKEN = auto()  # acknowledged, without a proof


@dataclass(slots=True)
class Attempt:
    """One accepted steer on its way; ``since`` is when its deadline began, None while others are before it."""

    steer_id: str
    request: SteerRequest
    since: float | None = None
    state: State = State.WAITING
    sequence: int = 0  # of the acknowledgement

    @property
    def is_admitted(self) -> bool:
        """Whether the pipe has all of it."""
        return self.state in (State.WRITTEN, State.TAKEN)


class Lane:
    """One agent process's lane.  ``clock`` is monotonic, in seconds; ``sequencer`` is that of the whole stream."""

    def __init__(self, sequencer: Sequencer, clock: Callable[[], float], terms: Terms = Terms()) -> None:  # noqa: B008
        self._sequencer = sequencer
        self._clock = clock
        self._terms = terms
        self._attempts: list[Attempt] = []
        self._resolved: list[SteerObservation] = []
        self._closed = "no turn is running"  # why nothing is taken just now; empty: the lane is open
        self._off = ""  # why nothing is taken any more
        self._ends_at: float | None = None  # the turn was answered: when its grace is over

    @property
    def is_settled(self) -> bool:
        """Whether no steer is unresolved."""
        return not self._attempts

    @property
    def has_resolved(self) -> bool:
        """Whether :meth:`take` has something."""
        return bool(self._resolved)

    # -- the turn ----------------------------------------------------------------------------------------------------

    def turn_began(self) -> None:
        """A prompt was sent."""
        self._closed, self._ends_at = "", None

    def turn_stopping(self) -> None:
        """A cancel was sent: nothing more is handed over in this turn."""
        self._close("the turn is being cancelled")

    def turn_ended(self) -> None:
        """The prompt was answered: what waits was never sent, what is in flight gets the grace."""
        self._close("no turn is running")
        for attempt in [one for one in self._attempts if one.state is State.TAKEN]:
            self._missed_proof(attempt)
        self._ends_at = self._clock() + GRACE

    def gone(self) -> None:
        """The process ended.  A frame whose end was never written was never read."""
        for attempt in list(self._attempts):
            if attempt.is_admitted:
                self._resolve(attempt, SteerOutcome.DELIVERY_UNKNOWN, "the agent ended before it said what it did")
            else:
                self._resolve(attempt, SteerOutcome.FALLBACK_REQUIRED, "the agent ended before it was written")
        self._off = self._off or "the agent is not running"

    def disable(self, why: str) -> None:
        """No steer any more for this process; those that wait were never sent."""
        self._off = self._off or why
        for attempt in self._waiting():
            self._resolve(attempt, SteerOutcome.FALLBACK_REQUIRED, f"never sent: {why}")

    def _close(self, why: str) -> None:
        self._closed = why
        for attempt in self._waiting():
            self._resolve(attempt, SteerOutcome.FALLBACK_REQUIRED, f"never sent: {why}")

    # -- a steer -----------------------------------------------------------------------------------------------------

    def accept(self, steer_id: str, request: SteerRequest, refused: str = "") -> None:
        """Take a steer in; ``refused`` says why it cannot be sent in this form.  SteerAdmissionError when full."""
        if len(self._attempts) >= LIMIT:
            raise SteerAdmissionError(LIMIT)
        attempt = Attempt(steer_id, request)
        self._attempts.append(attempt)
        if why := self._off or self._closed or refused:
            self._resolve(attempt, SteerOutcome.UNSUPPORTED, why)
        self._begin_waiting()

    def hand(self, most: int = LIMIT) -> list[Attempt]:
        """What the writer gets now, at most so many.  Call it only when the writer has nothing else to write."""
        given = self._next()[:most]
        for attempt in given:
            attempt.state, attempt.since = State.HANDED, self._clock()
        return given

    def written(self, steer_id: str) -> None:
        """The pipe has taken the last byte of the frame."""
        attempt = self._find(steer_id)
        if attempt and attempt.state is State.HANDED:
            attempt.state = State.WRITTEN

    def withdraw(self, steer_id: str) -> bool:
        """The caller gives up; whether that was early enough.  Decided here, in the order of the writer's own calls."""
        attempt = self._find(steer_id)
        if attempt is None or attempt.state is not State.WAITING:
            return False
        self._resolve(attempt, SteerOutcome.FALLBACK_REQUIRED, "it was taken back before it was sent")
        return True

    def answered(self, steer_id: str, verdict: Verdict, sequence: int, reason: str = "") -> None:
        """The agent's answer.  One that comes twice, too late, or for nothing is passed over."""
        attempt = self._find(steer_id)
        if attempt is None or attempt.state in (State.WAITING, State.TAKEN):
            return
        if attempt.state is State.HANDED:  # nobody can answer a line that has no end yet
            self._unknown(attempt, "the agent answered before it could have read it")
        elif verdict is Verdict.TAKEN:
            attempt.state, attempt.sequence = State.TAKEN, sequence
            self._begin_waiting()
            if self._ends_at is not None:
                self._missed_proof(attempt)
        elif verdict is Verdict.INJECTED:
            self._resolve(attempt, SteerOutcome.INJECTED, reason, sequence)
        elif verdict is Verdict.NOT_TAKEN:
            self._resolve(attempt, SteerOutcome.FALLBACK_REQUIRED, reason, sequence)
        elif verdict is Verdict.NEW_TURN:
            self._resolve(attempt, SteerOutcome.DELIVERED_UNTRACKABLE, reason, sequence)
            self.disable("the agent began a turn of its own with an earlier message")
        else:
            self._unknown(attempt, reason, sequence)

    def proved(self, steer_id: str, sequence: int) -> None:
        """The agent showed, with the line of this number, that the running turn has what was written."""
        attempt = self._find(steer_id)
        if attempt and attempt.is_admitted and self._ends_at is None:
            self._resolve(attempt, SteerOutcome.INJECTED, "", sequence)

    # -- time --------------------------------------------------------------------------------------------------------

    def due(self) -> float | None:
        """When :meth:`check` is to be called, on the clock; None: not before something else happens."""
        return min((end for end in map(self._ends, self._attempts) if end is not None), default=None)

    def check(self) -> None:
        """Resolve what has waited long enough."""
        while overdue := [
            one for one in self._attempts if (end := self._ends(one)) is not None and end <= self._clock()
        ]:
            self._give_up(overdue[0])

    def _ends(self, attempt: Attempt) -> float | None:
        deadline, since = self._terms.deadline, attempt.since
        own = None if deadline is None or since is None or attempt.state is State.TAKEN else since + deadline
        return min((end for end in (own, self._ends_at) if end is not None), default=None)

    def _begin_waiting(self) -> None:
        """The deadline of what could be handed over runs; of what is behind it, not yet."""
        for attempt in self._next():
            if attempt.since is None:
                attempt.since = self._clock()

    def _give_up(self, attempt: Attempt) -> None:
        if attempt.state is State.WAITING:
            self._resolve(attempt, SteerOutcome.FALLBACK_REQUIRED, "never sent: the agent does not read its input")
        elif self._ends_at is not None:
            self._unknown(attempt, "the turn ended before the agent said what it did")
        else:
            self._unknown(attempt, f"the agent did not answer within {self._terms.deadline:g} s")

    # -- the end -----------------------------------------------------------------------------------------------------

    def take(self) -> list[SteerObservation]:
        """What was resolved since the last call, in order."""
        resolved, self._resolved = self._resolved, []
        return resolved

    def _unknown(self, attempt: Attempt, reason: str, sequence: int = 0) -> None:
        known = attempt.is_admitted
        outcome = SteerOutcome.DELIVERY_UNKNOWN if known else SteerOutcome.ADMISSION_UNKNOWN
        self._resolve(attempt, outcome, reason, sequence)
        self.disable("it is not known what the agent did with an earlier message")

    def _missed_proof(self, attempt: Attempt) -> None:
        reason = "the agent took it, and nothing shows that the turn had it"
        self._resolve(attempt, SteerOutcome.DELIVERY_UNKNOWN, reason, attempt.sequence)

    def _resolve(self, attempt: Attempt, outcome: SteerOutcome, reason: str, sequence: int = 0) -> None:
        self._attempts.remove(attempt)
        self._begin_waiting()
        order = self._sequencer.received(sequence) if sequence else self._sequencer.local()
        result = SteerResult(outcome, bounded(reason), attempt.is_admitted, sequence, sequence, order)
        self._resolved.append(SteerObservation(attempt.steer_id, result.validate()))

    def _next(self) -> list[Attempt]:
        """What waits and has its place with the agent."""
        flying = sum(one.state in (State.HANDED, State.WRITTEN) for one in self._attempts)
        return self._waiting()[: max(0, self._terms.at_once - flying)]

    def _waiting(self) -> list[Attempt]:
        return [one for one in self._attempts if one.state is State.WAITING]

    def _find(self, steer_id: str) -> Attempt | None:
        return next((one for one in self._attempts if one.steer_id == steer_id), None)
