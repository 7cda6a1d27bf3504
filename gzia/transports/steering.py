"""Messages into the running turn of an ACP agent: the lane's decisions as frames, and the agent's frames as its facts.

Everything here happens in one event loop, so that the writer, the lane and whoever gives a message up see one order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from gzia.acp import content, steering
from gzia.acp.client import ClientSide
from gzia.acp.events import Answer, Refused
from gzia.agents.steering import WAYS, Ask, Kind, Sign, Way, meta_of, way_of, worded
from gzia.driver.lane import Attempt, Lane, Terms, Verdict
from gzia.driver.observation import Sequencer, SteerObservation
from gzia.driver.steer import SteerRequest
from gzia.system.pump import Writer

ACP = Way(
    "acp",
    steering.METHOD,
    lambda ask: steering.params(ask.session_id, ask.blocks),
    worded(
        "outcome",
        {
            steering.INJECTED: Verdict.INJECTED,
            steering.PROMPT_REQUIRED: Verdict.NOT_TAKEN,
            steering.FAILED: Verdict.NOT_TAKEN,
            steering.STARTED_NEW_TURN: Verdict.NEW_TURN,
        },
    ),
    advertised=steering.is_advertised,
)
DRAINS = frozenset(way.method for way in WAYS if way.kind is Kind.DRAIN)
NO_WAY = "this agent takes no message into a running turn"
TEXT_ONLY = "this agent takes text only into a running turn"
NO_RUN = "the agent has not named its running turn"


class Steering:
    """The lane of one agent process.  ``changed`` is called when :meth:`take` has something outside of what is read."""

    def __init__(self, client: ClientSide, writer: Writer, sequencer: Sequencer, changed: Callable[[], None]) -> None:
        self.session_id = ""
        self.is_watching = False  # whether signs of the agent matter now
        self.has_untracked_turn = False
        self._client = client
        self._writer = writer
        self._sequencer = sequencer
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._way: Way | None = None
        self._takes: dict[str, Any] = {}  # the agent's promptCapabilities
        self._lane = Lane(sequencer, self._loop.time)
        self._asked: dict[int, Ask] = {}  # our open requests
        self._proofs: dict[str, Ask] = {}  # what is with the agent and waits for a sign
        self._run_id = ""
        self._timer: asyncio.TimerHandle | None = None
        self._waits_for_room = False
        self._is_stopping = False

    def begin(self, session_id: str, hello: dict[str, Any]) -> str:
        """The conversation is open: choose the lane by the answer to ``initialize``; its name, or empty."""
        self.session_id = session_id
        self._way = way_of(hello, (ACP, *WAYS))
        self._takes = (hello.get("agentCapabilities") or {}).get("promptCapabilities") or {}
        self._lane = Lane(self._sequencer, self._loop.time, self._way.terms if self._way else Terms())
        self._watch()
        return self._way.name if self._way else ""

    # -- the turn ----------------------------------------------------------------------------------------------------

    @property
    def is_settled(self) -> bool:
        """Whether no steer is unresolved."""
        return self._lane.is_settled

    @property
    def has_prompts(self) -> bool:
        """Whether a second prompt is still unanswered, so that the turn goes on."""
        return self._way is not None and self._way.kind is Kind.PROMPT and bool(self._asked)

    def turn_began(self) -> None:
        """A prompt was sent."""
        self.has_untracked_turn = self._is_stopping = False
        self._lane.turn_began()

    def turn_stopping(self) -> None:
        """A cancel was sent: what the agent does now need not have anything to do with a message."""
        self._is_stopping = True
        if self._way and not self._way.names_it:
            self._proofs.clear()
        self._watch()
        self._lane.turn_stopping()
        self._settle()

    def turn_ended(self) -> None:
        """The prompt was answered."""
        self._lane.turn_ended()
        self._settle(soon=False)

    def gone(self) -> None:
        """The process ended."""
        self._lane.gone()
        self._settle(soon=False)

    # -- a steer -----------------------------------------------------------------------------------------------------

    def steer(self, steer_id: str, request: SteerRequest) -> None:
        """See gzia.driver.agent.Steerer."""
        self._lane.accept(steer_id, request, self._refused(request))
        self._hand()
        self._settle()

    def withdraw(self, steer_id: str) -> bool:
        """See gzia.driver.agent.Steerer."""
        done = self._lane.withdraw(steer_id)
        self._hand()
        self._settle()
        return done

    def _refused(self, request: SteerRequest) -> str:
        if self._way is None:
            return NO_WAY
        if self._unreachable:
            return self._unreachable
        if self._way.text_only and request.text is None:
            return TEXT_ONLY
        if self._way.needs_run and not self._run_id:
            return NO_RUN
        return content.unsupported(request.blocks, self._takes) or ""

    @property
    def _unreachable(self) -> str:
        """Why the process can be told nothing, or can tell nothing, although it may still be there."""
        if self._client.closed:
            return "the agent has closed its output"
        return "the agent has closed its input" if self._writer.is_closed else ""

    def _hand(self) -> None:
        """Give the writer what may go now; while it is busy nothing is given, so that it can be called back."""
        if self._way is None or self._way.kind is Kind.DRAIN or self._lane.is_settled:
            return
        while not (self._unreachable or self._writer.pending):
            given = self._lane.hand(1)
            if not given:
                return
            self._send(given[0], self._way)
        if self._writer.pending and not self._waits_for_room:
            self._waits_for_room = True
            self._writer.when_written(self._has_room)

    def _send(self, attempt: Attempt, way: Way) -> None:
        ask = self._ask(attempt)
        self._asked[self._client.request(way.method, way.params(ask))] = ask
        if way.names_it:
            self._expect(ask)
        self._writer.write(self._client.data_to_send())
        self._writer.when_written(partial(self._lane.written, attempt.steer_id))

    def _has_room(self) -> None:
        self._waits_for_room = False
        self._hand()
        self._settle()

    def _ask(self, attempt: Attempt) -> Ask:
        return Ask(self.session_id, attempt.steer_id, attempt.request.blocks, self._run_id)

    def _expect(self, ask: Ask) -> None:
        """From now on a sign may show that the turn has it."""
        if self._way and self._way.proof and (self._way.names_it or not self._is_stopping):
            self._proofs[ask.steer_id] = ask
        self._watch()

    def _watch(self) -> None:
        self.is_watching = bool(self._proofs) or bool(self._way and self._way.needs_run)

    # -- what the agent does -----------------------------------------------------------------------------------------

    def answered(self, event: Answer | Refused) -> bool:
        """Take an answer, if it is one to a steer."""
        ask = self._asked.pop(event.id, None)
        if ask is None or self._way is None:
            return False
        if isinstance(event, Answer):
            verdict, reason = self._way.read(event.result)
        else:
            refused = event.error.code in self._way.refusals
            verdict = Verdict.NOT_TAKEN if refused else Verdict.UNKNOWN
            reason = f"the agent answered with error {event.error.code}: {event.error.message}"
        self.has_untracked_turn = self.has_untracked_turn or verdict is Verdict.NEW_TURN
        self._lane.answered(ask.steer_id, verdict, event.seq, reason)
        if verdict is Verdict.TAKEN:
            self._expect(ask)
        self._settle(soon=False)
        return True

    def go_on(self) -> None:
        """After all of one read: the next one may go, unless the turn ended in it."""
        if not self._lane.is_settled:
            self._hand()
            self._settle()

    def ends_turn(self, event: Answer | Refused) -> bool:
        """Whether a turn may end with this answer: one to a second prompt that was part of it."""
        if self._way is None or self._way.kind is not Kind.PROMPT or event.method != self._way.method:
            return False
        return isinstance(event, Answer) or event.error.code not in self._way.refusals

    def drained(self, key: Any, method: str) -> bool:
        """Answer the agent's own question for what waits, if that is its lane and this the question."""
        if self._way is None or self._way.kind is not Kind.DRAIN or method != self._way.method:
            return False
        asks = [self._ask(attempt) for attempt in ([] if self._writer.pending else self._lane.hand())]
        texts = [text for ask in asks for text in self._way.params(ask)["messages"]]
        self._client.reply(key, {"messages": texts, "hasQueuedPrompt": False})
        self._writer.write(self._client.data_to_send())
        for ask in asks:
            self._writer.when_written(partial(self._given, ask))
        return True

    def _given(self, ask: Ask) -> None:
        """The agent has asked for it and got it; that it came in time, only what the agent does can show."""
        self._lane.written(ask.steer_id)
        self._lane.answered(ask.steer_id, Verdict.TAKEN, 0)
        self._expect(ask)
        self._settle()

    def saw(self, body: Any, sequence: int) -> None:
        """An update, by whatever notification it came; only while ``is_watching``."""
        if self._way is None or not isinstance(body, dict):
            return
        sign = Sign(str(body.get("sessionUpdate", "")), body)
        if self._way.needs_run:
            self._note_run(body)
        for steer_id, ask in list(self._proofs.items()):
            if self._way.proof and self._way.proof(sign, ask):
                self._lane.proved(steer_id, sequence)
        self._settle(soon=False)

    def _note_run(self, body: dict[str, Any]) -> None:
        own = meta_of(body, self._way.name) if self._way else {}
        if "activeRunId" in own:
            self._run_id = str(own["activeRunId"] or "")

    # -- what became of them -----------------------------------------------------------------------------------------

    def take(self) -> list[SteerObservation]:
        """What was resolved since the last call."""
        resolved = self._lane.take()
        for one in resolved:
            self._proofs.pop(one.steer_id, None)
        if resolved:
            self._watch()
        return resolved

    def _settle(self, *, soon: bool = True) -> None:
        """After anything that may resolve: forget, set the clock, and tell (``soon``: nobody takes it by himself)."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        due = self._lane.due()
        if due is not None:
            self._timer = self._loop.call_at(due, self._check)
        if soon and self._lane.has_resolved:
            self._loop.call_soon(self._changed)

    def _check(self) -> None:
        self._timer = None
        self._lane.check()
        self._hand()
        self._settle()
