"""Finds the JSON text of ``params.update`` in a ``session/update`` line, so that it can go on as the agent wrote it.

What stands before and after is the same for every update of a session: once proved, it is taught to the connection.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Any, NamedTuple

from gzia.jsonrpc.text import parse, scan

CANDIDATES = 8
"""How many places that read ``"update":`` are tried; others stand inside titles, contents and ``_meta``."""

FORM = 1024
"""The longest head and tail worth remembering, in characters."""

_KEY = re.compile(r'"update"[ \t\r]*:[ \t\r]*')


class Spliced(NamedTuple):
    """``head + text + tail`` is the line; ``repeats``: nothing in head and tail differs but the session's id."""

    head: str
    text: str
    tail: str
    repeats: bool


def split(line: str) -> Spliced | None:
    """Take the line of a valid update apart; None when its update is not found (an escaped key, say)."""
    for key in islice(_KEY.finditer(line), CANDIDATES):
        start = key.end()
        try:
            _, end = scan(line, start)
            rest = parse(f"{line[:start]}null{line[end:]}")
        except (StopIteration, ValueError, RecursionError):
            continue
        # A value took the place of a value, and the update is gone: that value was it.
        if rest["params"]["update"] is None:
            head, tail = line[:start], line[end:]
            return Spliced(head, line[start:end], tail, len(head) + len(tail) <= FORM and _is_bare(rest))
    return None


def _is_bare(message: dict[str, Any]) -> bool:
    return message.keys() <= {"jsonrpc", "method", "params"} and message["params"].keys() == {"sessionId", "update"}
