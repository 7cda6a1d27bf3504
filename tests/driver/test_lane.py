from __future__ import annotations

import pytest

from gzia.driver.errors import SteerAdmissionError
from gzia.driver.lane import ACKNOWLEDGED, GRACE, LIMIT, Lane, Terms, Verdict
from gzia.driver.observation import Sequencer
from gzia.driver.steer import SteerOutcome, SteerRequest, SteerResult

REQUEST = SteerRequest([{"type": "text", "text": "use blue"}])
BY_PROOF = Terms(deadline=None)


class Bench:
    """A lane with a clock that the test moves."""

    def __init__(self, terms: Terms = Terms(), *, turn: bool = True) -> None:  # noqa: B008
        self.now = 100.0
        self.sequencer = Sequencer(40)
        self.lane = Lane(self.sequencer, lambda: self.now, terms)
        if turn:
            self.lane.turn_began()

    def accept(self, *ids: str) -> None:
        for id in ids:
            self.lane.accept(id, REQUEST)

    def write(self, *ids: str) -> None:
        """Accept, hand over and write wholly."""
        for id in ids:
            self.accept(id)
            assert self.hand() == [id]
            self.lane.written(id)

    def hand(self) -> list[str]:
        return [attempt.steer_id for attempt in self.lane.hand()]

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.lane.check()

    def told(self) -> dict[str, SteerResult]:
        return {one.steer_id: one.result for one in self.lane.take()}

    def outcomes(self) -> list[tuple[str, SteerOutcome]]:
        return [(one.steer_id, one.result.outcome) for one in self.lane.take()]


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        (Verdict.INJECTED, SteerOutcome.INJECTED),
        (Verdict.NOT_TAKEN, SteerOutcome.FALLBACK_REQUIRED),
        (Verdict.NEW_TURN, SteerOutcome.DELIVERED_UNTRACKABLE),
        (Verdict.UNKNOWN, SteerOutcome.DELIVERY_UNKNOWN),
    ],
)
def test_an_answer_settles_a_written_steer(verdict: Verdict, outcome: SteerOutcome) -> None:
    bench = Bench()
    bench.write("a")

    bench.lane.answered("a", verdict, 41, "why")

    assert bench.told() == {"a": SteerResult(outcome, "why", True, 41, 41, 41)}
    assert bench.lane.is_settled


def test_without_a_turn_nothing_is_tried() -> None:
    bench = Bench(turn=False)

    bench.accept("a")

    assert bench.hand() == []
    assert bench.told() == {"a": SteerResult(SteerOutcome.UNSUPPORTED, "no turn is running", order_sequence=41)}


def test_a_form_that_the_agent_does_not_take_is_not_tried() -> None:
    bench = Bench()

    bench.lane.accept("a", REQUEST, "text only")

    assert bench.told()["a"].outcome is SteerOutcome.UNSUPPORTED


def test_one_is_with_the_agent_at_a_time_and_order_is_kept() -> None:
    bench = Bench()
    bench.accept("a", "b", "c")

    assert bench.hand() == ["a"]
    assert bench.hand() == []
    bench.lane.written("a")
    bench.lane.answered("a", Verdict.INJECTED, 41)
    assert bench.hand() == ["b"]


def test_what_waits_at_the_end_of_the_turn_was_never_sent() -> None:
    bench = Bench()
    bench.write("a")
    bench.accept("b", "c")

    bench.lane.turn_ended()

    assert bench.outcomes() == [("b", SteerOutcome.FALLBACK_REQUIRED), ("c", SteerOutcome.FALLBACK_REQUIRED)]
    assert not bench.lane.is_settled


def test_what_is_in_flight_at_the_end_of_the_turn_has_the_grace_and_no_more() -> None:
    answered, silent = Bench(), Bench()
    for bench in (answered, silent):
        bench.write("a")
        bench.lane.turn_ended()
        assert bench.lane.due() == bench.now + GRACE
        bench.wait(GRACE / 2)
        assert bench.told() == {}

    answered.lane.answered("a", Verdict.INJECTED, 50)
    silent.wait(GRACE)

    assert answered.outcomes() == [("a", SteerOutcome.INJECTED)]
    assert silent.outcomes() == [("a", SteerOutcome.DELIVERY_UNKNOWN)]


def test_a_cancel_stops_what_waits_and_what_comes_later() -> None:
    bench = Bench()
    bench.write("a")
    bench.accept("b")

    bench.lane.turn_stopping()
    bench.accept("c")

    assert bench.outcomes() == [("b", SteerOutcome.FALLBACK_REQUIRED), ("c", SteerOutcome.UNSUPPORTED)]
    assert bench.hand() == []


