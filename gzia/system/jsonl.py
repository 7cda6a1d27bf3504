"""Append-only files of JSON lines that many processes write and that survive being killed.

The rules:

1. A line is one JSON object and ends with byte 0x0A; what does not is unfinished, and nobody reads it.
2. A batch of lines goes out in one ``write`` on O_APPEND under ``flock``: lines of two writers never mix.
3. Who appends looks at the last byte first, unless it wrote that byte itself.  A tail torn by a crash is moved to
   ``<file>.damaged``, so that the next line is not glued to it; a tail that only misses its newline gets it.
4. A write that fails half way is taken back: the file ends on a whole line again.
5. A reader hands out a damaged line as such and goes on with the next one.  It never decodes more than one line.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from gzia.errors import GziaError

MAX_LINE = 64 * 1024 * 1024
"""Bytes of the longest line that is read as one; beyond it a line counts as damaged and is stepped over."""

CHUNK = 64 * 1024
FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
# Without F_FULLFSYNC, macOS leaves the data in the drive's cache.
FULL_SYNC: int | None = getattr(fcntl, "F_FULLFSYNC", None)


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that are no line: where they lay in the file and how many they were."""

    offset: int
    length: int


class Line(NamedTuple):
    """One finished line: ``raw`` with its newline, from ``offset`` up to ``end``; ``value`` is None when damaged."""

    offset: int
    end: int
    value: dict[str, Any] | None
    raw: bytes


class Appender:
    """The writing end of one file; opens it, and creates it with ``mode`` when it is not there.

    Not for two threads at once.  The lock is held for one write only.  ``damage`` lists the torn tails that this
    writer set aside.  Raises GziaError ``journal-not-writable`` on opening and on appending.
    """

    def __init__(self, path: Path, mode: int = 0o600) -> None:
        self.path = path
        self.damage: list[Damage] = []
        self._end = -1
        try:
            self._fd = os.open(path, FLAGS, mode)
        except OSError as error:
            raise _not_writable(path, error) from error

    def append(self, data: bytes) -> int:
        """Write whole lines (``data`` ends with a newline) and return the offset of the first."""
        if not data.endswith(b"\n"):
            raise ValueError("only whole lines can be appended")
        return self._locked(data)

    def mend(self) -> None:
        """See to a torn tail now: whoever counts the lines before it appends must not overlook the last one."""
        self._locked(b"")

    def _locked(self, data: bytes) -> int:
        fd = self._fd
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            try:
                start = self._whole_end()
                self._end = start + (_write_all_or_nothing(fd, data, start) if data else 0)
            finally:
                fcntl.flock(fd, fcntl.LOCK_UN)
        except OSError as error:
            raise _not_writable(self.path, error) from error
        return start

    def sync(self) -> None:
        """Return only when what was appended is on the disk itself, in a file that still has a name."""
        try:
            if os.fstat(self._fd).st_nlink == 0:
                raise FileNotFoundError("it was removed")
            if FULL_SYNC is not None:
                fcntl.fcntl(self._fd, FULL_SYNC)
            else:
                os.fsync(self._fd)
        except OSError as error:
            raise _not_writable(self.path, error) from error

    def close(self) -> None:
        """May be called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Appender:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _whole_end(self) -> int:
        """The size of the file, after making sure that it ends on a whole line.  Called under the lock."""
        size = os.lseek(self._fd, 0, os.SEEK_END)  # a quarter of the price of fstat
        if size in (0, self._end) or os.pread(self._fd, 1, size - 1) == b"\n":
            return size
        return self._mend(size)

    def _mend(self, size: int) -> int:
        cut = _end_of_whole_lines(self._fd, size)
        if size - cut <= MAX_LINE and parse(os.pread(self._fd, size - cut, cut)) is not None:
            os.write(self._fd, b"\n")
            return size + 1
        self._set_aside(cut, size)
        os.ftruncate(self._fd, cut)
        self.damage.append(Damage(cut, size - cut))
        return cut

    def _set_aside(self, start: int, end: int) -> None:
        """Copy the torn bytes to the sidecar and see them on the disk: only then may they be cut off."""
        side = os.open(damaged_path(self.path), FLAGS, 0o600)
        try:
            side_start = os.fstat(side).st_size
            for at in range(start, end, CHUNK):
                _write_all_or_nothing(side, os.pread(self._fd, min(CHUNK, end - at), at), side_start + at - start)
            os.write(side, b"\n")
            os.fsync(side)
        finally:
            os.close(side)


def read(path: Path, offset: int = 0) -> Iterator[Line]:
    """The finished lines from byte ``offset`` on (0, or the ``end`` of a line read before); empty ones are skipped.

    A missing file has no lines.  Raises GziaError ``journal-not-readable``.  Close the iterator to close the file.
    """
    try:
        with path.open("rb", buffering=CHUNK) as file:
            file.seek(offset)
            yield from _lines(file, offset)
    except FileNotFoundError:
        return
    except OSError as error:
        raise _not_readable(path, error) from error


def last(path: Path) -> Line | None:
    """The last intact line, looked for from the end, so that the size of the file does not matter."""
    try:
        with path.open("rb", buffering=0) as file:
            fd = file.fileno()
            end = _end_of_whole_lines(fd, os.fstat(fd).st_size)
            while end > 0:
                start = _end_of_whole_lines(fd, end - 1)
                raw = os.pread(fd, end - start, start) if end - start <= MAX_LINE else b""
                if (value := parse(raw)) is not None:
                    return Line(start, end, value, raw)
                end = start
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _not_readable(path, error) from error
    return None


def parse(raw: bytes) -> dict[str, Any] | None:
    """The JSON object that these bytes are, or None: bad UTF-8, bad JSON (NaN too), too deep, or not an object."""
    try:
        value = _DECODER.decode(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def dump(value: dict[str, Any]) -> bytes:
    """``value`` as one line.  ASCII only, because text from the system may hold what UTF-8 cannot encode."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode("ascii") + b"\n"


