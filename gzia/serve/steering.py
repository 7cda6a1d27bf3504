"""``_session/steering`` as an agent answers it: a message into the running turn, and what became of it.

Beside the extension's own params a request may carry ``_meta.gzia``: ``steerId`` (the caller's name for the message),
``fallback`` (``refuse``, ``queue`` or ``interrupt``: what becomes of it when it was surely not delivered) and ``hold``
(true: the same as ``queue``).  The answer's ``_meta.gzia`` says more than the extension's words can: ``outcome`` (see
gzia.driver.steer), ``steerId``, ``writeAdmitted``, ``responseSequence``, ``n`` (the journal line that tells it),
``turn`` (the number of the turn that it became, or null) and ``queued`` (whether it became one).

A message that was kept is answered with ``queued``, which is no word of the extension: ``promptRequired`` would make a
client send it a second time.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from gzia.acp import checking, steering
from gzia.errors import GziaError, UsageError
from gzia.serve.seat import Seat
from gzia.session.conversation import Fallback, SteerAdmissionError, Steered, Steering, SteerRequest

WORDS = {
    "injected": steering.INJECTED,
    "fallback_required": steering.PROMPT_REQUIRED,
    "unsupported": steering.PROMPT_REQUIRED,
    "admission_unknown": steering.DELIVERY_UNKNOWN,
    "delivery_unknown": steering.DELIVERY_UNKNOWN,
    "delivered_untrackable": steering.STARTED_NEW_TURN,
}
QUEUED = "queued"
LONGEST_ID = 200  # characters

Json = dict[str, Any]


class Steer:
    """One request; UsageError when it cannot mean anything."""

    def __init__(self, params: Json) -> None:
        if steering.idle_behavior(params) != steering.PROMPT_REQUIRED:
            raise invalid(f"idleBehavior is not {steering.PROMPT_REQUIRED}")
        own = extras(params)
        self._request = request_of(params.get("prompt"))
        self._steer_id = steer_id_of(own)
        self._fallback = fallback_of(own)
        self._begun: tuple[Seat, Steering] | None = None
        self._is_withdrawn = False

    def begin(self, seat: Seat) -> Awaitable[Json]:
        """Put it into the turn that runs now; the answer comes after all that the client was told before."""
        try:
            one = seat.steer(self._request, self._steer_id, self._fallback)
        except SteerAdmissionError as full:
            return now(answer(Steered(self._steer_id, full.result, error=full)))
        self._begun = seat, one
        if self._is_withdrawn:
            self.withdraw()
        return settled(seat, one)

    def withdraw(self) -> None:
        """The client wants it back.  The answer tells whether that was early enough."""
        self._is_withdrawn = True
        if self._begun:
            seat, one = self._begun
            seat.conversation.withdraw(one.steer_id)


async def settled(seat: Seat, one: Steering) -> Json:
    """The answer, once it is known and all before it was sent."""
    steered = await one.settled
    await seat.reached(steered.n)
    return answer(steered)


async def now(result: Json) -> Json:
    """An answer that is known at once."""
    return result


def answer(steered: Steered) -> Json:
    """The result of the request."""
    result, error = steered.result, steered.error
    is_queued = steered.queued is not None
    about = {
        "outcome": str(result.outcome),
        "steerId": steered.steer_id,
        "writeAdmitted": result.write_admitted,
        "responseSequence": result.response_sequence,
        "queued": is_queued,
        "turn": steered.queued,
        "n": steered.n or None,
    }
    told: Json = {"outcome": QUEUED if is_queued else WORDS[result.outcome], "_meta": {"gzia": about}}
    reason = error.message if error else result.reason
    return {**told, "reason": reason} if reason else told


def extras(params: Json) -> Json:
    """``_meta.gzia`` of a request, checked."""
    meta = params.get("_meta")
    own = meta.get("gzia") if isinstance(meta, dict) else None
    if own is not None and not isinstance(own, dict):
        raise invalid("_meta.gzia is not an object")
    return own or {}


def steer_id_of(own: Json) -> str:
    """The caller's name for a message; empty when it gives none."""
    id = own.get("steerId", "")
    if not isinstance(id, str) or len(id) > LONGEST_ID:
        raise invalid(f"steerId is no text of at most {LONGEST_ID} characters")
    return id


def fallback_of(own: Json) -> Fallback:
    """What becomes of a message that was surely not delivered."""
    if own.get("hold") is True:
        return Fallback.QUEUE
    if own.get("fallback", Fallback.REFUSE) not in list(Fallback):
        raise invalid(f"fallback is none of {', '.join(Fallback)}")
    return Fallback(own.get("fallback", Fallback.REFUSE))


def request_of(prompt: Any) -> SteerRequest:
    """The message; UsageError ``invalid-prompt``."""
    if not isinstance(prompt, list):
        raise invalid("prompt is not a list of content blocks", "invalid-prompt")
    request = SteerRequest(prompt)
    for at, block in enumerate(prompt):
        if fault := checking.check_content(block):
            raise invalid(f"prompt[{at}].{checking.sentence(fault)}", "invalid-prompt")
    return request


def invalid(why: str, code: str = "invalid-params") -> GziaError:
    """The error for params that are not those of the extension."""
    return UsageError(code, f"Invalid params: {why}.", "see github.com/agentclientprotocol/claude-agent-acp/pull/885")
