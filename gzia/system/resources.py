"""Data files that belong to the program: ``protocol/`` beside the package, in a checkout or inside the single file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import gzia
from gzia.errors import GziaError


def read_resource(name: str) -> bytes:
    """The bytes of ``name``, for example ``protocol/gzia/config.schema.json``; GziaError ``program-damaged``.

    The loader of the package reads it, so that it comes from the same file as the running code even when that file was
    replaced since.  The single file keeps compiled code and data in separate trees, so every tree on ``sys.path``
    is asked.
    """
    loader: Any = gzia.__spec__.loader
    for tree in dict.fromkeys([*(str(Path(folder).parent) for folder in gzia.__path__), *sys.path]):
        try:
            data: bytes = loader.get_data(str(Path(tree, name)))
            return data
        except OSError:
            continue
    raise GziaError("program-damaged", f"gzia lacks a part of itself: {name}.", "install gzia again")
