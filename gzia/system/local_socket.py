"""The socket of a running session: a name that the project and the session give, in a directory of this user alone.

The directory keeps others out, and the peer's user id is asked of the kernel as well, on both sides.  A socket's path
must fit into ``sun_path``: 108 bytes on Linux (unix(7)), 104 on macOS (sys/un.h), the final zero included.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shlex
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from gzia.errors import ConflictError, GziaError, NotFoundError
from gzia.system import paths

LIMIT = 100  # bytes of a path
BACKLOG = 32  # connections that may wait to be taken

_LOCAL_PEERCRED = 1  # macOS, sys/un.h; of level SOL_LOCAL, which is 0


def path_for(root: Path, id: str) -> Path:
    """The path of a session's socket: ``<8 hex digits of the root>-<id>`` in the first directory where it fits.

    A name that does not fit is cut, and 8 hex digits of the whole id follow.  ``root`` is the project's.
    """
    name = f"{_digits(os.path.realpath(root))}-{id}"
    tail = f"-{_digits(id)}"
    for directory in paths.runtime_dirs():
        room = LIMIT - len(os.fsencode(directory / "x")) + 1
        if len(name) <= room:
            return directory / name
        if room >= 9 + len(tail):
            return directory / (name[: room - len(tail)] + tail)
    raise AssertionError("the last directory has a short path")


def listen(path: Path) -> socket.socket:
    """A listening socket that does not block, for this user alone; what a dead process left at ``path`` is replaced.

    ConflictError ``socket-in-use`` when a living process listens there; GziaError ``directory-not-private``,
    ``socket-failed``.
    """
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        _refuse_shared(path.parent)
        with _only_one(path.parent):
            if _answers(path):
                raise ConflictError("socket-in-use", f"Another process listens on {path}.", f"look at it: ls -l {path}")
            path.unlink(missing_ok=True)
            return _bound(path)
    except OSError as error:
        message = f"The socket {path} cannot be made: {error.strerror}."
        raise GziaError("socket-failed", message, f"look at the directory: ls -ld {path.parent}") from error


def stop(listener: socket.socket) -> None:
    """Close a listening socket and take its name away, unless another process has that name by now."""
    path = Path(listener.getsockname())
    with contextlib.suppress(OSError), _only_one(path.parent):
        listener.close()
        if not _answers(path):
            path.unlink(missing_ok=True)
    listener.close()


def connect(path: Path) -> socket.socket:
    """A connection to the process that listens at ``path``, which does not block.

    NotFoundError ``session-not-running`` when none does; GziaError ``directory-not-private``, ``not-our-process``.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _refuse_shared(path.parent)
        connection.connect(str(path))
        if not is_peer_ours(connection):
            raise GziaError(
                "not-our-process", f"The process that listens on {path} is another user's.", f"ask its owner: {path}"
            )
    except OSError as error:
        connection.close()
        raise NotFoundError(
            "session-not-running", "This session is not running.", "see what runs: gzia list"
        ) from error
    except GziaError:
        connection.close()
        raise
    connection.setblocking(False)
    return connection


def is_peer_ours(connection: socket.socket) -> bool:
    """Whether the process on the other side was this user's when it connected or began to listen."""
    return _peer_uid(connection) == os.geteuid()


def _peer_uid(connection: socket.socket) -> int:
    if sys.platform == "linux":
        _, uid, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    else:  # struct xucred: version and uid come first (macOS, sys/ucred.h); it was not tried there
        _, uid = struct.unpack("II", connection.getsockopt(0, _LOCAL_PEERCRED, 76)[:8])
    return int(uid)


def _refuse_shared(directory: Path) -> None:
    found = directory.lstat()
    if stat.S_ISLNK(found.st_mode):
        fault, hint = "is a link", f"rm {_quoted(directory)}"
    elif found.st_uid != os.geteuid():
        fault, hint = "belongs to another user", f"ls -ld {_quoted(directory)}"
    elif found.st_mode & 0o077:
        fault, hint = "is open to others", f"chmod 700 {_quoted(directory)}"
    else:
        return
    raise GziaError(
        "directory-not-private", f"{directory} {fault}, so no socket is used there.", f"look who made it, then: {hint}"
    )


@contextlib.contextmanager
def _only_one(directory: Path) -> Iterator[None]:
    """Nobody else makes or removes a socket in the directory meanwhile; the kernel frees the lock of a killed one."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _answers(path: Path) -> bool:
    """Whether somebody listens at ``path``."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except BlockingIOError:
            return True  # alive, and very busy
        except OSError:
            return False
        return True


def _bound(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(path))
        path.chmod(0o600)  # nobody can connect before listen()
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def _digits(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:8]


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
