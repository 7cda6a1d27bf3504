"""Small files that only this user can read, for as long as a process needs them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path


class PrivateFiles:
    """A few small files (name -> text) in a directory of their own that only this user can read."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.directory = tempfile.mkdtemp(prefix="gzia-") if files else ""
        for name, text in files.items():
            (Path(self.directory) / name).write_text(text, encoding="utf-8")

    def remove(self) -> None:
        """Remove them.  May be called twice."""
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)
