"""Messages into the running turn: each is written down, tried once, and told what became of it.

Nothing is ever sent a second time unless it is proven that the first was not delivered and the caller asked for that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, NamedTuple

from gzia.agents.steering import LAST_WORDS
from gzia.driver.agent import Steerer
from gzia.driver.errors import SteerAdmissionError
from gzia.driver.observation import PromptObservation, SteerObservation, UpdateObservation
from gzia.driver.steer import SteerOutcome, SteerRequest, SteerResult
from gzia.errors import ConflictError, GziaError
from gzia.session import lines, notes
from gzia.session.journal import Draft
from gzia.session.link import Link
from gzia.session.queue import Queue
from gzia.session.runner import Runner
from gzia.session.turns import Fallback, Running
from gzia.session.writing import Pen


class Steered(NamedTuple):
    """What became of a steer.

    ``queued``: the number of the turn that it became.  ``n``: the number of its journal line, 0 when that could not be
    written.  ``error`` says more: of the agent, or why it did not become a turn (``queue-full``).
    """

    steer_id: str
    result: SteerResult
    queued: int | None = None
    n: int = 0
    error: GziaError | None = None


class Steering:
    """A steer on its way; ``turn`` is the one that ran when it was asked."""

    def __init__(self, steer_id: str, fallback: Fallback, turn: int | None) -> None:
        loop = asyncio.get_running_loop()
        self.steer_id = steer_id
        self.fallback = fallback
        self.turn = turn
        self.shown: notes.Shown | None = None  # what the agent has done since it said that it has it
        self.result: asyncio.Future[Steered] = loop.create_future()
        self.note: asyncio.Future[dict[str, Any] | None] = loop.create_future()

    @property
    def settled(self) -> asyncio.Future[Steered]:
        """What became of it.  It always comes, never raises, and may be cancelled."""
        return asyncio.shield(self.result)

    @property
    def noted(self) -> asyncio.Future[dict[str, Any] | None]:
        """The note (``steer_id``, ``acted``, ``evidence``) after the end of the turn; None when there is none."""
        return asyncio.shield(self.note)


class Steers:
    """The steers of one conversation.  ``known`` are the ids that were used before."""

    def __init__(self, queue: Queue, link: Link, pen: Pen, runner: Runner, known: Iterable[str]) -> None:
        self.unproven: list[Steering] = []  # with the agent, and nothing came of them yet
        self._queue = queue
        self._link = link
        self._pen = pen
        self._runner = runner
        self._ids = set(known)
        self._open: dict[str, tuple[Steering, SteerRequest]] = {}
        self._injected: list[Steering] = []  # those of the running turn
        self._resolved: list[tuple[Steering, Steered, int]] = []  # with the place of their line among the drafts
        self._noted: list[tuple[Steering, dict[str, Any]]] = []

    # -- what a client does ------------------------------------------------------------------------------------------

    def steer(self, request: SteerRequest, steer_id: str, fallback: Fallback) -> Steering:
        """See :meth:`gzia.session.conversation.Conversation.steer`."""
        agent, running = self._link.steerer, self._queue.running
        turn = running.number if running and running.is_reachable else None
        steering = Steering(steer_id or self._minted(), fallback, turn)
        if steering.steer_id in self._ids:
            message = f"There was a message {steering.steer_id} in this session already."
            raise ConflictError("steer-id-taken", message, "give it another id, or none")
        asked = lines.steer_asked(steering.steer_id, request.blocks, fallback, turn)
        self._open[steering.steer_id] = steering, request
        if turn is None:
            self._refuse(steering, asked, "no turn is running")
        elif agent is None:
            self._refuse(steering, asked, "this agent takes no message into a running turn")
        else:
            self._keep(steering, [asked])
            self._try(agent, steering, request)
        return steering

    def withdraw(self, steer_id: str) -> bool:
        """See :meth:`gzia.session.conversation.Conversation.withdraw`."""
        if steer_id not in self._open:
            return False
        steering, _ = self._open[steer_id]
        steering.fallback = Fallback.REFUSE  # whoever takes it back does not want it later
        agent = self._link.steerer
        return agent is not None and agent.withdraw(steer_id)

    def renounce(self) -> None:
        """After a cancel, none of those that are open becomes a turn."""
        for steering, _ in self._open.values():
            steering.fallback = Fallback.REFUSE

    def _minted(self) -> str:
        number = len(self._ids) + 1
        while f"s{number}" in self._ids:
            number += 1
        return f"s{number}"

    def _keep(self, steering: Steering, drafts: list[Draft]) -> None:
        """Write what was asked; when that fails, it was not asked."""
        try:
            self._pen.journal.write(drafts, durable=True)
        except GziaError:
            self._open.pop(steering.steer_id, None)
            self._resolved.clear()
            self._queue.forget()
            raise
        self._ids.add(steering.steer_id)

    def _try(self, agent: Steerer, steering: Steering, request: SteerRequest) -> None:
        if self._is_answered_last:
            self.unproven.append(steering)
        try:
            agent.steer(steering.steer_id, request)
        except SteerAdmissionError as full:
            drafts: list[Draft] = []
            result = full.result._replace(order_sequence=self._link.sequencer.local())
            queues = steering.fallback is not Fallback.REFUSE
            self.observed(SteerObservation(steering.steer_id, result, None if queues else full), drafts)
            first = self._pen.journal.n + 1
            self.written(0 if self._pen.write(drafts, durable=True) else first)
            if not queues:
                raise

    def _refuse(self, steering: Steering, asked: Draft, why: str) -> None:
        """Nothing is tried; all that there is to say of it stands in one write."""
        drafts = [asked]
        result = SteerResult(SteerOutcome.UNSUPPORTED, why, order_sequence=self._link.sequencer.local())
        self.observed(SteerObservation(steering.steer_id, result), drafts)
        first = self._pen.journal.n + 1
        self._keep(steering, drafts)
        self.written(first, soon=False)

    # -- what the agent does -----------------------------------------------------------------------------------------

    @property
    def _is_answered_last(self) -> bool:
        return self._link.facts.steering in LAST_WORDS

    def observed(self, item: SteerObservation, drafts: list[Draft]) -> None:
        """What became of one: add its lines, and those of the turn that it becomes.  :meth:`written` comes next."""
        if item.steer_id not in self._open:
            return  # told already
        steering, request = self._open.pop(item.steer_id)
        steered = Steered(item.steer_id, item.result, error=item.error)
        turn: list[Draft] = []
        if item.result.outcome.retry_safe and steering.fallback is not Fallback.REFUSE:
            steered, turn = self._as_turn(steering, request, steered)
        self._resolved.append((steering, steered, len(drafts)))
        drafts += [lines.steer(item.steer_id, item.result, steered.error, steering.turn), *turn]
        if item.result.outcome is SteerOutcome.INJECTED:
            self._inject(steering, drafts)
            return
        if steering in self.unproven:
            self.unproven.remove(steering)
        if item.result.outcome is SteerOutcome.DELIVERED_UNTRACKABLE:
            self._link.untracked = item.steer_id
            drafts.append(lines.untracked(item.steer_id))

    def _as_turn(self, steering: Steering, request: SteerRequest, steered: Steered) -> tuple[Steered, list[Draft]]:
        is_urgent = steering.fallback is Fallback.INTERRUPT
        try:
            turn, drafts = self._runner.draft(request.blocks, steering.steer_id, is_urgent=is_urgent)
        except GziaError as refused:
            return steered._replace(error=refused), []
        return steered._replace(queued=turn.number), drafts

    def _inject(self, steering: Steering, drafts: list[Draft]) -> None:
        running = self._queue.running
        if running and running.number == steering.turn:
            self._injected.append(steering)
            if not self._is_answered_last:
                self.unproven.append(steering)
        else:
            self._note(steering, notes.Note("unknown", "the turn had ended before"), drafts)

    def saw(self, turn: Running, item: UpdateObservation) -> None:
        """An update of the running turn, while some are unproven; before the turn itself sees it."""
        shown = notes.evidence(item, turn.begun, "it was sent" if self._is_answered_last else "the ack")
        if shown:
            for steering in self.unproven:
                steering.shown = shown
            if shown.is_new:
                self.unproven.clear()

    def ended(self, turn: Running, observation: PromptObservation, drafts: list[Draft]) -> None:
        """A turn is over: add the notes of what was injected into it."""
        for steering in self._injected:
            failed = observation.error is not None
            note = notes.judge(steering.shown, turn.stop_reason(observation), failed=failed)
            self._note(steering, note, drafts)
        self._injected.clear()
        self.unproven.clear()

    def _note(self, steering: Steering, note: notes.Note, drafts: list[Draft]) -> None:
        drafts.append(lines.steer_note(steering.steer_id, note, steering.turn))
        self._noted.append((steering, {"steer_id": steering.steer_id, **note._asdict()}))

    def lost(self, drafts: list[Draft]) -> None:
        """The agent is gone, and with it what is still open, or the turn that nobody owns."""
        for steer_id in list(self._open):
            self.observed(SteerObservation(steer_id, self._unknown("the agent is gone")), drafts)
        if self._link.untracked:
            drafts.append(lines.untracked_ended(self._link.untracked, ""))
            self._link.untracked = ""

    def _unknown(self, why: str) -> SteerResult:
        return SteerResult(SteerOutcome.ADMISSION_UNKNOWN, why, order_sequence=self._link.sequencer.local())

    @property
    def has_turns(self) -> bool:
        """Whether a steer became a turn, so that its lines must not be lost."""
        return any(steered.queued for _, steered, _ in self._resolved)

    # -- what was written --------------------------------------------------------------------------------------------

    def written(self, first: int, *, soon: bool = True) -> None:
        """The drafts are lines from number ``first`` on (0: they could not be written): tell those who wait.

        ``soon``: see :meth:`gzia.session.runner.Runner.confirm`.
        """
        is_turn = self.has_turns
        resolved, self._resolved = self._resolved, []
        noted, self._noted = self._noted, []
        running = self._queue.running
        if first and is_turn:
            self._runner.confirm(soon=soon)
        for steering, steered, at in resolved:
            self._tell(steering, steered._replace(n=first + at) if first else steered._replace(queued=None))
            if first and steered.queued and steering.fallback is Fallback.INTERRUPT:
                asyncio.get_running_loop().call_soon(self._runner.interrupt, running)
        for steering, note in noted:
            steering.note.set_result(note if first else None)

    def _tell(self, steering: Steering, steered: Steered) -> None:
        steering.result.set_result(steered)
        if steered.result.outcome is not SteerOutcome.INJECTED:
            steering.note.set_result(None)

    def abandon(self) -> None:
        """Nothing can be written down any more, and the agent is not heard any more."""
        self._queue.forget()
        for steering, _ in self._open.values():
            self._tell(steering, Steered(steering.steer_id, self._unknown("it could not be written down")))
        self._open.clear()
        for steering in self._injected:
            steering.note.set_result(None)
        self._injected.clear()
        self.unproven.clear()
