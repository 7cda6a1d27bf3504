"""What a session sees of an agent, in one order.

An agent's connection numbers each response and notification as its line arrives (``receive_sequence``, from 1; 0 means
that nothing was received).  ``order_sequence`` is the effective key along the stream and never goes down.
"""

from __future__ import annotations

from typing import Any, NamedTuple, final

from gzia.driver.steer import SteerResult
from gzia.errors import GziaError

Event = dict[str, Any]  # {"kind": "text_delta", "text": …} and so on: short, derived from the update


@final
class UpdateObservation(NamedTuple):
    """One update of the agent: ``event`` is its short form, ``text`` the raw JSON of the update, untouched."""

    event: Event
    text: str
    receive_sequence: int
    order_sequence: int


@final
class PromptObservation(NamedTuple):
    """The end of a turn.  ``error`` is set when no result came; then ``stop_reason`` is empty."""

    stop_reason: str
    result: dict[str, Any]
    write_admitted: bool
    receive_sequence: int
    order_sequence: int
    error: GziaError | None = None

    @property
    def response_sequence(self) -> int:
        """The number of the response's line; 0 when there was none."""
        return self.receive_sequence


@final
class SteerObservation(NamedTuple):
    """What became of one accepted steer: exactly one for each, before the PromptObservation of its turn.

    ``steer_id`` is the caller's.  ``error`` says more where the agent gave one.
    """

    steer_id: str
    result: SteerResult
    error: GziaError | None = None

    @property
    def order_sequence(self) -> int:
        """The effective key in the stream."""
        return self.result.order_sequence


@final
class PromptAnswered(NamedTuple):
    """The agent has answered its prompt while a steer is unresolved.

    What follows belongs to no turn any more; the steer's observation and then the PromptObservation come within the
    grace of the lane.
    """


@final
class Question(NamedTuple):
    """The agent asks its client something and waits: a permission, a file, a terminal.

    ``key`` is what :meth:`gzia.driver.agent.Agent.reply` wants back.
    """

    key: Any
    method: str
    params: dict[str, Any]


@final
class QuestionWithdrawn(NamedTuple):
    """The agent no longer wants an answer (``$/cancel_request``)."""

    key: Any


@final
class Notice(NamedTuple):
    """A notification that is no update, passed on untouched."""

    method: str
    params: Any
    receive_sequence: int


@final
class Unreadable(NamedTuple):
    """A line of the agent was lost, because it broke the protocol; ``why`` is the end of a sentence."""

    why: str


@final
class Lost(NamedTuple):
    """The agent is gone; nothing follows.  ``write_admitted``: its pipe had taken all of the last prompt."""

    error: GziaError
    write_admitted: bool = True


Observation = PromptObservation | UpdateObservation | SteerObservation

Heard = Observation | PromptAnswered | Question | QuestionWithdrawn | Notice | Unreadable | Lost


class Sequencer:
    """Mints the effective order of one stream: never down, whatever the connection's numbers do."""

    def __init__(self, last: int = 0) -> None:
        self.last = last

    def received(self, receive_sequence: int) -> int:
        """The order of something that came over the wire."""
        if receive_sequence > self.last:
            self.last = receive_sequence
        return self.last

    def local(self) -> int:
        """The order of something that this side made: a timeout, a local refusal."""
        self.last += 1
        return self.last
