"""Begins and ends live sessions, for an editor, a terminal and a script alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from gzia.agents.base import AgentSpec
from gzia.agents.registry import Registry
from gzia.driver.agent import Agent, Listener
from gzia.driver.turn import PermissionLevel, Place
from gzia.errors import GziaError, NotFoundError
from gzia.events.store import Events
from gzia.session.books import GIVEN_UP, Books
from gzia.session.conversation import Conversation
from gzia.session.journal import Journal, draft
from gzia.session.ledger import Ledger
from gzia.session.record import Record
from gzia.session.service import Service
from gzia.transports import handshake

T = TypeVar("T")

TITLE_LIMIT = 100  # characters


@dataclass(frozen=True, slots=True)
class Wanted:
    """A session to begin, or to go on with (then ``agent`` may be empty).  Outside git nothing is isolated."""

    directory: Path
    agent: str
    level: PermissionLevel = PermissionLevel.SUPERVISED
    isolate: bool = True
    id: str = ""
    base: str = "HEAD"
    model: str = ""
    prompt: str = ""
    mcp_servers: tuple[dict[str, Any], ...] = ()
    client_capabilities: dict[str, Any] = field(default_factory=dict)

    def chosen(self, agent: str, level: str, isolate: bool, id: str = "") -> Wanted:
        """The same session with other choices."""
        return replace(self, agent=agent, level=PermissionLevel(level), isolate=isolate, id=id or self.id)


@dataclass(frozen=True, slots=True)
class Live:
    """A session whose agent runs in this process."""

    service: Service
    record: Record
    conversation: Conversation
    first_line: int  # the journal's last line before this process went on with the session
    held: frozenset[str]  # the agent's modes that stand for the permission level; empty: any

    @property
    def id(self) -> str:
        """gzia's session id."""
        return self.record.id

    @property
    def directory(self) -> str:
        """Where the agent works."""
        return place_of(self.record, self.service.root)

    async def end(self) -> None:
        """End the agent; a session that was never prompted and holds no work is removed again."""
        await self.conversation.close()
        if not self.conversation.was_prompted:
            await asyncio.to_thread(self.service.discard, self.id)


