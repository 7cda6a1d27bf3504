"""What one client of a live session sees and does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from gzia.acp import content
from gzia.errors import UsageError
from gzia.serve.pump import Pump
from gzia.serve.questions import Questions
from gzia.serve.wire import Wire
from gzia.session.conversation import Conversation, Fallback, Steering, SteerRequest
from gzia.session.host import Live
from gzia.session.journal import Entry, dumps
from gzia.session.turns import TurnEnd

AUTONOMOUS = "autonomous"
Options = Callable[[], list[dict[str, Any]]]


class Seat:
    """One client's place in a live session; ``name`` is how the journal calls it.

    ``guests`` counts those that have joined the session; ``ahead`` are gzia's own config options, shown to this client
    before those of the agent.
    """

    def __init__(self, wire: Wire, live: Live, name: str, guests: Callable[[], int], ahead: Options = list) -> None:
        self.live = live
        self._wire = wire
        self._name = name
        self._guests = guests
        self._ahead = ahead
        self._pump: Pump | None = None
        self._questions: Questions | None = None
        self._history_until = 0  # the last line that is history for this client
        self._own: set[int | str] = set()  # lines and steers of what this client asked, which it shows by itself
        self._asked: dict[int | None, list[dict[str, Any]]] = {}  # turns of others that have not started

    @property
    def conversation(self) -> Conversation:
        """The live conversation."""
        return self.live.conversation

    @property
    def is_attached(self) -> bool:
        """Whether the client sees the session."""
        return self._pump is not None

    # -- seeing ------------------------------------------------------------------------------------------------------

    def can_answer(self) -> None:
        """From now on the client is asked for permissions, as soon as it sees the session."""
        if self._questions is None:
            self._questions = Questions(self._wire, self.live.id, self.conversation, self._name)

    def attach(self, cursor: int, history_until: int = 0) -> None:
        """Begin to send updates, those after line ``cursor``; up to ``history_until`` with what was asked."""
        self.can_answer()
        self._history_until = history_until
        follower = self.conversation.journal.follow(cursor)
        self._pump = Pump(self.live.id, follower, self._wire, self._merged, self._line)

    def ask_all(self) -> None:
        """Ask the client what is open just now."""
        if self._questions:
            self._questions.ask_all()

    def leave(self) -> None:
        """Send nothing more and ask nothing more.  May be called twice."""
        pump, self._pump = self._pump, None
        if pump:
            pump.stop()
        questions, self._questions = self._questions, None
        if questions:
            questions.close()

    async def reached(self, n: int) -> None:
        """Wait until the client was sent line ``n``, if it sees the session."""
        if self._pump:
            await self._pump.reached(n)

    async def ended(self) -> None:
        """Wait until the client was sent all of a session that has ended, if it sees the session."""
        if self._pump:
            await asyncio.wait([self._pump.task])

    # -- being told --------------------------------------------------------------------------------------------------

    def described(self) -> dict[str, Any]:
        """The session as the client is told: modes, config options, and what gzia adds."""
        facts, record = self.conversation.facts, self.live.record
        about = {
            "session": self.live.id,
            "agent": {"id": record.provider, "name": facts.name, "version": facts.version},
            "isolated": record.is_isolated,
            "directory": self.live.directory,
            "steering": {"lane": facts.steering or None},
        }
        shown = {"configOptions": self.config_options(), "_meta": {"gzia": about}}
        return {**shown, "modes": facts.modes} if facts.modes else shown

    def config_options(self) -> list[dict[str, Any]]:
        """gzia's options and the agent's."""
        return [*self._ahead(), *self.conversation.facts.config_options]

    # -- doing -------------------------------------------------------------------------------------------------------

    def prompt(self, blocks: list[dict[str, Any]]) -> Awaitable[dict[str, Any]]:
        """Register a turn; its answer comes after all that the turn said."""
        self._refuse_unsupported(blocks)
        before = self.conversation.journal.n
        ended = self.conversation.prompt(blocks)
        if self._pump:
            self._own.add(before + 1)
        return self._told(ended)

    def steer(self, request: SteerRequest, steer_id: str, fallback: Fallback) -> Steering:
        """Put a message into the running turn."""
        self._refuse_unsupported(request.blocks)
        steering = self.conversation.steer(request, steer_id=steer_id, fallback=fallback)
        if self._pump and fallback is not Fallback.REFUSE:
            self._own.add(steering.steer_id)
        return steering

    def _refuse_unsupported(self, blocks: list[dict[str, Any]]) -> None:
        taken = self.conversation.facts.capabilities.get("promptCapabilities") or {}
        if problem := content.unsupported(blocks, taken):
            raise UsageError("unsupported-content", problem, "leave it out or choose another agent")

    async def _told(self, ended: Awaitable[TurnEnd]) -> dict[str, Any]:
        end = await ended
        await self.reached(self.conversation.journal.n)
        return answer_of(end)

    async def set_mode(self, mode: str) -> dict[str, Any]:
        """Put the agent into one of its own modes."""
        self._check_mode(mode)
        await self.conversation.call("session/set_mode", {"modeId": mode})
        return {}

    async def set_option(self, option: str, value: Any) -> dict[str, Any]:
        """Change an option of the agent; the result is the full list."""
        if any(one["id"] == option and is_mode(one) for one in self.conversation.facts.config_options):
            self._check_mode(value)
        params = {"configId": option, "value": value, **({"type": "boolean"} if isinstance(value, bool) else {})}
        self.conversation.changed(await self.conversation.call("session/set_config_option", params))
        return {"configOptions": self.config_options()}

    def _check_mode(self, mode: Any) -> None:
        """A mode of the agent must not lift the permission level of the session."""
        level, held = str(self.live.record.permission_level), self.live.held
        if level != AUTONOMOUS and held and mode not in held:
            raise UsageError(
                "mode-not-allowed", f"The mode “{mode}” would lift the permission level “{level}”.",
                f"choose one of: {', '.join(sorted(held))}; or another permission in a new session",
            )  # fmt: skip

    def answer(self, permission_id: str, outcome: dict[str, Any]) -> bool:
        """Answer a question by its id in the journal; whether nobody was faster."""
        question = self.conversation.permissions.open.get(permission_id)
        if question is None:
            return False
        option = outcome.get("optionId")
        if outcome["outcome"] == "selected" and option not in [one.get("optionId") for one in question.options]:
            raise UsageError("unknown-option", f"“{option}” was not offered.", "choose one of the journal's line")
        return self.conversation.answer(permission_id, outcome, self._name)

    def cancel(self) -> dict[str, Any]:
        """Stop the running turn and drop those that wait; the numbers of both."""
        return self.conversation.cancel()._asdict()

    def state(self) -> dict[str, Any]:
        """How the session stands."""
        now = self.conversation
        return {"state": now.state, "turn": now.turn, "waiting": list(now.waiting), "attached": self._guests()}

    # -- lines of the journal ----------------------------------------------------------------------------------------

    def _line(self, entry: Entry) -> None:
        if entry.kind == "permission" and self._questions:
            self._questions.line(entry.body)
        elif entry.kind == "notice" and "method" in entry.body:
            self._notice(entry.body)
        elif entry.kind == "input" and entry.body.get("input") == "prompt":
            if not self._shows(entry):
                self._asked[entry.turn] = entry.body.get("blocks") or []
        elif entry.kind == "turn":
            self._said(self._asked.pop(entry.turn, []))
        elif entry.kind == "prompt":
            self._asked.pop(entry.turn, None)  # it was dropped while it waited

    def _shows(self, entry: Entry) -> bool:
        """Whether the client shows this by itself, because it has asked it in this very connection."""
        mine = {entry.n, entry.body.get("steer_id")} & self._own
        self._own -= mine
        return bool(mine) and entry.n > self._history_until

    def _said(self, blocks: list[dict[str, Any]]) -> None:
        """What somebody else asked, or what was asked before."""
        for block in blocks:
            self._wire.side.update(self.live.id, {"sessionUpdate": "user_message_chunk", "content": block})

    def _notice(self, body: dict[str, Any]) -> None:
        params = body.get("params")
        if isinstance(params, dict) and "sessionId" in params:
            params = {**params, "sessionId": self.live.id}
        self._wire.notify(body["method"], params)

    def _merged(self, update: str) -> str:
        """An agent's list of config options with gzia's in front."""
        value = json.loads(update)
        if value.get("sessionUpdate") != "config_option_update":
            return update
        return dumps({**value, "configOptions": [*self._ahead(), *value["configOptions"]]})


def is_mode(option: dict[str, Any]) -> bool:
    """Whether a config option of an agent chooses its mode."""
    return option.get("category") == "mode" or option.get("id") == "mode"


def answer_of(end: TurnEnd) -> dict[str, Any]:
    """The result of ``session/prompt``; raises what ended the turn without one."""
    if end.error:
        raise end.error
    return {**end.result, "stopReason": end.stop_reason}
