"""The ACP agent that an editor sees: its requests become sessions, turns and answers.

Requests run side by side, one task each.  A handler is a plain call that registers what its request begins and gives
what must be awaited, so that a prompt and its cancel in one burst of lines meet in the right order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from gzia.acp.agent import AgentSide
from gzia.acp.errors import INTERNAL_ERROR, METHOD_NOT_FOUND, REQUEST_CANCELLED
from gzia.acp.events import Answer, ClientNotification, ClientRequest, Refused
from gzia.errors import ConflictError, GziaError, NotFoundError, UsageError
from gzia.serve import answers
from gzia.serve.options import Choices
from gzia.serve.session import EditorSession
from gzia.serve.wire import Wire
from gzia.session.host import Host, Wanted
from gzia.session.ids import SessionId, parse
from gzia.system.pump import Writer

Handler = Callable[[dict[str, Any]], Awaitable[Any]]


class Editor:
    """One connected editor and its sessions.  ``mistaken`` takes note of a bug that one request met."""

    def __init__(self, host: Host, writer: Writer, choices: Choices, mistaken: Callable[[Exception], object]) -> None:
        self._side = AgentSide()
        self._wire = Wire(self._side, writer)
        self._host = host
        self._mistaken = mistaken
        self._choices = choices
        self._capabilities: dict[str, Any] = {}
        self._sessions: dict[str, EditorSession] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: dict[Any, str] = {}  # open session/prompt requests -> session id
        self._methods: dict[str, Handler] = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/new": self._new,
            "session/load": lambda params: self._reopen(params, replay=True),
            "session/resume": lambda params: self._reopen(params, replay=False),
            "session/list": self._list,
            "session/prompt": self._prompt,
            "session/close": self._close,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
        }

    # -- bytes -------------------------------------------------------------------------------------------------------

    def received(self, data: bytes) -> None:
        """Take bytes from the editor (b"" at its end)."""
        for event in self._side.receive_data(data):
            if isinstance(event, ClientRequest):
                self._requested(event)
            elif isinstance(event, ClientNotification):
                self._notified(event)
            elif isinstance(event, Answer | Refused):
                self._wire.settle(event)
        self._wire.flush()

    def _requested(self, event: ClientRequest) -> None:
        handler = self._methods.get(event.method)
        if handler is None:
            self._side.reply_error(event.id, METHOD_NOT_FOUND, f"gzia does not offer {event.method}")
            return
        if event.method == "session/prompt":
            self._running[event.id] = event.params["sessionId"]
        try:
            result = handler(event.params or {})
        except GziaError as error:
            self._running.pop(event.id, None)
            self._side.reply_error(event.id, *answers.error(error))
            return
        work = asyncio.create_task(self._answered(event, result))
        self._tasks.add(work)
        work.add_done_callback(self._tasks.discard)

    async def _answered(self, event: ClientRequest, coming: Awaitable[Any]) -> None:
        try:
            result = await coming
        except GziaError as error:
            self._wire.reply_error(event.id, *answers.error(error))
        except Exception as bug:  # noqa: BLE001  # one request's bug must not take the other sessions along
            self._mistaken(bug)
            self._wire.reply_error(event.id, INTERNAL_ERROR, f"a bug in gzia: {type(bug).__name__}")
        except asyncio.CancelledError:
            self._wire.reply_error(event.id, REQUEST_CANCELLED, "the session was closed")
            raise
        else:
            self._wire.reply(event.id, result)
            if event.method == "session/new":
                self._sessions[result["sessionId"]].attach()
        finally:
            self._running.pop(event.id, None)

    def _notified(self, event: ClientNotification) -> None:
        params = event.params if isinstance(event.params, dict) else {}
        if event.method == "session/cancel":
            session = self._sessions.get(params.get("sessionId", ""))
        elif event.method == "$/cancel_request":
            session = self._sessions.get(self._running.get(params.get("requestId"), ""))
        else:
            return
        if session:
            session.cancel()

    # -- requests ----------------------------------------------------------------------------------------------------

    async def _initialize(self, params: dict[str, Any]) -> Any:
        self._capabilities = params.get("clientCapabilities") or {}
        return answers.initialize()

    async def _authenticate(self, params: dict[str, Any]) -> Any:
        raise UsageError("no-login", "gzia itself needs no login.", "log in with the agent's own program")

    async def _new(self, params: dict[str, Any]) -> Any:
        session = self._made(params, "")
        described = await session.open()
        self._sessions[session.id] = session
        return {"sessionId": session.id, **described}

    async def _reopen(self, params: dict[str, Any], *, replay: bool) -> Any:
        id = parse(params["sessionId"])
        if id in self._sessions:
            raise ConflictError("session-open", f"This connection has session {id} open already.", "go on with it")
        session = self._made(params, id)
        described = await session.reopen(replay=replay)
        self._sessions[id] = session
        return described

    def _made(self, params: dict[str, Any], id: str) -> EditorSession:
        wanted = Wanted(
            absolute(params["cwd"]), self._choices.agent, id=id, mcp_servers=tuple(params.get("mcpServers") or ()),
            client_capabilities=self._capabilities,
        )  # fmt: skip
        return EditorSession(self._wire, self._host, wanted, self._choices)

    async def _list(self, params: dict[str, Any]) -> Any:
        directory = absolute(params["cwd"]) if params.get("cwd") else Path.cwd()
        return {"sessions": await asyncio.to_thread(self._host.known, directory)}

    def _prompt(self, params: dict[str, Any]) -> Awaitable[Any]:
        return self._session(params).prompt(params["prompt"])

    def _close(self, params: dict[str, Any]) -> Awaitable[Any]:
        session = self._session(params)
        del self._sessions[params["sessionId"]]
        return closed(session.close())

    def _set_mode(self, params: dict[str, Any]) -> Awaitable[Any]:
        return self._session(params).set_mode(params["modeId"])

    def _set_option(self, params: dict[str, Any]) -> Awaitable[Any]:
        return self._session(params).set_option(params["configId"], params["value"])

    def _session(self, params: dict[str, Any]) -> EditorSession:
        id: SessionId = parse(params["sessionId"])
        session = self._sessions.get(id)
        if session is None:
            raise NotFoundError(
                "session-not-open", f"This connection has no open session “{id}”.", "load it, or open a new one"
            )
        return session

    # -- the end -----------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End every session and what it started."""
        for task in self._tasks:
            task.cancel()
        sessions, self._sessions = list(self._sessions.values()), {}
        await asyncio.gather(*(session.close() for session in sessions), *self._tasks, return_exceptions=True)


async def closed(closing: Awaitable[None]) -> dict[str, Any]:
    """The result of ``session/close``, when it is done."""
    await closing
    return {}


def absolute(path: str) -> Path:
    """A directory that an editor names; UsageError unless it is an absolute path."""
    if not Path(path).is_absolute():
        raise UsageError(
            "relative-directory", f"cwd must be an absolute path, and “{path}” is none.", "give the whole path"
        )
    return Path(path)
