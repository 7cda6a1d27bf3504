"""What can go wrong between a session and whatever runs its turns, as kinds that a caller can tell apart.

Each is a GziaError with the code, the message and the hint of what happened.
"""

from __future__ import annotations

from typing import Self

from gzia.driver.steer import SteerOutcome, SteerResult
from gzia.errors import FAILED, ConflictError, GziaError


class DriverError(GziaError):
    """A GziaError seen from the driver's contract."""

    @classmethod
    def of(cls, cause: GziaError) -> Self:
        """The same error as this kind."""
        error = cls(cause.code, cause.message, cause.hint, status=cause.exit_status, data=cause.data)
        error.__cause__ = cause
        return error


class SpawnError(DriverError):
    """The agent could not be started."""


class DecodeError(DriverError):
    """What the agent sent could not be read, or came in an order that cannot be true."""


class ExitError(DriverError):
    """The agent's process ended when it should not have."""

    @property
    def exit_code(self) -> int:
        """Its exit status as a shell would show it; 1 when that is not known."""
        status = self.data.get("status")
        return status if isinstance(status, int) else FAILED


class HistoryError(DriverError):
    """What was said before could not be read."""


class SteerAdmissionError(ConflictError):
    """Too many steers wait: this one was not accepted, so no observation follows.  ``result`` may be shown for it."""

    def __init__(self, limit: int) -> None:
        message = f"{limit} messages to this turn are waiting already."
        super().__init__("steering-full", message, "wait until the agent has taken some of them")
        self.result = SteerResult(SteerOutcome.FALLBACK_REQUIRED, message)
