"""What can go wrong in a way that a person can act on.

Every such error has a kebab-case ``code`` (scripts match on it), one plain sentence that says what happened, a ``hint``
that says what to do or to type, and the exit status of the command.  Anything else that is raised is a bug in gzia.

The sentence ends in a full stop; what another program said comes last, after a colon, and ends as it ends.  The hint
can be read alone; it begins in lower case and has no full stop, for it likes to end in a command.  Quotes are “…”.
"""

from __future__ import annotations

from typing import Any

OK, FAILED, USAGE, DEADLINE, NOT_FOUND, REFUSED, CONFLICT, QUOTA, BUG = 0, 1, 2, 3, 4, 5, 6, 7, 70
INTERRUPTED = 130


class GziaError(Exception):
    """An error that the user can act on.

    ``data`` holds machine-readable details (JSON values only), for example the paths in conflict.
    """

    status = FAILED

    def __init__(
        self, code: str, message: str, hint: str = "", *, status: int | None = None, data: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.exit_status = self.status if status is None else status
        self.data = data or {}

    def document(self) -> dict[str, Any]:
        """The error as ``--json`` prints it: ``{"error": {"code", "message", "hint", …data}}``."""
        return {"error": {**self.data, "code": self.code, "message": self.message, "hint": self.hint}}


class UsageError(GziaError):
    """The command line or the settings cannot mean anything."""

    status = USAGE


class DeadlineError(GziaError):
    """A time limit passed."""

    status = DEADLINE


class NotFoundError(GziaError):
    """A session, an agent program or a release is not there."""

    status = NOT_FOUND


class ConflictError(GziaError):
    """Somebody else's work is in the way: a conflict, a dirty checkout, a busy session, a held lock."""

    status = CONFLICT
