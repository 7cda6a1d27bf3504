"""The pen of a session: where a line cannot be written, what it announces does not happen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gzia.errors import GziaError
from gzia.session.books import Books
from gzia.session.journal import Draft, Journal
from gzia.session.permissions import Permissions


class Pen:
    """Writes the journal of a conversation; ``failed`` is called when the disk refuses."""

    def __init__(
        self, journal: Journal, permissions: Permissions, books: Books, failed: Callable[[GziaError], None]
    ) -> None:
        self.journal = journal
        self._permissions = permissions
        self._books = books
        self._failed = failed

    def write(self, drafts: Sequence[Draft], *, durable: bool = False) -> GziaError | None:
        """Append to the journal and send the answers that waited for that; else give up, and return why."""
        try:
            self.journal.write(drafts, durable=durable)
        except GziaError as error:
            self._permissions.drop()
            self._failed(error)
            return error
        self._permissions.deliver()
        self._books.asking(bool(self._permissions.open))
        return None
