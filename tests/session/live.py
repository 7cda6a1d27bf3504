"""A live conversation with a scripted agent, for tests: real process, real journal, real record."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from gzia.agents.base import Posture
from gzia.driver.agent import Agent, Listener
from gzia.driver.turn import PermissionLevel, Place
from gzia.events.store import Events
from gzia.session import ids
from gzia.session.books import Books
from gzia.session.conversation import Conversation
from gzia.session.journal import Journal
from gzia.session.record import Record
from gzia.session.store import FileStore
from gzia.session.turns import TurnEnd
from gzia.system import clock
from gzia.transports import handshake
from tests.agents_for_tests import scripted

T = TypeVar("T")
ID = ids.parse("x1")
SOON = 60.0  # seconds that nothing in these tests may take, on a busy machine either


def talk(
    where: Path,
    script: dict[str, Any],
    work: Callable[[Conversation], Awaitable[T]],
    level: PermissionLevel = PermissionLevel.SUPERVISED,
) -> T:
    """Run ``work`` with an open conversation in ``where`` and close it."""
    return asyncio.run(asyncio.wait_for(_talk(where, script, work, level), SOON))


async def _talk(
    where: Path, script: dict[str, Any], work: Callable[[Conversation], Awaitable[T]], level: PermissionLevel
) -> T:
    conversation = build(where, script, level)
    await conversation.open()
    try:
        return await work(conversation)
    finally:
        await conversation.close()


def build(where: Path, script: dict[str, Any], level: PermissionLevel) -> Conversation:
    """A conversation that is not open yet."""
    store = FileStore(where)
    record = Record(ID, "running", clock.now(), provider="scripted", permission_level=level)
    store.create(record)
    spec = scripted(script)

    async def start(listener: Listener, resume: str) -> Agent:
        return await handshake.start(spec, Posture("any"), Place(str(where), resume), listener, marks={}, deadline=5)

    journal = Journal(store.layout.journal(ID), ID)
    return Conversation(journal, Books(store, Events(store.layout.events(ID)), record), level, start)


def say(text: str = "go") -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


def turn(
    where: Path, script: dict[str, Any], level: PermissionLevel = PermissionLevel.SUPERVISED, text: str = "go"
) -> TurnEnd:
    """One turn of one session."""

    async def work(conversation: Conversation) -> TurnEnd:
        return await conversation.prompt(say(text))

    return talk(where, script, work, level)


def lines(where: Path, kind: str = "") -> list[dict[str, Any]]:
    """The journal's lines (of a kind)."""
    path = FileStore(where).layout.journal(ID)
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in found if kind in ("", line["kind"])]


def record(where: Path) -> Record:
    return FileStore(where).get(ID)


def events(where: Path) -> list[tuple[str, str, str | None]]:
    """The action events as (action, stage, status)."""
    page = Events(FileStore(where).layout.events(ID)).read()
    return [(event.action, event.stage, event.status) for event in page.events]


async def until(conversation: Conversation, test: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Wait for a line of the journal; lines of updates come as the update."""
    follower = conversation.journal.follow()
    while entries := await follower.next():
        for entry in entries:
            body = json.loads(entry.line)
            if test(body):
                return dict(body)
    raise AssertionError("the journal ended before that line came")
