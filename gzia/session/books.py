"""What a live conversation leaves in its record and in its action events."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from gzia.driver.agent import AgentFacts
from gzia.driver.observation import Event as Observed
from gzia.driver.observation import UpdateObservation
from gzia.errors import FAILED, OK, GziaError
from gzia.events.model import Event, Stage, Status
from gzia.events.store import Events
from gzia.session.record import ANSWER, AWAITS, PROMPT, Record
from gzia.session.store import FileStore
from gzia.session.turns import TurnEnd
from gzia.system import clock

SUMMARY_LIMIT = 200  # characters
REFUSED = "permission refused"
GIVEN_UP = "it was given up before its agent had started"


class Books:
    """Keeps the record of one session true while its conversation lives.

    ``turns`` is the highest number of a turn that began.  A record or an event that cannot be written must not end the
    turn: the first such error is kept until :meth:`take_problem`, and the end of the turn tells it.
    """

    def __init__(self, store: FileStore, events: Events, record: Record) -> None:
        turns = record.metadata.get("turns")
        self.turns = turns if isinstance(turns, int) else 0
        self._problem: GziaError | None = None
        self._store = store
        self._events = events
        self._id = record.id
        self._agent = record.provider
        self._tools: dict[str, Observed] = {}
        self._awaits = ""  # what the session waits for while nobody is asked
        self._is_asking = False

    def take_problem(self) -> GziaError | None:
        """What could not be written since the last time."""
        problem, self._problem = self._problem, None
        return problem

    # -- the record --------------------------------------------------------------------------------------------------

    def agent_started(self, facts: AgentFacts, *, idle: bool) -> dict[str, Any]:
        """A process of the agent runs and its conversation is open; what the record now says."""
        self._awaits = PROMPT if idle else ""

        def change(record: Record) -> None:
            record.pid, record.pid_identity = facts.pid, facts.identity
            record.agent_session_id = facts.agent_session_id
            _await(record, self._awaits)
            record.metadata["agent"] = {"name": facts.name, "version": facts.version, "steering": facts.steering}

        said = self._change(change)
        self._note("agent", "FINISH", "OK", {"name": facts.name, "version": facts.version, "pid": facts.pid})
        return said

    def turn_started(self, number: int) -> None:
        """A turn runs."""
        self._awaits, self.turns = "", max(self.turns, number)  # an urgent turn begins before earlier ones

        def change(record: Record) -> None:
            record.status, record.finished_at, record.exit_code, record.reason = "running", None, None, ""
            record.metadata["turns"] = self.turns
            _await(record, "")

        self._change(change)
        self._note("turn", "PENDING", None, {"turn": number})

    def asking(self, is_asking: bool) -> None:
        """Whether a person is being asked; the record says so, for those who look from outside."""
        if is_asking != self._is_asking:
            self._is_asking = is_asking
            self._change(lambda record: _await(record, ANSWER if is_asking else self._awaits))

    def agent_gone(self) -> None:
        """The process of the agent has ended."""

        def change(record: Record) -> None:
            record.pid, record.pid_identity = None, ""

        self._change(change)

    @property
    def was_killed(self) -> bool:
        """Whether somebody ended the session, and nothing was begun in it since."""
        try:
            return self._store.get(self._id).status == "killed"
        except GziaError:
            return False

    def turn_ended(self, end: TurnEnd, *, more: bool) -> None:
        """A turn is over: the session is completed until the next one, or failed.  With ``more`` it goes on at once."""

        def change(record: Record) -> None:
            if record.status == "killed":
                return
            if more:
                pass
            elif end.error:
                record.finish("failed", clock.now(), exit_code=FAILED, reason=end.error.message)
            else:
                why = why_ended(end)
                record.finish("completed", clock.now(), exit_code=FAILED if why else OK, reason=why)
            record.summary = end.message.strip()[:SUMMARY_LIMIT] or record.summary

        self._change(change)
        self.turn_dropped(end)

    def turn_dropped(self, end: TurnEnd) -> None:
        """A turn is over; where it only waited, the record has nothing to say about it."""
        status: Status = "OK" if end.stop_reason == "end_turn" and not end.error else "FAILED"
        error = end.error.message if end.error else why_ended(end)
        self._note("turn", "FINISH", status, {"turn": end.number, "stop_reason": end.stop_reason}, error)

    def failed(self, reason: str) -> None:
        """The agent could not be started."""
        self._change(lambda record: record.finish("failed", clock.now(), exit_code=FAILED, reason=reason))

    def closed(self) -> dict[str, Any]:
        """The agent has ended and this process lets go of the session; what the record now says."""

        def change(record: Record) -> None:
            record.pid = record.host_pid = None
            record.pid_identity = record.host_identity = ""
            _await(record, "")
            if record.status == "running":
                record.finish("completed", clock.now(), exit_code=OK)

        said = self._change(change)
        self._events.close()
        return said

    def _change(self, change: Callable[[Record], None]) -> dict[str, Any]:
        try:
            return self._store.update(self._id, change).to_json()
        except GziaError as error:
            self._problem = self._problem or error
            return {}

    # -- action events -----------------------------------------------------------------------------------------------

    def saw(self, item: UpdateObservation) -> None:
        """Keep what an update says about the session, and note what a tool call begins and ends."""
        if item.event["kind"] in ("tool_use", "tool_result"):
            self._tool(item.event)
        elif item.event.get("update") == "session_info_update":
            title = json.loads(item.text).get("title")
            if isinstance(title, str):
                self._change(lambda record: setattr(record, "title", title))

    def _tool(self, event: Observed) -> None:
        id = event["id"]
        before = self._tools.get(id)
        now = {**(before or {}), **event}
        about = {"tool_call_id": id, "title": now.get("title"), "kind": now.get("tool_kind")}
        action = str(now.get("tool_kind") or "tool")
        if event.get("status") in ("completed", "failed"):
            self._tools.pop(id, None)
            self._note(action, "FINISH", "OK" if event["status"] == "completed" else "FAILED", about)
        else:
            self._tools[id] = now
            if before is None:
                self._note(action, "PENDING", None, about)

    def permission(self, allowed: bool, title: str, by: str) -> None:
        """A permission was settled."""
        self._note("permission", "FINISH", "OK" if allowed else "FAILED", {"title": title, "by": by})

    def _note(
        self, action: str, stage: Stage, status: Status | None, metadata: dict[str, object], error: str = ""
    ) -> None:
        try:
            self._events.append(
                Event(self._id, action, stage, status, agent_id=self._agent, error=error, metadata=metadata)
            )
        except GziaError as problem:
            self._problem = self._problem or problem


def _await(record: Record, what: str) -> None:
    if what:
        record.metadata[AWAITS] = what
    else:
        record.metadata.pop(AWAITS, None)


def why_ended(end: TurnEnd) -> str:
    """Why a turn ended otherwise than by being done; empty when it was."""
    if end.stop_reason != "end_turn":
        return end.why or end.stop_reason
    return REFUSED if end.refused else ""
