"""The files that records lie in, also when something else lies there."""

from __future__ import annotations

import errno
import itertools
import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from gzia.errors import GziaError
from gzia.session import ids
from gzia.session.ids import SessionId
from gzia.session.record import NotARecord

# Only a file of its own is opened; a FIFO in its place must not make us wait.
FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
CHUNK = 64 * 1024
# What lies there stands in the way itself; other errors (no descriptors left, a bad disk) do not speak of the record.
NO_FILE = {errno.EISDIR: "it is a directory", errno.ELOOP: "it is a link", errno.EACCES: "it may not be read",
           errno.ENXIO: "it is not a file"}  # fmt: skip


def ids_in(directory: str) -> Iterator[SessionId]:
    """The sessions that have something in place of a record; names that are no ids are not ours."""
    try:
        names = os.listdir(directory)  # noqa: PTH208 -- a Path for each of 10 000 names would double the time
    except FileNotFoundError:
        return
    except OSError as error:
        hint = f"look at it with: ls -ld {shlex.quote(directory)}"
        raise GziaError("record-not-readable", f"{directory} cannot be read: {error.strerror}.", hint) from error
    for name in names:
        if name.endswith(".json") and ids.is_valid(id := name[:-5]):
            yield SessionId(id)


def content(path: str) -> bytes:
    """The bytes of a record's file.  Raises NotARecord for what is no file, else OSError."""
    try:
        fd = os.open(path, FLAGS)
        try:
            raw = more = os.read(fd, CHUNK)
            while len(more) == CHUNK:
                more = os.read(fd, CHUNK)
                raw += more
        finally:
            os.close(fd)
    except OSError as error:
        if (reason := NO_FILE.get(error.errno or 0)) is not None:
            raise NotARecord(reason) from error
        raise
    return raw


def set_aside(path: Path) -> Path:
    """Give what lies at ``path`` another name, and leave it there until it is replaced, if the file system can."""
    names = itertools.chain([".damaged"], (f".damaged-{k}" for k in itertools.count(2)))
    kept = next(free for name in names if not os.path.lexists(free := path.with_name(path.name + name)))
    try:
        os.link(path, kept, follow_symlinks=False)
    except OSError:
        path.rename(kept)
    return kept