def test_no_answer_in_time_is_unknown_and_ends_steering() -> None:
    bench = Bench()
    bench.write("a")
    bench.accept("b")

    bench.wait(ACKNOWLEDGED)
    bench.accept("c")

    assert bench.outcomes() == [
        ("a", SteerOutcome.DELIVERY_UNKNOWN),
        ("b", SteerOutcome.FALLBACK_REQUIRED),
        ("c", SteerOutcome.UNSUPPORTED),
    ]


@pytest.mark.parametrize("verdict", [Verdict.UNKNOWN, Verdict.NEW_TURN])
def test_steering_stays_off_in_the_next_turn(verdict: Verdict) -> None:
    bench = Bench()
    bench.write("a")
    bench.lane.answered("a", verdict, 41)
    bench.lane.turn_ended()
    bench.lane.turn_began()

    bench.accept("b")

    assert bench.outcomes()[-1] == ("b", SteerOutcome.UNSUPPORTED)


def test_an_agent_that_does_not_read_costs_a_deadline_and_no_knowledge() -> None:
    bench = Bench()
    bench.accept("a", "b")  # the writer is busy: hand() is not called

    bench.wait(ACKNOWLEDGED)
    assert bench.outcomes() == [("a", SteerOutcome.FALLBACK_REQUIRED)]

    bench.wait(ACKNOWLEDGED / 2)
    assert bench.hand() == ["b"]


def test_what_comes_and_goes_behind_a_steer_gives_it_no_more_time() -> None:
    bench = Bench()
    bench.accept("a")

    for id in ("b", "c"):
        bench.wait(ACKNOWLEDGED * 0.4)
        bench.accept(id)
        bench.lane.withdraw(id)
        bench.lane.accept("picture", REQUEST, "text only")
    bench.lane.take()
    bench.wait(ACKNOWLEDGED * 0.3)

    assert bench.outcomes() == [("a", SteerOutcome.FALLBACK_REQUIRED)]


def test_what_could_go_beside_another_has_a_deadline_of_its_own() -> None:
    beside_one_in_flight, behind_one_that_was_taken = Bench(Terms(at_once=2)), Bench()
    for bench in (beside_one_in_flight, behind_one_that_was_taken):
        bench.write("a")
    behind_one_that_was_taken.lane.answered("a", Verdict.TAKEN, 41)
    for bench in (beside_one_in_flight, behind_one_that_was_taken):
        bench.wait(ACKNOWLEDGED / 2)
        bench.accept("b")
    beside_one_in_flight.lane.answered("a", Verdict.INJECTED, 42)
    for bench in (beside_one_in_flight, behind_one_that_was_taken):
        bench.lane.take()

        bench.wait(ACKNOWLEDGED)

        assert bench.outcomes() == [("b", SteerOutcome.FALLBACK_REQUIRED)]


def test_half_a_frame_at_the_deadline_is_not_known_and_ends_steering() -> None:
    bench = Bench()
    bench.accept("a")
    bench.hand()

    bench.wait(ACKNOWLEDGED)

    assert bench.told() == {
        "a": SteerResult(SteerOutcome.ADMISSION_UNKNOWN, "the agent did not answer within 1 s", order_sequence=41)
    }
    bench.accept("b")
    assert bench.outcomes() == [("b", SteerOutcome.UNSUPPORTED)]


def test_half_a_frame_when_the_process_ends_was_never_read() -> None:
    bench = Bench()
    bench.accept("a")
    bench.hand()

    bench.lane.gone()

    assert bench.outcomes() == [("a", SteerOutcome.FALLBACK_REQUIRED)]


def test_a_whole_frame_when_the_process_ends_may_have_been_read() -> None:
    bench = Bench()
    bench.write("a")
    bench.accept("b")

    bench.lane.gone()
    bench.accept("c")

    assert bench.outcomes() == [
        ("a", SteerOutcome.DELIVERY_UNKNOWN),
        ("b", SteerOutcome.FALLBACK_REQUIRED),
        ("c", SteerOutcome.UNSUPPORTED),
    ]


def test_an_answer_to_half_a_frame_is_not_believed() -> None:
    bench = Bench()
    bench.accept("a")
    bench.hand()

    bench.lane.answered("a", Verdict.INJECTED, 41)

    assert bench.outcomes() == [("a", SteerOutcome.ADMISSION_UNKNOWN)]


def test_answers_that_come_twice_late_or_for_nothing_change_nothing() -> None:
    bench = Bench()
    bench.write("a")
    bench.accept("b")
    bench.lane.answered("b", Verdict.INJECTED, 41)
    bench.lane.answered("nobody", Verdict.INJECTED, 42)
    bench.lane.answered("a", Verdict.INJECTED, 43)
    bench.lane.answered("a", Verdict.NOT_TAKEN, 44)
    bench.lane.written("a")

    assert bench.outcomes() == [("a", SteerOutcome.INJECTED)]
    assert bench.hand() == ["b"]


