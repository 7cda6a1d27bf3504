"""What hypothesis may do with a session: as its people, as its agent, to its pipes, to its disk and to its clock."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from gzia.driver.lane import GRACE
from gzia.driver.steer import SteerRequest
from gzia.session.conversation import Fallback
from gzia.session.runner import INTERRUPT
from tests.model.judge import KEPT_NOTHING
from tests.model.process import Message
from tests.model.stage import NEVER, Stage
from tests.session.live import say

INJECTED = "injected"
STEERED: list[Any] = [*[INJECTED] * 8, *KEPT_NOTHING, "startedNewTurn", "maybe", -32000, {}, None, [1], 7.5]
ENDED: list[Any] = [*["end_turn"] * 3, "cancelled", "refusal", "max_tokens", -32603, {}, None, "no such reason"]
UPDATES: list[dict[str, Any]] = [
    {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "word"}},
    {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "thought"}},
    {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "x"},
    {"sessionUpdate": "tool_call", "toolCallId": "t2", "title": "y"},
    {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"},
    {"sessionUpdate": "usage_update", "used": 1, "size": 2},
    {"sessionUpdate": "no such update"},
]
NOISE: list[Any] = [
    b"noise\n", b'{"jsonrpc":"2.0","result":{}}\n', b"{\n", b'{"a":NaN}\n', b"[]\n", b"\n",
    *({"jsonrpc": "2.0", "id": id, "result": {"outcome": "injected"}} for id in (999_999, -1)),
]  # fmt: skip
ALLOWED, STOPPED = {"outcome": "selected", "optionId": "yes"}, {"outcome": "cancelled"}
picks = st.integers(0, 5)


class Session(Stage):
    """The rules; each is one step, or a few."""

    @initialize(count=st.integers(0, 3))
    def begins(self, count: int) -> None:
        self.prompts(count)

    # -- people ------------------------------------------------------------------------------------------------------

    @rule(count=st.sampled_from([*[1] * 9, 2, 70]))
    def prompts(self, count: int) -> None:
        def ask() -> None:
            for _ in range(count):
                self.ends.append(self.conversation.prompt(say(self.text())))

        self.refusable(ask, "queue-full", "journal-not-writable")

    @precondition(lambda self: self.agent.open(is_steer=False) or self.texts % 4 == 0)
    @rule(fallback=st.sampled_from(Fallback), count=st.sampled_from([*[1] * 7, 2, 3, 130]))
    def steers(self, fallback: Fallback, count: int) -> None:
        def ask() -> None:
            for _ in range(count):
                request = SteerRequest(say(self.text()))
                self.steerings.append(self.conversation.steer(request, fallback=fallback))

        self.refusable(ask, "steering-full", "journal-not-writable")

    @precondition(lambda self: self.judge.steers)
    @rule(pick=picks)
    def steers_with_an_id_that_is_taken(self, pick: int) -> None:
        taken = [*self.judge.steers][-1 - pick % len(self.judge.steers)]
        request = SteerRequest(say(self.text()))
        self.refusable(lambda: self.conversation.steer(request, steer_id=taken), "steer-id-taken")

    @precondition(lambda self: self.steerings)
    @rule(pick=picks)
    def withdraws(self, pick: int) -> None:
        steer_id = self.steerings[-1 - pick % len(self.steerings)].steer_id
        given = [one.text for one in self.judge.messages if one.is_steer]

        def withdraw() -> bool:
            self.judge.renounced(steer_id)
            return self.conversation.withdraw(steer_id)

        if self.do(withdraw):
            assert self.judge.steers[steer_id].text not in given, "taken back after it was sent"
            self.seen["taken back"] += 1

    @rule()
    def cancels(self) -> None:
        def cancel() -> None:
            self.judge.renounced()
            self.conversation.cancel()

        self.do(cancel)

    @precondition(lambda self: self.conversation.permissions.open)
    @rule(pick=picks, outcome=st.sampled_from([ALLOWED, STOPPED]))
    def decides(self, pick: int, outcome: dict[str, Any]) -> None:
        open_ones = [*self.conversation.permissions.open]
        self.do(lambda: self.conversation.answer(open_ones[pick % len(open_ones)], outcome, "a person"))

    @rule(are_there=st.booleans(), patience=st.sampled_from([None, 5.0]))
    def people_come_or_go(self, are_there: bool, patience: float | None) -> None:
        self.conversation.permissions.patience = patience
        self.conversation.permissions.answerers = int(are_there)
        self.do(lambda: None if are_there else self.conversation.nobody_left())

    # -- the agent ---------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.agent.open(is_steer=False))
    @rule(said=st.sampled_from(ENDED))
    def ends_its_turn(self, said: Any) -> None:
        agent, message = self.agent, self.agent.open(is_steer=False)[0]
        self.do(lambda: agent.answer(message, said))

    @precondition(lambda self: self.agent.open(is_steer=True))
    @rule(pick=picks, said=st.sampled_from(STEERED))
    def answers_a_steer(self, pick: int, said: Any) -> None:
        agent, open_ones = self.agent, self.agent.open(is_steer=True)
        self.do(lambda: agent.answer(open_ones[pick % len(open_ones)], said))

    @precondition(lambda self: self.agent.open(is_steer=True) and self.agent.open(is_steer=False))
    @rule(said=st.sampled_from(STEERED), turn_first=st.booleans(), between=st.sampled_from([None, *UPDATES]))
    def answers_both_at_once(self, said: Any, turn_first: bool, between: Any) -> None:
        agent = self.agent
        both: list[tuple[Message, Any]] = [
            (agent.open(is_steer=True)[0], said),
            (agent.open(is_steer=False)[0], "end_turn"),
        ]
        self.do(lambda: agent.answers(both[::-1] if turn_first else both, between))

    @precondition(lambda self: self.agent.open(is_steer=False))
    @rule(
        fallback=st.sampled_from(Fallback), said=st.sampled_from([*[INJECTED] * 20, *STEERED]),
        then=st.sampled_from([None, *UPDATES]), ends=st.booleans(),
    )  # fmt: skip
    def answers_at_once(self, fallback: Fallback, said: Any, then: Any, ends: bool) -> None:
        agent = self.agent
        self.do(agent.flow)
        self.steers(fallback, 1)
        answers = [(one, said) for one in agent.open(is_steer=True)[:1]]
        answers += [(one, "end_turn") for one in agent.open(is_steer=False)[:ends]]
        self.do(lambda: agent.answers(answers, then))

    @precondition(lambda self: any(one.said for one in self.agent.messages))
    @rule(pick=picks, said=st.sampled_from(STEERED))
    def answers_again(self, pick: int, said: Any) -> None:
        agent, answered = self.agent, [one for one in self.agent.messages if one.said]
        self.do(lambda: agent.answer(answered[-1 - pick % len(answered)], said))

    @rule(what=st.sampled_from([*UPDATES, *NOISE]))
    def says(self, what: Any) -> None:
        self.do(lambda: self.agent.update(what) if what in UPDATES else self.agent.say(what))

    @rule()
    def asks(self) -> None:
        self.do(self.agent.ask)

    @precondition(lambda self: self.agent.questions)
    @rule(pick=picks)
    def takes_a_question_back(self, pick: int) -> None:
        agent, questions = self.agent, self.agent.questions
        self.do(lambda: agent.take_back(questions[pick % len(questions)]))

    # -- pipes and processes -----------------------------------------------------------------------------------------

    @rule(
        change=st.sampled_from(
            ["flow", "flow", "flow", "stall", "trickle", "trickle", "ignore", "hold_back", "stammer"]
        )
    )
    def pipes(self, change: str) -> None:
        self.do(getattr(self.agent, change))

    @precondition(lambda self: self.agent.open(is_steer=False))
    @rule(
        fallback=st.sampled_from(Fallback), room=st.sampled_from([0, 50, 150]), seconds=st.sampled_from([0.0, 1.0]),
        then=st.sampled_from(["flow", "die", "exit", "ignore"]),
    )  # fmt: skip
    def steers_into_a_full_pipe(self, fallback: Fallback, room: int, seconds: float, then: str) -> None:
        agent = self.agent
        agent.stdin.room = room
        self.steers(fallback, 1)
        self.time_passes(seconds)
        self.do(getattr(agent, then))

    @precondition(lambda self: self.agent.open(is_steer=False) or self.agent.is_dead)
    @rule(how=st.sampled_from(["die", "die", "cut", "exit", "end_output", "stop_reading"]))
    def dies(self, how: str) -> None:
        self.do(lambda: self.agent.die(lost=20) if how == "cut" else getattr(self.agent, how)())

    # -- time and death ----------------------------------------------------------------------------------------------

    @rule(hurried=st.booleans(), takes=st.sampled_from([0.0, 0.5, 20.0]), fails=st.booleans())
    def circumstances(self, hurried: bool, takes: float, fails: bool) -> None:
        """What the next steps meet: no time to breathe, a slow or a failing start of the agent."""
        self.is_hurried, self.start_takes, self.start_fails = hurried, takes, fails
        self.do(lambda: None)

    @rule(seconds=st.sampled_from([0.001, GRACE / 2, GRACE, 0.5, 1.0, 1.0, 1.0, INTERRUPT, NEVER]))
    def time_passes(self, seconds: float) -> None:
        self.do(lambda: None)
        self.loop.advance(seconds)

    @precondition(lambda self: self.age > 30 and not self.journal.has_gaps)
    @rule()
    def disk_is_full(self) -> None:
        self.journal.refuses = True
        self.do(lambda: None)

    @precondition(lambda self: self.journal.refuses)
    @rule()
    def disk_has_room(self) -> None:
        self.journal.refuses = False
        self.do(lambda: None)

    @precondition(lambda self: self.age > 12)
    @rule()
    def is_killed(self) -> None:
        self.do(lambda: None)
        self.killed()

    @precondition(lambda self: self.conversation.held)
    @rule()
    def goes_on(self) -> None:
        def resume() -> None:
            self.judge.resumed()
            self.ends += self.conversation.resume_queue()

        self.do(resume)
        self.seen["held turns resumed"] += 1
