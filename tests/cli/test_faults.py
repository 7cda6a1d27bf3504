"""How an error becomes a sentence, a document and a status."""

from __future__ import annotations

import errno
import json
import signal

import pytest

from gzia import errors
from gzia.cli import faults
from gzia.cli.dispatch import Terminated
from gzia.cli.output import Output, OutputClosed
from gzia.errors import ConflictError, DeadlineError, GziaError, NotFoundError, UsageError


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (GziaError("turn-failed", "x"), 1),
        (UsageError("invalid-arguments", "x"), 2),
        (DeadlineError("timeout", "x"), 3),
        (NotFoundError("session-not-found", "x"), 4),
        (GziaError("permission-refused", "x", status=errors.REFUSED), 5),
        (ConflictError("worktree-dirty", "x"), 6),
        (GziaError("quota", "x", status=errors.QUOTA), 7),
        (PermissionError(errno.EACCES, "no", "/x"), 1),
        (OSError(errno.ENOSPC, "no"), 1),
        (ZeroDivisionError(), 70),
        (FileNotFoundError(errno.ENOENT, "no", "/x"), 70),
        (RecursionError(), 70),
        (SystemExit(0), 70),
        (KeyboardInterrupt(), 130),
        (Terminated(signal.SIGTERM), 143),
        (Terminated(signal.SIGHUP), 129),
    ],
)
def test_every_error_has_its_status_in_both_languages(
    error: BaseException, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    told = faults.report(error, Output())
    words = capfd.readouterr()
    documented = faults.report(error, Output(json=True))
    document = capfd.readouterr()

    assert (told, documented) == (status, status)
    assert (words.out, document.err) == ("", "")
    assert bool(words.err) == bool(document.out) == (status < 100)
    assert "Traceback" not in words.err


def test_a_person_reads_a_sentence_and_a_hint_that_cannot_drive_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    faults.report(GziaError("agent-failed", "It said: \x1b[2J\nmore.", "try \x07"), Output())

    assert capfd.readouterr().err == "Error: It said: \\x1b[2J\\nmore.\nHint: try \\x07\n"


def test_a_program_reads_the_details_too(capfd: pytest.CaptureFixture[str]) -> None:
    faults.report(ConflictError("merge-conflict", "Two files.", "do it", data={"paths": ["a"]}), Output(json=True))

    assert json.loads(capfd.readouterr().out) == {
        "error": {"code": "merge-conflict", "message": "Two files.", "hint": "do it", "paths": ["a"]}
    }


def test_what_the_machine_refused_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    faults.report(PermissionError(errno.EACCES, "no", "/some/file"), Output())

    assert capfd.readouterr().err.splitlines()[0] == "Error: /some/file: Permission denied."


def test_what_was_printed_before_the_error_comes_first(capfd: pytest.CaptureFixture[str]) -> None:
    out = Output(json=True)

    out.document({"id": "done"})
    faults.report(GziaError("x", "y"), out)

    assert json.loads(capfd.readouterr().out.splitlines()[0]) == {"id": "done"}


def test_an_error_for_a_reader_that_has_gone_is_dropped() -> None:
    class Gone(Output):
        def flush(self) -> None:
            raise OutputClosed

    assert faults.report(GziaError("x", "y"), Gone(json=True)) == 141
