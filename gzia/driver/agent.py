"""The port between a session and a running agent, whatever its channel is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from gzia.driver.observation import Heard
from gzia.driver.steer import SteerRequest
from gzia.driver.turn import Turn


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """What an agent said about itself when its conversation was opened; raw ACP shapes."""

    agent_session_id: str
    name: str = ""
    version: str = ""
    pid: int = 0
    identity: str = ""
    capabilities: dict[str, Any] = field(default_factory=dict)
    modes: dict[str, Any] | None = None
    config_options: tuple[dict[str, Any], ...] = ()
    steering: str = ""  # the name of the lane by which a running turn can be reached; empty: none


class Listener(Protocol):
    """Who hears an agent.  Called from the agent's read loop, in order, many things at a time."""

    def heard(self, batch: Sequence[Heard]) -> None:
        """Take the next things the agent did.  Must not block."""


class Agent(Protocol):
    """A started agent that holds one conversation.  One turn at a time."""

    @property
    def facts(self) -> AgentFacts: ...

    def prompt(self, turn: Turn) -> None:
        """Send a turn; exactly one PromptObservation (or Lost) follows in the listener's order."""

    def cancel(self) -> None:
        """Ask the agent to stop its turn.  Its answer to the prompt still comes.  Harmless when idle."""

    def reply(self, key: Any, result: Any) -> None:
        """Answer a :class:`~gzia.driver.observation.Question`.  Late answers are dropped."""

    def refuse(self, key: Any, code: int, message: str) -> None:
        """Answer a question with a JSON-RPC error."""

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """Another request of the agent's own protocol, for example ``session/set_mode``.  Raises GziaError."""

    async def close(self) -> int:
        """End the agent and everything it started; the exit status as a shell would show it.  May be called twice."""


@runtime_checkable
class Steerer(Protocol):
    """An agent that may be able to take a message into a running turn; whether it can just now, the outcome says."""

    def steer(self, steer_id: str, request: SteerRequest) -> None:
        """Exactly one SteerObservation with this id follows, within the lane's deadline.

        SteerAdmissionError when too many wait already: then none follows.
        """

    def withdraw(self, steer_id: str) -> bool:
        """Give a steer up, if none of it was handed over: its observation is then ``fallback_required``.

        False: it is too late, or there is no such steer.
        """
