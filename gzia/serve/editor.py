"""The ACP agent that an editor sees: its requests become sessions, turns and answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from gzia.acp.agent import AgentSide
from gzia.errors import ConflictError, UsageError
from gzia.serve import answers, verbs
from gzia.serve.desk import Desk, Handler, Told
from gzia.serve.options import Choices
from gzia.serve.session import EditorSession
from gzia.serve.wire import Wire
from gzia.session.host import Host, Wanted
from gzia.session.ids import parse
from gzia.system.pump import Writer


class Editor:
    """One connected editor and its sessions.  ``mistaken`` takes note of a bug that one request met."""

    def __init__(self, host: Host, writer: Writer, choices: Choices, mistaken: Callable[[Exception], object]) -> None:
        self._side = AgentSide(handles=verbs.EXTENSIONS)
        self._wire = Wire(self._side, writer)
        self._host = host
        self._choices = choices
        self._mistaken = mistaken
        self._capabilities: dict[str, Any] = {}
        self._sessions: dict[str, EditorSession] = {}
        self._ends: list[asyncio.Future[None]] = []  # of sessions that go on no longer, after the editor has gone
        methods: dict[str, Handler] = {
            **verbs.handlers(self._session),
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/new": self._new,
            "session/load": lambda params: self._reopen(params, replay=True),
            "session/resume": lambda params: self._reopen(params, replay=False),
            "session/list": self._list,
            "session/close": self._close,
            "session/set_config_option": self._set_option,
        }
        self._desk = Desk(self._wire, methods, self._cancelled, mistaken)

    def received(self, data: bytes) -> None:
        """Take bytes from the editor (b"" at its end)."""
        for event in self._side.receive_data(data):
            self._desk.take(event)
        self._wire.flush()

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
        return Told({"sessionId": session.id, **described}, session.attach)

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
        return EditorSession(self._wire, self._host, wanted, self._choices, self._mistaken)

    async def _list(self, params: dict[str, Any]) -> Any:
        directory = absolute(params["cwd"]) if params.get("cwd") else Path.cwd()
        return {"sessions": await asyncio.to_thread(self._host.known, directory)}

    def _cancelled(self, session_id: str) -> None:
        if session := self._sessions.get(session_id):
            verbs.cancel(session)

    def _close(self, params: dict[str, Any]) -> Awaitable[Any]:
        session = self._session(params)
        del self._sessions[params["sessionId"]]
        return closed(session.close())

    def _set_option(self, params: dict[str, Any]) -> Awaitable[Any]:
        return self._session(params).set_option(params["configId"], params["value"])

    def _session(self, params: dict[str, Any]) -> EditorSession:
        id = parse(params.get("sessionId"))
        session = self._sessions.get(id)
        if session is None:
            raise answers.not_open(id)
        return session

    # -- the end -----------------------------------------------------------------------------------------------------

    async def deserted(self) -> None:
        """The editor has gone: nothing is answered any more.  Wait for the guests that have joined its sessions."""
        self._desk.stop()

        async def end(session: EditorSession) -> None:
            await session.deserted()
            self._ends.append(session.close())  # who serves the editor does not wait for that for ever

        await asyncio.gather(*(end(session) for session in self._sessions.values()))

    async def close(self) -> None:
        """End every session and what it started."""
        open = self._desk.stop()
        sessions, self._sessions = list(self._sessions.values()), {}
        await asyncio.gather(*(session.close() for session in sessions), *open, return_exceptions=True)


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
