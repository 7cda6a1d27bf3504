"""A message into a running turn: what is asked, what became of it, and the rules that keep both true.

The outcomes and their cells are the table of gzia/decisions.md, "Steering"; :meth:`SteerResult.validate` enforces it.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, NamedTuple, final

from gzia.driver.turn import Block
from gzia.errors import UsageError

DEPTH = 64  # levels of nesting in a block
REASON_LIMIT = 1024  # bytes of UTF-8
KINDS = ("text", "image", "audio", "resource_link", "resource")  # content blocks of ACP version 1


class SteerOutcome(StrEnum):
    """What became of a steer.  A word of an agent that is not known is never guessed: it is ``delivery_unknown``."""

    INJECTED = "injected"  # the agent says that the running turn has it
    FALLBACK_REQUIRED = "fallback_required"  # proven not delivered
    UNSUPPORTED = "unsupported"  # not tried: no lane, no turn, or not in this form
    ADMISSION_UNKNOWN = "admission_unknown"  # handed over, and not known whether it was written
    DELIVERY_UNKNOWN = "delivery_unknown"  # written, and not known whether it was taken
    DELIVERED_UNTRACKABLE = "delivered_untrackable"  # taken, but outside the turn that can be followed

    @property
    def retry_safe(self) -> bool:
        """Whether the same message may be sent as an ordinary prompt without being seen twice."""
        return self in (SteerOutcome.FALLBACK_REQUIRED, SteerOutcome.UNSUPPORTED)

    @property
    def ends_steering(self) -> bool:
        """Whether what the agent holds is no longer known, so that its process gets no further steer."""
        return self in (
            SteerOutcome.ADMISSION_UNKNOWN,
            SteerOutcome.DELIVERY_UNKNOWN,
            SteerOutcome.DELIVERED_UNTRACKABLE,
        )


@final
class SteerRequest:
    """An immutable prompt for a running turn.  Its blocks are copied in and copied out.

    UsageError ``invalid-prompt``: no blocks, an unknown type, an empty text, nesting deeper than :data:`DEPTH`, a
    cycle, or a value that JSON does not have.
    """

    __slots__ = ("_blocks",)

    def __init__(self, blocks: Sequence[Block]) -> None:
        if not blocks:
            raise invalid("The message is empty.")
        for at, block in enumerate(blocks):
            _check(block, at)
        if not any(block["type"] != "text" or block["text"].strip() for block in blocks):
            raise invalid("The message is empty.")
        self._blocks = copy.deepcopy(list(blocks))

    @property
    def blocks(self) -> list[Block]:
        """The content blocks; the caller's own copy."""
        return copy.deepcopy(self._blocks)

    @property
    def text(self) -> str | None:
        """The whole message as text, for lanes that take nothing else; None when it holds more than text."""
        if any(block["type"] != "text" for block in self._blocks):
            return None
        return "\n".join(block["text"] for block in self._blocks)


class SteerResult(NamedTuple):
    """What became of one steer.

    ``write_admitted``: the last byte of its frame was accepted by the agent's pipe.  ``receive_sequence`` equals
    ``response_sequence``: the number of the line that settled it, 0 when none did.  ``order_sequence`` is its place in
    the stream.
    """

    outcome: SteerOutcome
    reason: str = ""
    write_admitted: bool = False
    receive_sequence: int = 0
    response_sequence: int = 0
    order_sequence: int = 0

    def validate(self) -> SteerResult:
        """Itself; ValueError when a cell of the table is broken."""
        admitted, answered = self.write_admitted, self.response_sequence != 0
        allowed = {
            SteerOutcome.INJECTED: admitted and answered,
            SteerOutcome.FALLBACK_REQUIRED: admitted == answered,
            SteerOutcome.UNSUPPORTED: not admitted and not answered,
            SteerOutcome.ADMISSION_UNKNOWN: not admitted and not answered,
            SteerOutcome.DELIVERY_UNKNOWN: admitted,
            SteerOutcome.DELIVERED_UNTRACKABLE: admitted and answered,
        }[SteerOutcome(self.outcome)]
        if not allowed:
            raise ValueError(f"{self.outcome} with write_admitted={admitted}, response {self.response_sequence}")
        if self.receive_sequence != self.response_sequence:
            raise ValueError(f"received {self.receive_sequence} is not response {self.response_sequence}")
        if min(self.receive_sequence, self.order_sequence) < 0:
            raise ValueError("a sequence below 0")
        if len(self.reason.encode("utf-8", "replace")) > REASON_LIMIT:
            raise ValueError("a reason that is too long")
        return self


def bounded(reason: str) -> str:
    """A reason cut to :data:`REASON_LIMIT` bytes."""
    return reason.encode("utf-8", "replace")[:REASON_LIMIT].decode("utf-8", "ignore")


def invalid(message: str) -> UsageError:
    """The error for a message that cannot be sent."""
    return UsageError("invalid-prompt", message, "give a text, or content blocks of ACP version 1")


def _check(block: Any, at: int) -> None:
    if not isinstance(block, dict) or block.get("type") not in KINDS:
        kind = block.get("type") if isinstance(block, dict) else type(block).__name__
        raise invalid(f"Block {at} of the message has the unknown type “{str(kind)[:40]}”.")
    if block["type"] == "text" and not isinstance(block.get("text"), str):
        raise invalid(f"Block {at} of the message has no text.")
    _check_value(block, at, 1, set())


def _check_value(value: Any, at: int, depth: int, above: set[int]) -> None:
    if isinstance(value, dict | list | tuple):
        if depth > DEPTH:
            raise invalid(f"Block {at} of the message is nested deeper than {DEPTH} levels.")
        if id(value) in above:
            raise invalid(f"Block {at} of the message contains itself.")
        if isinstance(value, dict) and not all(isinstance(key, str) for key in value):
            raise invalid(f"Block {at} of the message has a key that is no text.")
        inside = {*above, id(value)}
        for part in value.values() if isinstance(value, dict) else value:
            _check_value(part, at, depth + 1, inside)
    elif not (value is None or isinstance(value, str | int | float)) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        raise invalid(f"Block {at} of the message holds a value that JSON does not have.")