def damaged_path(path: Path) -> Path:
    """Where the torn tails of ``path`` are kept, each followed by a newline."""
    return path.with_name(path.name + ".damaged")


def _lines(file: BinaryIO, offset: int) -> Iterator[Line]:
    while raw := file.readline(MAX_LINE):
        end = offset + len(raw)
        if not raw.endswith(b"\n"):
            if len(raw) < MAX_LINE or (end := _skip_line(file, end)) == 0:
                return
            yield Line(offset, end, None, b"")
        elif not raw.isspace():
            yield Line(offset, end, parse(raw), raw)
        offset = end


def _skip_line(file: BinaryIO, offset: int) -> int:
    """The offset after the rest of an over-long line; 0 when it is not finished yet."""
    while rest := file.readline(CHUNK):
        offset += len(rest)
        if rest.endswith(b"\n"):
            return offset
    return 0


def _end_of_whole_lines(fd: int, end: int) -> int:
    """The offset after the last newline before ``end``; 0 when there is none."""
    while end > 0:
        start = max(0, end - CHUNK)
        found = os.pread(fd, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _write_all_or_nothing(fd: int, data: bytes, start: int) -> int:
    """Append ``data`` at ``start``, the size of the file; on an error (disk full, quota) take back what got in."""
    done = 0
    try:
        done = os.write(fd, data)
        while done < len(data):  # a short write says nothing about its reason; the next one does
            done += os.write(fd, memoryview(data)[done:])
    except OSError:
        if done:
            os.ftruncate(fd, start)
        raise
    return done


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _not_writable(path: Path, error: OSError) -> GziaError:
    reason = error.strerror or str(error)
    hint = "free some space or check the permissions there, then try again"
    return GziaError("journal-not-writable", f"{path} cannot be written: {reason}.", hint)


def _not_readable(path: Path, error: OSError) -> GziaError:
    reason = error.strerror or str(error)
    hint = f"look at it with: ls -ld {shlex.quote(str(path))}"
    return GziaError("journal-not-readable", f"{path} cannot be read: {reason}.", hint)
