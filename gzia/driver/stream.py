"""The pulled shape of a turn, for programs that embed gzia: a stream that is read, instead of a listener that is told.

A stream has two projections and carries one: plain events, or ordered observations.  Which one is chosen by asking for
it first; the other is then empty.  Rooms of gzia itself use :mod:`gzia.driver.agent`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from gzia.driver.observation import Observation

MODEL_FACING_LIMIT = 512  # bytes of UTF-8
LOOKED_AT = 4096  # characters of an error that are looked at; so much is enough to fill the limit
CUT = "…"


class Kind(StrEnum):
    """What an event tells."""

    INIT = "init"  # the agent has been given the turn
    TEXT_DELTA = "text_delta"
    THINKING_DELTA = "thinking_delta"
    TOOL_USE = "tool_use"
    TOOL_RESULT = "tool_result"
    STEP_COMPLETE = "step_complete"  # what was said and done since the last one; then the model is asked again
    TERMINAL_OK = "terminal_ok"  # the last event: the turn has ended
    TERMINAL_ERROR = "terminal_error"  # the last event: the turn has failed; nothing of it is for a model
    MODEL_FACING_ERROR = "model_facing_error"  # something went wrong that a model may be told; the turn goes on


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened.

    ``text``: the words; for a tool use its title, for a tool result the beginning of what it gave, at the end the
    answer or the error.  ``stop_reason``: why the turn ended.
    """

    kind: Kind
    text: str = ""
    tool_id: str = ""
    is_error: bool = False
    stop_reason: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the agent used; ``status`` is the agent's latest word of it, empty when it said none."""

    id: str
    title: str
    status: str


@dataclass(frozen=True, slots=True)
class Step:
    """A message of the user's and what followed it up to the next: ``agent`` is all that the agent said."""

    user: str
    agent: str
    tools: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True)
class History:
    """All that was said before, the oldest first."""

    steps: tuple[Step, ...]


class Stream(Protocol):
    """One turn."""

    def events(self) -> AsyncIterator[Event]:
        """What happens, in order; the last one is a terminal event."""

    async def history(self) -> History:
        """All steps of the session.  HistoryError when they cannot be read."""

    async def close(self) -> None:
        """Stop the turn, if it runs, and wait for its end.  May be called twice."""


@runtime_checkable
class OrderedStream(Protocol):
    """A stream that can tell where each thing stands in the order of the agent's lines."""

    def observations(self) -> AsyncIterator[Observation]:
        """What happens, with its order, which never goes down; the last one is the PromptObservation."""


@runtime_checkable
class Closer(Protocol):
    """What holds something from turn to turn."""

    async def close(self) -> None:
        """Let go of it.  May be called twice."""


# -- what a model may be told ------------------------------------------------------------------------------------------

_NAMED = r"[\w.-]{0,40}(?:api[_-]?key|access[_-]?key|private[_-]?key|token|secret|passw(?:or)?d|credential)[\w.-]{0,40}"
_REMOVED = (
    (r"-----BEGIN [^-]{0,40}-----.*?(?:-----END [^-]{0,40}-----|\Z)", "[secret]"),
    (r"\b[a-z][a-z0-9+.-]{0,30}://[^\s\"'<>]+|\b(?:www\.|data:|mailto:|file:)[^\s\"'<>]+", "[url]"),
    (r"\b(?:proxy-)?authorization[\"']?\s*[:=]\s*[^\r\n]+", "[secret]"),
    (r"\b(?:bearer|basic)\s+[^\s\"',;]{6,}", "[secret]"),
    (_NAMED + r"[\"']?\s*[:=]\s*(?:\"[^\"]*(?:\"|\Z)|'[^']*(?:'|\Z)|[^\s,;]+)", "[secret]"),
    (r"\b(?:sk|pk|rk|ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[a-z]|hf|npm|pypi|dop_v1)[-_][\w-]{8,}", "[secret]"),
    (r"\b(?:AKIA|ASIA|AIza|eyJ)[\w.-]{12,}", "[secret]"),
    (r"\b(?=[\w+-]{0,200}\d)(?=[\w+-]{0,200}[a-z])[\w+-]{32,}={0,2}", "[secret]"),
    (r"(?P<quote>[\"'`])(?:~?/|[a-z]:[\\/]|\\\\).*?(?P=quote)", "[path]"),
    (r"(?<![\w.~])(?:~[\w-]*/|/)[^\s\"'`<>|:;,()\[\]{}]+", "[path]"),
    (r"(?<![\w])(?:[a-z]:[\\/]|\\\\)[^\s\"'`<>|;,()]+", "[path]"),
)
_RULES = tuple((re.compile(pattern, re.IGNORECASE | re.DOTALL), name) for pattern, name in _REMOVED)


def model_facing(text: str) -> str:
    """An error as a model may see it: URLs, absolute paths and secrets taken out, one line, 512 bytes at most.

    It takes out too much rather than too little; what a secret looks like can only be guessed.
    """
    if len(text) > LOOKED_AT:
        text = text[:LOOKED_AT]
        text = text[: 1 + max(text.rfind(" "), text.rfind("\n"))]  # half a word may be half a secret
    text = "".join(one for one in text if one.isprintable() or one.isspace())
    for pattern, name in _RULES:
        text = pattern.sub(name, text)
    data = " ".join(text.split()).encode("utf-8", "replace")
    if len(data) <= MODEL_FACING_LIMIT:
        return data.decode("utf-8")
    return data[: MODEL_FACING_LIMIT - len(CUT.encode())].decode("utf-8", "ignore") + CUT
