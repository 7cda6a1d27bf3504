"""One session of an editor: its choices, its live conversation, and what passes between them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from gzia.acp import content
from gzia.acp.events import Answer, Refused
from gzia.errors import GziaError, UsageError
from gzia.serve import options
from gzia.serve.options import Choices
from gzia.serve.pump import Pump
from gzia.serve.wire import Wire
from gzia.session.calls import ClientCall
from gzia.session.conversation import Conversation
from gzia.session.host import Host, Live, Wanted
from gzia.session.journal import Entry, dumps
from gzia.session.turns import TurnEnd
from gzia.system.tasks import told

CANCELLED = {"outcome": "cancelled"}
AUTONOMOUS = "autonomous"

T = TypeVar("T")
Accepted = tuple[Conversation, asyncio.Future[TurnEnd]]


class EditorSession:
    """What the editor calls a session.  Its id is gzia's session id, and stays when its choices change."""

    def __init__(self, wire: Wire, host: Host, wanted: Wanted, choices: Choices) -> None:
        self.choices = choices
        self._wire = wire
        self._host = host
        self._wanted = wanted
        self._questions: dict[str, int] = {}  # permission id -> our request to the editor
        self._live: Live | None = None
        self._pump: Pump | None = None
        self._last: asyncio.Task[Any] | None = None  # the newest step that was asked for
        self._replay_until = 0  # the last line that is history for this editor

    @property
    def id(self) -> str:
        """gzia's session id; the session must be open."""
        return self.live.id

    @property
    def live(self) -> Live:
        """The live session; GziaError when it could not be reopened."""
        if self._live is None:
            raise GziaError("session-broken", "This session could not be started again.", "open a new session")
        return self._live

    @property
    def conversation(self) -> Conversation:
        """The live conversation."""
        return self.live.conversation

    # -- opening -----------------------------------------------------------------------------------------------------

    async def open(self) -> dict[str, Any]:
        """Start it as its choices say; the result of ``session/new``."""
        choices = self.choices
        self._begun(await self._host.begin(self._wanted.chosen(choices.agent, choices.permission, choices.isolated)))
        self.choices = replace(choices, isolated=self.live.record.is_isolated)  # outside git nothing can be
        return self.described()

    async def reopen(self, *, replay: bool) -> dict[str, Any]:
        """Go on with a session that exists; the result of ``session/load`` (with ``replay``) or ``session/resume``.

        What was said before comes as updates, each once, before this returns.
        """
        live = await self._host.rejoin(self._wanted)
        self._begun(live)
        self.choices = Choices(live.record.provider, live.record.is_isolated, str(live.record.permission_level))
        self._replay_until = live.first_line if replay else 0
        self.attach(0 if replay else live.first_line)
        assert self._pump
        await self._pump.reached(self._replay_until)
        return self.described()

    def _begun(self, live: Live) -> None:
        self._live = live
        live.conversation.permissions.answerers = 1
        live.conversation.calls.taker = self._taken

    def attach(self, cursor: int = 0) -> None:
        """Begin to send updates, those after line ``cursor``; called when the editor knows the session's id."""
        follower = self.conversation.journal.follow(cursor)
        self._pump = Pump(self.id, follower, self._wire, self._merged, self._line)

    def described(self) -> dict[str, Any]:
        """The session as the editor is told: modes, config options, and what gzia adds."""
        facts = self.conversation.facts
        about = {
            "session": self.id,
            "agent": {"id": self.choices.agent, "name": facts.name, "version": facts.version},
            "isolated": self.live.record.is_isolated,
            "directory": self.live.directory,
        }
        shown = {"configOptions": self.config_options(), "_meta": {"gzia": about}}
        return {**shown, "modes": facts.modes} if facts.modes else shown

    def config_options(self) -> list[dict[str, Any]]:
        """gzia's options and the agent's."""
        return [*options.shown(self.choices, self._host.agents), *self.conversation.facts.config_options]

    # -- requests of the editor, one after another -------------------------------------------------------------------

    def _then(self, step: Callable[[], Awaitable[T]]) -> asyncio.Task[T]:
        """Do a step after those that were asked for before."""
        before = self._last

        async def run() -> T:
            if before:
                await asyncio.wait([before])
            return await step()

        task = asyncio.create_task(run())
        self._last = task
        return task

    def prompt(self, blocks: list[dict[str, Any]]) -> Awaitable[dict[str, Any]]:
        """Register a turn, at once unless a change is under way; its answer comes after all that the turn said."""
        if self._last is None or self._last.done():
            return self._told(self.conversation, self._accepted(blocks))
        return self._prompt_later(self._then(lambda: self._accept(blocks)))

    async def _prompt_later(self, accepted: Awaitable[Accepted]) -> dict[str, Any]:
        return await self._told(*await accepted)

    async def _accept(self, blocks: list[dict[str, Any]]) -> Accepted:
        return self.conversation, self._accepted(blocks)

    def _accepted(self, blocks: list[dict[str, Any]]) -> asyncio.Future[TurnEnd]:
        problem = content.unsupported(blocks, self.conversation.facts.capabilities.get("promptCapabilities") or {})
        if problem:
            raise UsageError("unsupported-content", problem, "leave it out or choose another agent")
        return self.conversation.prompt(blocks)

    async def _told(self, conversation: Conversation, ended: Awaitable[TurnEnd]) -> dict[str, Any]:
        end = await ended
        if self._pump:
            await self._pump.reached(conversation.journal.n)
        return answer_of(end)

    def set_mode(self, mode: str) -> Awaitable[dict[str, Any]]:
        """Put the agent into one of its own modes."""
        return self._then(lambda: self._set_mode(mode))

    async def _set_mode(self, mode: str) -> dict[str, Any]:
        self._check_mode(mode)
        await self.conversation.call("session/set_mode", {"modeId": mode})
        return {}

    def set_option(self, option: str, value: Any) -> Awaitable[dict[str, Any]]:
        """Change an option of gzia, or one of the agent; the result is the full list."""
        return self._then(lambda: self._set_option(option, value))

    async def _set_option(self, option: str, value: Any) -> dict[str, Any]:
        if options.is_ours(option):
            await self._choose(option, value)
        else:
            if any(one["id"] == option and is_mode(one) for one in self.conversation.facts.config_options):
                self._check_mode(value)
            params = {"configId": option, "value": value, **({"type": "boolean"} if isinstance(value, bool) else {})}
            self.conversation.changed(await self.conversation.call("session/set_config_option", params))
        return {"configOptions": self.config_options()}

    def _check_mode(self, mode: Any) -> None:
        """A mode of the agent must not lift the permission level of the session."""
        held = self.live.held
        if self.choices.permission != AUTONOMOUS and held and mode not in held:
            raise UsageError(
                "mode-not-allowed", f"The mode “{mode}” would lift the permission level “{self.choices.permission}”.",
                f"choose one of: {', '.join(sorted(held))}; or another permission in a new session",
            )  # fmt: skip

    async def _choose(self, option: str, value: Any) -> None:
        if not isinstance(value, str) or not options.allowed(option, value, self._host.agents):
            raise UsageError(
                "invalid-option-value", f"“{value}” is not a value of {option}.", "choose one that is shown"
            )
        choices = self.choices.changed(option, value)
        if choices == self.choices:
            return
        if self.conversation.was_prompted:
            settled = f"{option} is settled by the first prompt."
            raise UsageError("option-settled", settled, "open a new session to change it")
        before = self.choices
        self._wanted = replace(self._wanted, id=self.id)
        await self._end()
        self.choices = choices
        try:
            await self.open()
        except GziaError:
            self.choices = before
            await self.open()
            raise
        finally:
            if self._live:
                self.attach()
        if choices.isolated and not self.choices.isolated:
            raise UsageError(
                "not-a-repository",
                f"{self.live.directory} is not under git, so it has no worktrees.",
                "make it a repository",
            )

    def cancel(self) -> None:
        """Stop the running turn and those that wait."""
        if self._last and not self._last.done():
            self._then(self._cancel).add_done_callback(told)
        elif self._live:
            self.conversation.cancel()

    async def _cancel(self) -> None:
        if self._live:
            self.conversation.cancel()

    def close(self) -> Awaitable[None]:
        """End the agent.  A session that was never prompted leaves nothing behind."""
        if self._last and not self._last.done():
            self._last.cancel()  # a change that nobody will see
        return asyncio.shield(self._then(self._end))

    async def _end(self) -> None:
        live, self._live = self._live, None
        if live:
            await live.end()
        if self._pump:
            await asyncio.wait([self._pump.task])

    # -- lines of the journal ----------------------------------------------------------------------------------------

    def _line(self, entry: Entry) -> None:
        if entry.kind == "permission":
            self._permission(entry.body)
        elif entry.kind == "notice":
            self._notice(entry.body)
        elif entry.n <= self._replay_until and entry.body.get("input") == "prompt":
            self._said(entry.body["blocks"])

    def _said(self, blocks: list[dict[str, Any]]) -> None:
        """What the person asked, as history.  In a live turn the editor shows it by itself."""
        for block in blocks:
            self._wire.side.update(self.id, {"sessionUpdate": "user_message_chunk", "content": block})

    def _permission(self, body: dict[str, Any]) -> None:
        id = body["permission_id"]
        if body["state"] != "asked":
            if (request := self._questions.pop(id, None)) is not None:
                self._wire.withdraw(request)
        elif id in self.conversation.permissions.open:
            params = {"sessionId": self.id, "toolCall": body["tool_call"], "options": body["options"]}
            self._questions[id] = self._wire.ask(
                "session/request_permission", params, lambda event: self._answered(id, event)
            )

    def _answered(self, id: str, event: Answer | Refused) -> None:
        self._questions.pop(id, None)
        outcome = event.result["outcome"] if isinstance(event, Answer) else CANCELLED
        if self._live:
            self.conversation.answer(id, outcome, "editor")

    def _notice(self, body: dict[str, Any]) -> None:
        params = body["params"]
        if isinstance(params, dict) and "sessionId" in params:
            params = {**params, "sessionId": self.id}
        self._wire.notify(body["method"], params)

    def _merged(self, update: str) -> str:
        """An agent's list of config options with gzia's in front."""
        value = json.loads(update)
        if value.get("sessionUpdate") != "config_option_update":
            return update
        return dumps(
            {**value, "configOptions": [*options.shown(self.choices, self._host.agents), *value["configOptions"]]}
        )

    # -- files and terminals of the editor ---------------------------------------------------------------------------

    def _taken(self, call: ClientCall) -> bool:
        if not offers(self._wanted.client_capabilities, call.method):
            return False
        params = {**call.params, "sessionId": self.id}
        request = self._wire.ask(call.method, params, lambda event: given(call, event))
        call.withdrawn = lambda: self._wire.withdraw(request)
        return True


def is_mode(option: dict[str, Any]) -> bool:
    """Whether a config option of an agent chooses its mode."""
    return option.get("category") == "mode" or option.get("id") == "mode"


def given(call: ClientCall, event: Answer | Refused) -> None:
    """The editor's answer to a call of the agent."""
    if isinstance(event, Answer):
        call.give(event.result)
    else:
        call.deny(event.error.code, event.error.message)


def offers(capabilities: dict[str, Any], method: str) -> bool:
    """Whether a client with these ACP capabilities takes the method."""
    files = capabilities.get("fs") or {}
    room, _, verb = method.partition("/")
    if room == "fs":
        return bool(files.get({"read_text_file": "readTextFile", "write_text_file": "writeTextFile"}.get(verb, "")))
    return bool(capabilities.get(room))


def answer_of(end: TurnEnd) -> dict[str, Any]:
    """The result of ``session/prompt``; raises what ended the turn without one."""
    if end.error:
        raise end.error
    return {**end.result, "stopReason": end.stop_reason}
