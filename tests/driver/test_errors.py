"""Errors as a caller of the driver tells them apart."""

from __future__ import annotations

from gzia.driver.errors import DecodeError, DriverError, ExitError, HistoryError, SpawnError, SteerAdmissionError
from gzia.driver.steer import SteerOutcome
from gzia.errors import QUOTA, ConflictError, GziaError

CAUSE = GziaError("quota-exhausted", "It has none left.", "try again later", status=QUOTA, data={"left": 0})


def test_an_error_seen_as_a_kind_says_what_its_cause_says() -> None:
    for kind in (SpawnError, DecodeError, ExitError, HistoryError):
        error = kind.of(CAUSE)

        assert type(error) is kind
        assert isinstance(error, DriverError)
        assert (error.document(), error.exit_status) == (CAUSE.document(), QUOTA)
        assert error.__cause__ is CAUSE


def test_the_exit_code_is_what_a_shell_would_show() -> None:
    killed = GziaError("agent-exited", "It is gone.", data={"status": 137})

    assert (ExitError.of(killed).exit_code, ExitError.of(CAUSE).exit_code) == (137, 1)


def test_one_that_was_not_accepted_can_be_shown_as_not_delivered() -> None:
    error = SteerAdmissionError(128)

    assert isinstance(error, ConflictError)
    assert error.code == "steering-full"
    assert error.result.validate()[:2] == (SteerOutcome.FALLBACK_REQUIRED, error.message)
