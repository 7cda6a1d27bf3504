"""The session records of one project, a file each, read and changed by any number of processes.

A record changes only under the lock of its session, and its file is at any moment the whole old or the whole new one.
A file that is no record is kept under another name and rebuilt (session.recovery); ``repairs`` tells what was.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

from gzia.errors import ConflictError, GziaError, NotFoundError
from gzia.session.ids import SessionId
from gzia.session.layout import Layout
from gzia.session.record import NotARecord, Record, decode, encode
from gzia.session.record_file import content, ids_in, set_aside
from gzia.session.recovery import rebuild
from gzia.system.files import FileLock, write_atomic

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DamagedRecord:
    """A file that was no record.  ``kept_as`` is where it lies now; None: it could not be mended and lies untouched."""

    id: SessionId
    path: Path
    reason: str
    kept_as: Path | None

    @property
    def message(self) -> str:
        """One sentence for a person."""
        what = f"The record of session {self.id} was damaged ({self.reason})"
        if self.kept_as is None:
            return f"{what} and could not be rebuilt; it lies in {self.path}."
        return f"{what} and was rebuilt; the damaged one is kept in {self.kept_as}."


class Listing(NamedTuple):
    """All records, the oldest first, and what was found damaged; those that could be rebuilt are in both."""

    records: list[Record]
    damaged: list[DamagedRecord]


class FileStore:
    """The records below ``root``.

    Every method may raise GziaError ``record-not-writable`` or ``record-not-readable`` when the disk refuses, and
    ConflictError ``lock-held`` when another process keeps the session's lock.
    """

    def __init__(self, root: Path) -> None:
        self.layout = Layout(root)
        self.repairs: list[DamagedRecord] = []

    def create(self, record: Record) -> None:
        """Store a new session.  ConflictError ``session-exists``; of two processes at once, one gets it."""
        path = self.layout.record(record.id)
        with _writing(path):
            self._make_directory()
        with _locked(self.layout.creation_lock), _writing(path):
            if os.path.lexists(path):
                hint = f"choose another id, or look at it with: gzia show {record.id}"
                raise ConflictError("session-exists", f"There is a session {record.id} already.", hint)
            write_atomic(path, encode(record))

    def get(self, id: SessionId) -> Record:
        """The record.  NotFoundError ``session-not-found``; GziaError ``record-damaged`` when it cannot be mended."""
        try:
            return self._read(id)
        except NotARecord:
            with _locked(self.layout.lock(id)):
                return self._load(id)

    def update(self, id: SessionId, change: Callable[[Record], object]) -> Record:
        """Read, change and write under the session's lock; return what is stored.  An exception changes nothing."""
        path = self._existing(id)
        with _locked(self.layout.lock(id)):
            record = self._load(id)
            before = encode(record)
            change(record)
            if (after := encode(record)) != before:
                with _writing(path):
                    write_atomic(path, after)
            return record

    def delete(self, id: SessionId, release: Callable[[Record], T]) -> T:
        """Remove the session's files, after ``release(record)``: what must happen first, or forbids it by raising.

        All under the session's lock.  The record goes last: whatever is left after a crash can be listed and deleted.
        """
        path = self._existing(id)
        with _locked(self.layout.lock(id)):
            released = release(self._load(id))
            with _writing(path):
                for file in [*self.layout.files(id), self.layout.lock(id)]:
                    if file.is_symlink() or not file.is_dir():  # a directory that lies there is not ours
                        file.unlink(missing_ok=True)
        return released

    def list(self) -> Listing:
        """The records of all sessions.  One that cannot be read does not hide the others."""
        found = Listing([], [])
        mended = len(self.repairs)
        directory = str(self.layout.sessions)
        for id in ids_in(directory):
            try:
                found.records.append(decode(content(f"{directory}/{id}.json"), id))
            except FileNotFoundError:
                pass  # deleted while we looked
            except (NotARecord, OSError) as problem:
                self._list_damaged(id, str(problem), found)
        found.damaged.extend(self.repairs[mended:])
        found.records.sort(key=lambda record: (record.started_at, record.id))
        return found

    def _list_damaged(self, id: SessionId, reason: str, found: Listing) -> None:
        try:
            found.records.append(self.get(id))
        except NotFoundError:
            pass
        except GziaError:
            found.damaged.append(DamagedRecord(id, self.layout.record(id), reason, None))

    def _make_directory(self) -> None:
        self.layout.sessions.mkdir(parents=True, exist_ok=True)
        ignore = self.layout.harness / ".gitignore"
        if not ignore.exists():
            write_atomic(ignore, b"*\n", 0o644)

    def _existing(self, id: SessionId) -> Path:
        """The path of the record; checked before a lock file is made for it."""
        path = self.layout.record(id)
        if not os.path.lexists(path):
            raise _not_found(id)
        return path

    def _read(self, id: SessionId) -> Record:
        path = self.layout.record(id)
        try:
            return decode(content(str(path)), id)
        except FileNotFoundError:
            raise _not_found(id) from None
        except OSError as error:
            message = f"{path} cannot be read: {error.strerror}."
            raise GziaError("record-not-readable", message, _look(path)) from error

    def _load(self, id: SessionId) -> Record:
        """The record, mended if need be.  Called under the lock."""
        try:
            return self._read(id)
        except NotARecord as problem:
            return self._mend(id, str(problem))

    def _mend(self, id: SessionId, reason: str) -> Record:
        path = self.layout.record(id)
        record = rebuild(self.layout, id)
        try:
            kept = set_aside(path)
            try:
                write_atomic(path, encode(record))
            except BaseException:
                kept.unlink() if os.path.lexists(path) else kept.rename(path)
                raise
        except OSError as error:
            message = f"The record of session {id} is damaged ({reason}) and cannot be mended: {error.strerror}."
            raise GziaError("record-damaged", message, _look(path)) from error
        self.repairs.append(DamagedRecord(id, path, reason, kept))
        return record


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = FileLock(path)
    with _writing(path):
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "free some space or check the permissions there, then try again"
        raise GziaError("record-not-writable", f"{path} cannot be written: {error.strerror}.", hint) from error


def _look(path: Path) -> str:
    return f"look at it with: ls -ld {shlex.quote(str(path))}"


def _not_found(id: SessionId) -> NotFoundError:
    return NotFoundError("session-not-found", f"There is no session {id} here.", "see gzia list")
