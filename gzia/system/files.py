"""Files that other processes read and write at the same time, and that a crash must not spoil."""

from __future__ import annotations

import fcntl
import os
import shlex
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from gzia.errors import ConflictError


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Make ``path`` hold ``data``: after a crash or a kill at any moment it is the whole old or the whole new content.

    The data goes to ``.<name>.tmp`` beside it, which is then renamed; it is on the disk when this returns.  Whoever
    holds the kernel's lock on that file owns it: writers at the same time follow each other, and what a killed one left
    is taken over by the next, so there is never more than one.  A symbolic link at ``path`` is replaced itself.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    fd = _open_owned(temporary)
    try:
        os.ftruncate(fd, 0)
        os.fchmod(fd, mode)
        _write_all(fd, data)
        os.fsync(fd)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)
    _sync_directory(path.parent)


class FileLock:
    """A lock between processes (and threads), on a file that stays.  The kernel frees it when its holder ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None

    def acquire(self, timeout: float = 10.0) -> None:
        """Wait at most ``timeout`` seconds; then ConflictError ``lock-held``."""
        fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._wait(fd, time.monotonic() + timeout)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd

    def release(self) -> None:
        """Give it back; without effect when it is not held."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _wait(self, fd: int, deadline: float) -> None:
        pause = 0.001
        while not _try_lock(fd):
            if time.monotonic() + pause > deadline:
                raise ConflictError(
                    "lock-held",
                    f"Another process holds the lock {self.path}.",
                    f"try again when it has finished; this names it: fuser {shlex.quote(str(self.path))}",
                    data={"path": str(self.path)},
                )
            time.sleep(pause)
            pause = min(2 * pause, 0.05)

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()


def _open_owned(temporary: Path) -> int:
    """The temporary file, locked, and surely the one that the name means."""
    while True:
        fd = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            if _is_at(fd, temporary):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # while we waited its owner renamed it: it is the live file now, and not ours to touch


def _is_at(fd: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.lstat())
    except FileNotFoundError:
        return False


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _sync_directory(path: Path) -> None:
    """Without this a power cut can undo the rename."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
