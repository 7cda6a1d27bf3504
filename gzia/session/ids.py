"""The names of sessions: one rule, checked wherever an id enters, before any path or branch is made from it."""

from __future__ import annotations

import re
import secrets
from typing import NewType

from gzia.errors import UsageError

SessionId = NewType("SessionId", str)
"""An id that :func:`parse` let through: it is a file name, a branch name and a word in a shell, whatever happens."""

_RULE = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_ALPHABET = "abcdefghijkmnpqrstuvwxyz23456789"  # without l, o, 0 and 1: ids are read aloud and typed


def parse(text: object) -> SessionId:
    """``text`` as an id, or UsageError ``invalid-session-id``.  Takes anything, because ACP clients send anything."""
    if isinstance(text, str) and is_valid(text):
        return SessionId(text)
    shown = repr(text)[1:-1] if isinstance(text, str) else repr(text)  # repr, lest it drives a terminal
    shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
    hint = "use 1 to 64 lower-case letters, digits and dashes, not starting with a dash"
    raise UsageError("invalid-session-id", f"“{shown}” is not a session id.", hint)


def is_valid(text: str) -> bool:
    """Whether :func:`parse` would let it through."""
    return _RULE.fullmatch(text) is not None


def mint() -> SessionId:
    """A new random id of 8 characters (40 bits).  Only creating the session tells whether it is free."""
    return SessionId("".join(secrets.choice(_ALPHABET) for _ in range(8)))