def test_what_waits_can_be_taken_back_and_what_was_handed_over_cannot() -> None:
    bench = Bench()
    bench.accept("a", "b")
    bench.hand()

    assert not bench.lane.withdraw("a")
    assert bench.lane.withdraw("b")
    assert not bench.lane.withdraw("b")
    assert not bench.lane.withdraw("nobody")
    bench.lane.written("a")
    assert not bench.lane.withdraw("a")
    assert bench.outcomes() == [("b", SteerOutcome.FALLBACK_REQUIRED)]


def test_the_steer_beyond_the_limit_is_refused_and_not_observed() -> None:
    bench = Bench()
    bench.accept(*map(str, range(LIMIT)))

    with pytest.raises(SteerAdmissionError) as caught:
        bench.accept("one too many")

    assert caught.value.result.validate().outcome is SteerOutcome.FALLBACK_REQUIRED
    bench.lane.gone()
    assert [id for id, _ in bench.outcomes()] == list(map(str, range(LIMIT)))
    assert bench.lane.is_settled


def test_an_acknowledgement_that_comes_too_early_needs_a_proof() -> None:
    proved, unproved = Bench(BY_PROOF), Bench(BY_PROOF)
    for bench in (proved, unproved):
        bench.write("a")
        bench.lane.answered("a", Verdict.TAKEN, 41)
        bench.wait(1000)
        assert bench.told() == {}

    proved.lane.proved("a", 45)
    unproved.lane.turn_ended()

    assert proved.told() == {"a": SteerResult(SteerOutcome.INJECTED, "", True, 45, 45, 45)}
    assert unproved.told()["a"][:5] == (
        SteerOutcome.DELIVERY_UNKNOWN, "the agent took it, and nothing shows that the turn had it", True, 41, 41
    )  # fmt: skip


def test_a_proof_that_did_not_come_is_no_reason_to_stop_steering() -> None:
    bench = Bench(BY_PROOF)
    bench.write("a")
    bench.lane.answered("a", Verdict.TAKEN, 41)
    bench.lane.turn_ended()
    bench.lane.turn_began()

    bench.accept("b")

    assert bench.hand() == ["b"]


def test_what_comes_after_the_end_of_the_turn_proves_nothing_of_it() -> None:
    bench = Bench()
    bench.write("a")
    bench.lane.turn_ended()

    bench.lane.proved("a", 41)
    assert bench.told() == {}
    bench.lane.answered("a", Verdict.TAKEN, 42)

    assert bench.told()["a"][:4] == (
        SteerOutcome.DELIVERY_UNKNOWN, "the agent took it, and nothing shows that the turn had it", True, 42
    )  # fmt: skip


def test_what_the_agent_has_acknowledged_holds_nobody_up() -> None:
    bench = Bench()
    bench.write("a")
    bench.accept("b")
    assert bench.hand() == []

    bench.lane.answered("a", Verdict.TAKEN, 41)

    assert bench.hand() == ["b"]
    assert bench.told() == {}


def test_the_writer_may_be_given_fewer_than_may_go() -> None:
    bench = Bench(Terms(at_once=3))
    bench.accept("a", "b", "c")

    assert [one.steer_id for one in bench.lane.hand(2)] == ["a", "b"]
    assert [one.steer_id for one in bench.lane.hand(2)] == ["c"]


def test_nothing_is_proved_that_was_not_written() -> None:
    bench = Bench(BY_PROOF)
    bench.accept("a")
    bench.lane.proved("a", 41)
    bench.hand()
    bench.lane.proved("a", 42)

    assert bench.told() == {}


def test_a_lane_may_have_several_with_the_agent() -> None:
    bench = Bench(Terms(at_once=2))
    bench.accept("a", "b", "c")

    assert bench.hand() == ["a", "b"]
    bench.lane.written("b")
    bench.lane.answered("b", Verdict.INJECTED, 41)
    assert bench.hand() == ["c"]


def test_order_never_goes_down_although_local_ends_have_no_number() -> None:
    bench = Bench()
    bench.accept("a")
    bench.lane.withdraw("a")
    bench.write("b")
    bench.lane.answered("b", Verdict.INJECTED, 41)  # its line came before the local end was numbered
    bench.accept("c")
    bench.lane.turn_ended()

    orders = [one.order_sequence for one in bench.lane.take()]

    assert orders == [41, 41, 42]


def test_a_clock_that_steps_back_only_makes_the_lane_patient() -> None:
    bench = Bench()
    bench.write("a")

    bench.wait(-50)
    bench.wait(50 + ACKNOWLEDGED / 2)
    assert bench.told() == {}
    bench.wait(ACKNOWLEDGED / 2)

    assert bench.outcomes() == [("a", SteerOutcome.DELIVERY_UNKNOWN)]


def test_without_anything_open_no_clock_is_needed() -> None:
    bench = Bench()

    assert bench.lane.due() is None
    bench.lane.turn_ended()
    assert bench.lane.due() is None