class Host:
    """Where sessions are begun.  ``registry`` are the agents that can be chosen."""

    def __init__(self, registry: Registry, *, handshake: float = handshake.DEADLINE) -> None:
        self._registry = registry
        self._deadline = handshake

    @property
    def agents(self) -> Mapping[str, str]:
        """Agent ids and their names."""
        return {spec.id: spec.name for spec in self._registry.specs.values()}

    def known(self, directory: Path) -> list[dict[str, Any]]:
        """The sessions of a project, the newest first, as ACP's ``session/list`` tells them.  Blocks."""
        return [listed(record, directory) for record in reversed(Service(directory).list().records)]

    async def begin(self, wanted: Wanted) -> Live:
        """A new session with a started agent.  When the agent does not start, nothing is left of it."""
        spec = self._agent(wanted.agent, wanted.level)
        service = await asyncio.to_thread(Service, wanted.directory)
        record = await undone(
            lambda: service.create(
                id=wanted.id, provider=spec.id, permission_level=wanted.level, prompt=wanted.prompt,
                isolate=wanted.isolate, base=wanted.base, model=wanted.model,
            ),
            partial(self._let_go, service),
        )  # fmt: skip
        return await self._started(service, record, spec, wanted)

    async def rejoin(self, wanted: Wanted) -> Live:
        """A session that exists, with its agent on its own earlier conversation."""
        service = await asyncio.to_thread(Service, wanted.directory)
        known = await asyncio.to_thread(service.get, wanted.id)
        spec = self._agent(wanted.agent or known.provider, known.permission_level)
        if not known.agent_session_id:
            raise NotFoundError(
                "not-resumable", f"The agent of session {known.id} never began a conversation.", "start a new session"
            )
        record = await undone(
            lambda: service.claim(wanted.id),
            partial(self._let_go, service),
        )
        return await self._started(service, record, spec, wanted)

    def _agent(self, id: str, level: PermissionLevel) -> AgentSpec:
        """The agent, if it can be held to the level and is there."""
        spec = self._registry.get(id)
        spec.posture(level)
        if spec.located() is None:
            raise spec.not_found()
        return spec

    async def _started(self, service: Service, record: Record, spec: AgentSpec, wanted: Wanted) -> Live:
        try:
            owed = await asyncio.to_thread(service.ledger, record.id)
            live = self._live(service, record, spec, wanted, owed)
        except BaseException as error:
            reason = error.message if isinstance(error, GziaError) else GIVEN_UP
            await asyncio.shield(asyncio.to_thread(self._let_go, service, record, reason))
            raise
        try:
            await live.conversation.open(record.agent_session_id)
        except BaseException as error:
            live.conversation.failed(error)
            await live.end()
            raise
        return live

    def _live(self, service: Service, record: Record, spec: AgentSpec, wanted: Wanted, owed: Ledger) -> Live:
        level = record.permission_level
        posture = spec.posture(level)
        place = Place(
            place_of(record, service.root), mcp_servers=wanted.mcp_servers,
            model=wanted.model or record.model, client_capabilities=offered(wanted.client_capabilities, level),
        )  # fmt: skip
        marks = {"GZIA_SESSION": record.id, "GZIA_ROOT": str(service.root)}

        async def start(listener: Listener, resume: str) -> Agent:
            here = replace(place, resume=resume)
            return await handshake.start(spec, posture, here, listener, marks=marks, deadline=self._deadline)

        journal = Journal(service.journal_path(record.id), record.id)
        first_line = journal.n
        if first_line == 0:
            journal.write([draft("session", None, {"state": "opened", "record": record.to_json()})], durable=True)
        books = Books(service.store, Events(service.layout.events(record.id)), record)
        conversation = Conversation(journal, books, level, start, owed)
        return Live(service, record, conversation, first_line, posture.modes)

    def _let_go(self, service: Service, record: Record, reason: str = GIVEN_UP) -> None:
        """A session whose agent was never started: a new one is removed, an old one is as it was, with the reason."""
        books = Books(service.store, Events(service.layout.events(record.id)), record)
        books.failed(reason)
        books.closed()
        if not books.turns and not was_asked(service, record):
            service.discard(record.id)


def listed(record: Record, directory: Path) -> dict[str, Any]:
    """A session as ``session/list`` tells it; ``directory`` is where it is looked at from."""
    return {
        "sessionId": record.id,
        "cwd": str(record.worktree_dir or record.working_dir or directory),
        "title": record.title or record.initial_prompt.strip()[:TITLE_LIMIT] or None,
        "updatedAt": record.finished_at or record.started_at,
    }


def was_asked(service: Service, record: Record) -> bool:
    """Whether a turn was ever asked for; a journal that cannot be read may hold one."""
    try:
        return service.ledger(record.id).turns > 0
    except GziaError:
        return True


def place_of(record: Record, root: Path) -> str:
    """Where the agent of a session works: in its worktree, in the directory that it was started from."""
    if not record.is_isolated:
        return record.working_dir
    started, worktree = Path(record.working_dir), Path(record.worktree_dir)
    if started.is_relative_to(root) and not started.is_relative_to(root / ".harness"):
        inside = worktree / started.relative_to(root)
        if inside.is_dir():
            return str(inside)
    return str(worktree)


async def undone(work: Callable[[], T], undo: Callable[[T], None]) -> T:
    """The result of ``work``, done in a thread, which cannot be stopped: when this is cancelled, ``undo`` follows."""
    working = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(working)
    except asyncio.CancelledError:
        await asyncio.wait([working])
        if not working.exception():
            await asyncio.shield(asyncio.to_thread(undo, working.result()))
        raise


def offered(capabilities: dict[str, Any], level: PermissionLevel) -> dict[str, Any]:
    """What gzia offers an agent for its client: what that client offers, less what the level forbids."""
    passed = ("fs", "terminal", "session", "elicitation")
    kept: dict[str, Any] = {name: capabilities[name] for name in passed if name in capabilities}
    if level is PermissionLevel.READONLY and kept:
        kept["fs"] = {**(kept.get("fs") or {}), "writeTextFile": False}
        kept["terminal"] = False
    return kept
