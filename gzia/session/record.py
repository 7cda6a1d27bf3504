"""The session record: what *is*, as ``<id>.json`` tells it (the journal tells what *happened*).

Keys that this version does not know survive every rewrite.  Optional keys may be missing or null.  The id comes from
where the file lies, never from the ``id`` inside.  For other programs: protocol/gzia/session-record.schema.json.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from types import NoneType
from typing import Any, Final, Literal, get_args

from gzia.driver.turn import PermissionLevel
from gzia.session.ids import SessionId
from gzia.system import jsonl

Status = Literal["running", "completed", "failed", "killed"]


AWAITS = "awaits"  # the metadata that says what a session that is open waits for
PROMPT = "prompt"  # the agent is up, and nothing was asked yet
ANSWER = "answer"  # a permission question is open


class NotARecord(ValueError):
    """The bytes of a file are no session record; the text says why: "it is empty"."""


@dataclass(slots=True)
class Record:
    """One session.  Times are ISO 8601 with an offset.

    A text that is not known is empty here, null in JSON, and not in the file.
    ``pid`` is the agent's process and ``host_pid`` the gzia that runs it; each counts only together with its identity
    (system.identity).  ``reason`` tells why the session ended, as a sentence or the agent's stop reason.
    """

    id: SessionId
    status: Status
    started_at: str
    provider: str = ""
    permission_level: PermissionLevel = PermissionLevel.SUPERVISED
    model: str = ""
    working_dir: str = ""
    initial_prompt: str = ""
    title: str = ""
    summary: str = ""
    finished_at: str | None = None
    duration_ms: int | None = None
    exit_code: int | None = None
    reason: str = ""
    pid: int | None = None
    pid_identity: str = ""
    host_pid: int | None = None
    host_identity: str = ""
    agent_session_id: str = ""
    is_isolated: bool = False
    worktree_dir: str = ""
    branch_name: str = ""
    base_commit: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    unknown: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Every key, null where nothing is known, and after them the keys of other versions."""
        known = {name: None if (item := getattr(self, name)) == "" else item for name in KEYS}
        return known | self.unknown

    def begin(self, host_pid: int, host_identity: str) -> None:
        """Set what belongs together when a gzia process starts running the session."""
        self.status, self.host_pid, self.host_identity = "running", host_pid, host_identity
        self.pid, self.pid_identity = None, ""
        self.metadata.pop(AWAITS, None)
        self.finished_at = self.duration_ms = self.exit_code = None
        self.reason = ""

    def finish(self, status: Status, at: str, *, exit_code: int | None = None, reason: str = "") -> None:
        """Set what belongs together when the session stops running at the time ``at``."""
        self.status, self.finished_at, self.exit_code, self.reason = status, at, exit_code, reason
        self.duration_ms = max(0, (moment(at) - moment(self.started_at)) // timedelta(milliseconds=1))

    def take_back_kill(self, before: Record) -> None:
        """There was nothing to kill: what :meth:`finish` has set is as it was ``before``."""
        if self.status == "killed":
            self.status, self.finished_at, self.exit_code = before.status, before.finished_at, before.exit_code
            self.reason, self.duration_ms = before.reason, before.duration_ms


KEYS: Final = tuple(f.name for f in fields(Record) if f.name != "unknown")

_TEXT: Final = (str, NoneType)
_WHOLE: Final = (int, NoneType)
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "status": (str,), "started_at": (str,), "provider": _TEXT, "permission_level": _TEXT, "model": _TEXT,
    "working_dir": _TEXT, "initial_prompt": _TEXT, "title": _TEXT, "summary": _TEXT, "finished_at": _TEXT,
    "duration_ms": _WHOLE, "exit_code": _WHOLE, "reason": _TEXT, "pid": _WHOLE, "pid_identity": _TEXT,
    "host_pid": _WHOLE, "host_identity": _TEXT, "agent_session_id": _TEXT, "is_isolated": (bool, NoneType),
    "worktree_dir": _TEXT, "branch_name": _TEXT, "base_commit": _TEXT, "metadata": (dict, NoneType),
}  # fmt: skip
_STATUSES: Final = frozenset(get_args(Status))
_LEVELS: Final = {str(level): level for level in PermissionLevel}
_MAX_PID: Final = 2**31 - 1


def decode(raw: bytes, id: SessionId) -> Record:
    """The record in the bytes of the file of ``id``; raises NotARecord."""
    if not raw.strip(b"\0 \t\r\n"):
        raise NotARecord("it is empty")
    value = jsonl.parse(raw)
    if value is None:
        raise NotARecord("it is not a JSON object")
    return from_json(value, id)


def from_json(value: dict[str, Any], id: SessionId) -> Record:
    """The record that a JSON object says; its own ``id`` is not listened to.  Raises NotARecord."""
    known: dict[str, Any] = {}
    unknown: dict[str, Any] = {}
    for name, item in value.items():
        types = _TYPES.get(name)
        if types is None:
            unknown[name] = item
        elif type(item) not in types:
            raise NotARecord(f"its {name} has the wrong type")
        elif item is not None:
            known[name] = item
    unknown.pop("id", None)
    _check(known)
    return Record(id=id, unknown=unknown, **known)


def encode(record: Record) -> bytes:
    """The bytes of the file: indented for people, ASCII because paths may hold what UTF-8 cannot encode.

    What is not known is left out: a third of the time that a long list of sessions takes.
    """
    known = {name: item for name, item in record.to_json().items() if item is not None or name in record.unknown}
    return json.dumps(known, indent=2, allow_nan=False).encode("ascii") + b"\n"


def moment(text: str) -> datetime:
    """A time of a record; raises ValueError when the text is none or has no offset."""
    time = datetime.fromisoformat(text)
    if time.tzinfo is None:
        raise ValueError("a time needs an offset")
    return time


def _check(known: dict[str, Any]) -> None:
    if known.get("status") not in _STATUSES:
        raise NotARecord("it has no status that gzia knows")
    if "started_at" not in known:
        raise NotARecord("it has no started_at")
    if (level := known.get("permission_level")) is not None:
        if level not in _LEVELS:
            raise NotARecord("it has a permission_level that gzia does not know")
        known["permission_level"] = _LEVELS[level]
    for name in ("started_at", "finished_at"):
        try:
            moment(known.get(name, "0001-01-01T00:00:00Z"))
        except ValueError:
            raise NotARecord(f"its {name} is not a time") from None
    for name in ("pid", "host_pid"):
        if not 0 <= known.get(name, 0) <= _MAX_PID:
            raise NotARecord(f"its {name} is not a process id")
        known[name] = known.get(name) or None  # 0 is how the program that gzia descends from says "none"
