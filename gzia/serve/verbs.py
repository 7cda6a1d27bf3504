"""What every client can do in a session that it has open, as handlers of its requests.

Beside ACP's own methods there are ``_session/steering`` (serve/steering.py) and, for scripts and other terminals:

    _gzia/cancel {sessionId}                         -> {running: turn or null, dropped: [turns that waited]}
    _gzia/state {sessionId}                          -> {state, turn: that runs or null, waiting: [turns], attached}
    _gzia/answer {sessionId, permissionId, outcome}  -> {taken}: whether nobody was faster; outcome as in ACP
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from gzia.acp import steering
from gzia.acp.methods import SESSION_PROMPT, SESSION_SET_MODE
from gzia.errors import GziaError, UsageError
from gzia.serve.chain import Chain
from gzia.serve.desk import Begun, Handler
from gzia.serve.seat import Seat
from gzia.serve.steering import Steer
from gzia.system.tasks import told

Json = dict[str, Any]

CANCEL, STATE, ANSWER = "_gzia/cancel", "_gzia/state", "_gzia/answer"
EXTENSIONS = frozenset({steering.METHOD, CANCEL, STATE, ANSWER})


class Place(Protocol):
    """A session as one client has it open; ``chain`` orders what it asks for."""

    @property
    def chain(self) -> Chain: ...

    @property
    def seat(self) -> Seat: ...


def handlers(place: Callable[[Json], Place]) -> dict[str, Handler]:
    """The handlers; ``place`` gives the session that the params name, or raises GziaError."""
    return {
        SESSION_PROMPT: lambda params: prompt(place(params), params["prompt"]),
        SESSION_SET_MODE: lambda params: set_mode(place(params), params["modeId"]),
        steering.METHOD: lambda params: steer(place(params), params),
        CANCEL: lambda params: result(place(params).seat.cancel()),
        STATE: lambda params: result(place(params).seat.state()),
        ANSWER: lambda params: result(answer(place(params).seat, params)),
    }


async def result(value: Json) -> Json:
    """A result that is there at once."""
    return value


def prompt(place: Place, blocks: list[Json]) -> Begun:
    """Register a turn, at once unless a change is under way; its answer comes after all that the turn said."""
    return Begun(place.chain.enter(lambda: place.seat.prompt(blocks)), lambda: cancel(place))


def steer(place: Place, params: Json) -> Begun:
    """Put a message into the running turn, at once unless a change is under way."""
    one = Steer(params)
    return Begun(place.chain.enter(lambda: one.begin(place.seat)), one.withdraw)


def set_mode(place: Place, mode: str) -> Awaitable[Json]:
    """Put the agent into one of its own modes."""
    return place.chain.then(lambda: place.seat.set_mode(mode))


def cancel(place: Place) -> None:
    """Stop the running turn and those that wait, after what was asked for before."""

    def stop() -> None:
        with contextlib.suppress(GziaError):  # a session that could not be started again has no turns
            place.seat.conversation.cancel()

    async def later() -> None:
        stop()

    if place.chain.is_idle:
        stop()
    else:
        place.chain.then(later).add_done_callback(told)


def answer(seat: Seat, params: Json) -> Json:
    """Answer a question that any client may answer."""
    outcome, id = params.get("outcome"), params.get("permissionId")
    if not isinstance(id, str):
        raise UsageError("invalid-params", "permissionId is not a text.", "take it from the journal's permission line")
    if not isinstance(outcome, dict) or not (outcome.get("outcome") == "cancelled" or is_choice(outcome)):
        raise UsageError(
            "invalid-params", "outcome is none of ACP.", 'give {"outcome":"selected","optionId":…} or "cancelled"'
        )
    return {"taken": seat.answer(id, outcome)}


def is_choice(outcome: Json) -> bool:
    """Whether an outcome names an option."""
    return outcome.get("outcome") == "selected" and isinstance(outcome.get("optionId"), str)
