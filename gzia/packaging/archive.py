"""Writing the single file so that the same contents give the same bytes: one date, one mode, a fixed order."""

from __future__ import annotations

import io
import os
import time
import zipfile
from pathlib import Path

REGULAR_FILE = 0o100644 << 16
UNIX = 3


class Archive:
    """The file in the making: a text at its head, then the entries of a zip archive in the order of adding."""

    def __init__(self, head: bytes, when: int) -> None:
        self._when = time.gmtime(when)[:6]
        self._buffer = io.BytesIO(head)
        self._zip = zipfile.ZipFile(self._buffer, "a")

    def add(self, name: str, data: bytes, method: int = zipfile.ZIP_DEFLATED) -> int:
        """Add an entry; returns the offset in the file at which its data, as written, begins."""
        info = zipfile.ZipInfo(name, self._when)
        info.create_system, info.external_attr, info.compress_type = UNIX, REGULAR_FILE, method
        self._zip.writestr(info, data, compresslevel=9)
        return self._buffer.tell() - info.compress_size

    def finish(self) -> tuple[bytes, int]:
        """The bytes of the file, and how many entries it has."""
        self._zip.close()
        return self._buffer.getvalue(), len(self._zip.namelist())


def replace(file: Path, data: bytes) -> None:
    """Put an executable file in place whole: the one that was there may be running."""
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f".{file.name}.{os.getpid()}")
    fresh.write_bytes(data)
    fresh.chmod(0o755)
    fresh.replace(file)
