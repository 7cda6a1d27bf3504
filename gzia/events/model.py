"""An action event: what an agent, a script or gzia says that it read, is doing, or has finished."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, get_args

from gzia.errors import UsageError
from gzia.system import clock

Stage = Literal["READ", "PENDING", "FINISH"]
Status = Literal["OK", "FAILED"]
STAGES: Final[tuple[str, ...]] = get_args(Stage)
STATUSES: Final[tuple[str, ...]] = get_args(Status)


def mint() -> str:
    """A new event id: 12 hexadecimal digits."""
    return secrets.token_hex(6)


@dataclass(frozen=True, slots=True)
class Event:
    """One line of ``<id>.events.jsonl``.  Raises UsageError ``invalid-event`` when it could not be one.

    ``timestamp`` is ISO 8601 with an offset, ``metadata`` holds JSON values, ``unknown`` the keys of other versions.
    """

    session_id: str
    action: str
    stage: Stage
    status: Status | None = None
    agent_id: str = ""
    role: str = ""
    duration_ms: int | None = None
    error: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str = field(default_factory=mint)
    timestamp: str = field(default_factory=clock.now)
    unknown: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("id", "session_id", "action"):
            if not _is_text(getattr(self, name)):
                raise _invalid(f"it needs a text as its {name}")
        if self.stage not in STAGES:
            raise _invalid(f"its stage must be one of {', '.join(STAGES)}")
        if self.status is not None and self.status not in STATUSES:
            raise _invalid(f"its status must be {' or '.join(STATUSES)}, or none")
        if self.duration_ms is not None and (type(self.duration_ms) is not int or self.duration_ms < 0):
            raise _invalid("its duration_ms must be a whole number of milliseconds")
        if not all(type(item) is str for item in (self.agent_id, self.role, self.error)):
            raise _invalid("its agent_id, role and error must be texts")
        if type(self.metadata) is not dict:
            raise _invalid("its metadata must be an object")
        if not _is_moment(self.timestamp):
            raise _invalid("its timestamp must be an ISO 8601 time with an offset")

    def to_json(self) -> dict[str, Any]:
        """The object of the line; ``status`` is always there, what is optional only when it says something."""
        line: dict[str, Any] = {"id": self.id, "session_id": self.session_id}
        line |= {name: text for name in ("agent_id", "role") if (text := getattr(self, name))}
        line |= {"action": self.action, "stage": self.stage, "status": self.status, "timestamp": self.timestamp}
        if self.duration_ms is not None:
            line["duration_ms"] = self.duration_ms
        line |= {name: item for name in ("error", "metadata") if (item := getattr(self, name))}
        return line | self.unknown


KEYS: Final = frozenset(Event.__dataclass_fields__) - {"unknown"}


def from_json(value: dict[str, Any]) -> Event:
    """The event that a line says; null counts as left out.  Raises UsageError ``invalid-event``."""
    known = {name: item for name, item in value.items() if name in KEYS and item is not None}
    missing = [name for name in ("id", "session_id", "action", "stage", "timestamp") if name not in known]
    if missing:
        raise _invalid(f"it has no {missing[0]}")
    return Event(**known, unknown={name: item for name, item in value.items() if name not in KEYS})


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_moment(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _invalid(why: str) -> UsageError:
    return UsageError("invalid-event", f"This is no action event: {why}.", "see gzia log --help")
