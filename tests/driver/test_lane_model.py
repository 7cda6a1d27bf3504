"""The lane in every order of events that hypothesis finds, held against what the agent really received.

The writer stalls, takes half a frame and breaks; the agent answers right, wrong, late, twice or never; the clock jumps.
The model keeps books of its own and never looks into the lane.
"""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gzia.driver.errors import SteerAdmissionError
from gzia.driver.lane import ACKNOWLEDGED, GRACE, LIMIT, Lane, Terms, Verdict
from gzia.driver.observation import Sequencer, SteerObservation
from gzia.driver.steer import SteerOutcome, SteerRequest

STEPS = 20_000
REQUEST = SteerRequest([{"type": "text", "text": "use blue"}])
NOBODY = "nobody"
HALVES = 2  # parts in which the pipe takes a frame
picks = st.integers(0, 3)
MUST_BE_SEEN = {
    *((outcome, "") for outcome in SteerOutcome if outcome not in ("injected", "delivered_untrackable")),
    *((outcome, "answered") for outcome in SteerOutcome if outcome not in ("unsupported", "admission_unknown")),
    *(("withdrawn", early) for early in ("True", "False")),
    *(("refused", ""), ("unread", ""), ("off", ""), ("grace", "")),
}


class LaneModel(RuleBasedStateMachine):
    """``steps`` and ``seen`` count over all examples."""

    steps: ClassVar[int] = 0
    seen: ClassVar[Counter[tuple[str, str]]] = Counter()

    @initialize(
        at_once=st.sampled_from([1, 1, 2, 5]),
        deadline=st.sampled_from([ACKNOWLEDGED] * 3 + [None]),
        flows=st.booleans(),
    )
    def begins(self, at_once: int, deadline: float | None, flows: bool) -> None:
        self.terms, self.flows = Terms(at_once, deadline), flows
        self.start()

    def start(self) -> None:
        """A process of the agent begins."""
        self.now = 50.0
        self.sequencer = Sequencer()
        self.lane = Lane(self.sequencer, lambda: self.now, self.terms)
        self.accepted: list[str] = []
        self.rejected: set[str] = set()
        self.handed: list[str] = []
        self.told: dict[str, SteerObservation] = {}
        self.next_since: dict[str, float] = {}  # when it was first its turn, or it was handed over
        self.pipe: list[tuple[str, int]] = []  # what the writer holds, and how many halves of it are left
        self.received: list[str] = []  # by the agent
        self.said: dict[str, Verdict] = {}  # the agent's first answer to what it had received
        self.shown: set[str] = set()  # what it proved to have while the turn ran
        self.line = self.order = 0
        self.turn: str = ""  # "", "runs", "stops", "answered"
        self.answered_at = 0.0
        self.is_dead, self.is_off = False, False
        self.names = 0

    # -- the owner of the lane ---------------------------------------------------------------------------------------

    def settle(self) -> None:
        """After each event: give the writer what may go, take what was resolved, end the turn when it is over."""
        self.take()
        while not self.pipe and not self.is_dead and (given := self.lane.hand(LIMIT)):
            for attempt in given:
                self.hand(attempt.steer_id)
            if self.flows:
                self.flow(LIMIT * HALVES)
        self.take()
        if self.turn == "answered" and self.lane.is_settled:
            self.turn = ""
            self.follows(self.sequencer.received(self.line))
        self.note_whose_turn_it_is()

    def take(self) -> None:
        for observation in self.lane.take():
            self.observe(observation)

    def hand(self, id: str) -> None:
        assert self.turn == "runs", "handed over without a turn"
        assert not self.is_off, "handed over after an unknown outcome"
        assert id in self.accepted and id not in self.told and id not in self.handed
        assert not [one for one in self.waiting if self.accepted.index(one) < self.accepted.index(id)], "out of order"
        self.handed.append(id)
        assert len(self.unacknowledged) <= self.terms.at_once
        self.next_since[id] = self.now
        self.pipe.append((id, HALVES))

    def flow(self, halves: int) -> None:
        """The pipe takes so many halves of frames."""
        for _ in range(halves):
            if not self.pipe or self.is_dead:
                return
            id, left = self.pipe.pop(0)
            if left > 1:
                self.pipe.insert(0, (id, left - 1))
                continue
            if id == NOBODY:
                continue
            assert id not in self.told or not self.told[id].result.outcome.retry_safe, "it may be sent again, and came"
            self.received.append(id)
            self.lane.written(id)

    def note_whose_turn_it_is(self) -> None:
        for id in self.waiting[: max(0, self.terms.at_once - len(self.unacknowledged))]:
            self.next_since.setdefault(id, self.now)

    @property
    def waiting(self) -> list[str]:
        return [id for id in self.accepted if id not in self.handed and id not in self.told]

    @property
    def unacknowledged(self) -> list[str]:
        return [id for id in self.handed if id not in self.told and self.said.get(id) is not Verdict.TAKEN]

    # -- what is told ------------------------------------------------------------------------------------------------

    def observe(self, observation: SteerObservation) -> None:
        id, result = observation.steer_id, observation.result.validate()
        assert id in self.accepted and id not in self.rejected
        assert id not in self.told, "told twice"
        assert self.turn or result.outcome is SteerOutcome.UNSUPPORTED or self.is_dead, "told after its turn"
        self.told[id] = observation
        self.follows(observation.order_sequence)
        came, said = id in self.received, self.said.get(id)
        assert result.write_admitted == came
        assert {
            SteerOutcome.INJECTED: came and (said is Verdict.INJECTED or id in self.shown),
            SteerOutcome.FALLBACK_REQUIRED: said is Verdict.NOT_TAKEN if came else self.is_dead or not self.comes(id),
            SteerOutcome.UNSUPPORTED: id not in self.handed,
            SteerOutcome.ADMISSION_UNKNOWN: id in self.handed and not came,
            SteerOutcome.DELIVERY_UNKNOWN: came and said not in (Verdict.INJECTED, Verdict.NOT_TAKEN, Verdict.NEW_TURN),
            SteerOutcome.DELIVERED_UNTRACKABLE: came and said is Verdict.NEW_TURN,
        }[result.outcome], (observation, said)
        self.is_off = self.is_off or (result.outcome.ends_steering and said is not Verdict.TAKEN)
        self.seen[result.outcome, "answered" * bool(result.response_sequence)] += 1
        self.seen["off", ""] += self.is_off
        self.seen["unread", ""] += "read its input" in result.reason

    def comes(self, id: str) -> bool:
        """Whether the agent may still receive it."""
        return any(one == id for one, _ in self.pipe)

    def follows(self, order: int) -> None:
        assert order >= self.order, "the order went down"
        self.order = order

    def agent_line(self) -> int:
        self.line += 1
        return self.line

    # -- people ------------------------------------------------------------------------------------------------------

    @rule(
        count=st.sampled_from([*[1] * 12, 2, 3, LIMIT + 2]),
        form=st.sampled_from([*[""] * 9, "text only"]),
        fresh=st.booleans(),
    )
    def steers(self, count: int, form: str, fresh: bool) -> None:
        """``fresh``: where it makes sense."""
        if fresh:
            self.begin_turn()
        for _ in range(count):
            self.names += 1
            id = f"s{self.names}"
            unresolved = len(self.accepted) - len(self.told)
            try:
                self.lane.accept(id, REQUEST, form)
            except SteerAdmissionError as error:
                assert unresolved == LIMIT
                assert error.result.validate().outcome.retry_safe
                self.rejected.add(id)
                self.seen["refused", ""] += 1
            else:
                assert unresolved < LIMIT
                self.accepted.append(id)
            self.settle()

    @precondition(lambda self: self.accepted)
    @rule(pick=picks)
    def withdraws(self, pick: int) -> None:
        choices = [*(id for id in self.accepted if id not in self.told), *self.accepted[-1:], NOBODY]
        id = choices[pick % len(choices)]
        early = id in self.waiting
        assert self.lane.withdraw(id) is early
        self.settle()
        assert not early or self.told[id].result.outcome is SteerOutcome.FALLBACK_REQUIRED
        self.seen["withdrawn", str(early)] += 1

    def begin_turn(self) -> None:
        if self.is_dead or self.is_off:
            self.nobody_is_left_waiting()
            self.start()
        if not self.turn:
            self.turn = "runs"
            self.lane.turn_began()
            self.settle()

    @precondition(lambda self: self.turn == "runs" and self.handed)
    @rule(really=st.sampled_from([False, False, False, True]))
    def cancels(self, really: bool) -> None:
        if really:
            self.turn = "stops"
            self.lane.turn_stopping()
            self.settle()

    # -- the agent ---------------------------------------------------------------------------------------------------

    @property
    def open(self) -> list[str]:
        return [id for id in self.received if id not in self.told] if not self.is_dead else []

    @precondition(lambda self: self.open)
    @rule(pick=picks, verdict=st.sampled_from([*Verdict, Verdict.INJECTED, Verdict.NOT_TAKEN, Verdict.NEW_TURN]))
    def answers(self, pick: int, verdict: Verdict) -> None:
        """For the first time, or again while it is not settled."""
        id = self.open[pick % len(self.open)]
        self.said.setdefault(id, verdict)
        self.lane.answered(id, verdict, self.agent_line(), "why")
        self.settle()

    @precondition(lambda self: {*self.received} & self.told.keys() and not self.is_dead)
    @rule(pick=picks, verdict=st.sampled_from(Verdict))
    def answers_again_or_too_late(self, pick: int, verdict: Verdict) -> None:
        settled = [id for id in self.received if id in self.told]
        self.lane.answered(settled[-1 - pick % len(settled)], verdict, self.agent_line())
        self.settle()

    @precondition(lambda self: not self.is_dead)
    @rule(pick=picks, verdict=st.sampled_from([Verdict.INJECTED, Verdict.NOT_TAKEN]), is_sign=st.booleans())
    def answers_what_it_did_not_receive(self, pick: int, verdict: Verdict, is_sign: bool) -> None:
        strange = [*(id for id, _ in self.pipe), *self.waiting[:1], NOBODY]
        id = strange[pick % len(strange)]
        if is_sign:
            self.lane.proved(id, self.agent_line())
        else:
            self.lane.answered(id, verdict, self.agent_line())
        self.settle()

    @precondition(lambda self: self.open)
    @rule(pick=picks)
    def shows_what_it_received(self, pick: int) -> None:
        id = self.open[pick % len(self.open)]
        if self.turn != "answered":
            self.shown.add(id)
        self.lane.proved(id, self.agent_line())
        self.settle()

    @rule()
    def says_something(self) -> None:
        self.follows(self.sequencer.received(self.agent_line()))
        self.settle()

    @precondition(lambda self: self.turn == "stops" or (self.turn == "runs" and self.handed))
    @rule()
    def ends_its_turn(self) -> None:
        self.agent_line()
        self.turn, self.answered_at = "answered", self.now
        self.lane.turn_ended()
        self.settle()
        self.seen["grace", ""] += self.turn == "answered"

    @precondition(lambda self: self.handed and not self.is_dead)
    @rule(really=st.sampled_from([False, False, True]))
    def dies(self, really: bool) -> None:
        if really:
            self.is_dead = True
            self.lane.gone()
            self.settle()
            assert self.lane.is_settled

    # -- the pipe and the clock --------------------------------------------------------------------------------------

    @rule(flows=st.booleans(), halves=st.integers(0, 3))
    def pipe_changes(self, flows: bool, halves: int) -> None:
        self.flows = flows
        self.flow(LIMIT * HALVES if flows else halves)
        self.settle()

    @rule()
    def something_else_is_written(self) -> None:
        self.pipe.append((NOBODY, HALVES))
        self.flow(LIMIT * HALVES if self.flows else 0)
        self.settle()

    @rule(seconds=st.sampled_from([0.01, GRACE / 2, GRACE, 0.4, ACKNOWLEDGED]))
    def time_passes(self, seconds: float) -> None:
        """With timers that are on time."""
        until = self.now + seconds
        while (due := self.lane.due()) is not None and due <= until:
            self.now = max(self.now, due)
            self.lane.check()
            self.settle()
        self.now = until
        self.settle()
        self.on_time()

    @precondition(lambda self: self.handed)
    @rule(seconds=st.sampled_from([-1000.0, -0.5, 0.5, 1000.0]))
    def clock_jumps(self, seconds: float) -> None:
        self.now += seconds
        self.lane.check()
        self.settle()

    def on_time(self) -> None:
        if self.turn == "answered":
            assert self.now < self.answered_at + GRACE, "the turn has not ended within the grace"
        if self.terms.deadline is not None:
            for id in {*self.unacknowledged, *self.waiting} & self.next_since.keys():
                assert self.now < self.next_since[id] + self.terms.deadline, f"{id} waits longer than it may"

    # -- what must hold ----------------------------------------------------------------------------------------------

    @invariant()
    def whoever_waits_is_known(self) -> None:
        type(self).steps += 1
        assert self.lane.is_settled == (len(self.told) == len(self.accepted))
        assert not self.lane.has_resolved

    def nobody_is_left_waiting(self) -> None:
        self.lane.gone()
        self.is_dead = True
        self.take()
        assert self.told.keys() == {*self.accepted}

    def teardown(self) -> None:
        self.nobody_is_left_waiting()


def test_no_order_of_events_makes_an_outcome_untrue() -> None:
    LaneModel.steps, LaneModel.seen = 0, Counter()

    run_state_machine_as_test(
        LaneModel,
        settings=settings(
            max_examples=600, stateful_step_count=50, deadline=None, database=None, derandomize=True,
            phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip

    assert LaneModel.steps >= STEPS
    assert {what for what in MUST_BE_SEEN if not LaneModel.seen[what]} == set()
