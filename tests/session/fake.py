"""An agent without a process: what it does, and in which order, is the test's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from gzia.driver.agent import AgentFacts, Listener
from gzia.driver.errors import SteerAdmissionError
from gzia.driver.observation import (
    Heard,
    Lost,
    PromptAnswered,
    PromptObservation,
    Question,
    SteerObservation,
    UpdateObservation,
)
from gzia.driver.steer import SteerOutcome, SteerRequest, SteerResult
from gzia.driver.turn import Block, PermissionLevel, Turn
from gzia.errors import GziaError
from gzia.events.store import Events
from gzia.session import ledger
from gzia.session.books import Books
from gzia.session.conversation import Conversation, Fallback, Steering
from gzia.session.ids import SessionId
from gzia.session.journal import Draft, Journal
from gzia.session.record import Record
from gzia.session.store import FileStore
from gzia.session.turns import TurnEnd
from gzia.system import clock
from tests.schemas import schema
from tests.session.live import ID, SOON, say

T = TypeVar("T")
OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


class Mute:
    """An agent that runs turns and takes nothing into them."""

    def __init__(self, listener: Listener, pid: int) -> None:
        self.facts = AgentFacts("c1", name="fake", pid=pid, identity="never")
        self.turns: list[Turn] = []
        self.cancels = 0
        self.replies: list[tuple[Any, Any]] = []
        self.sequence = 0
        self._listener = listener
        self._is_gone = False

    # -- what the conversation calls ---------------------------------------------------------------------------------

    def prompt(self, turn: Turn) -> None:
        self.turns.append(turn)

    def cancel(self) -> None:
        self.cancels += 1

    def reply(self, key: Any, result: Any) -> None:
        self.replies.append((key, result))

    def refuse(self, key: Any, code: int, message: str) -> None:
        self.replies.append((key, code))

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        return {}

    async def close(self) -> int:
        self.die()
        return 0

    # -- what the test calls -----------------------------------------------------------------------------------------

    @property
    def texts(self) -> list[str]:
        """What it was prompted with."""
        return [str(turn.blocks[0]["text"]) for turn in self.turns]

    def hears(self, *batch: Heard) -> None:
        """Everything of one read."""
        self._listener.heard(batch)

    def update(self, event: dict[str, Any], raw: dict[str, Any]) -> UpdateObservation:
        self.sequence += 1
        return UpdateObservation(event, json.dumps(raw), self.sequence, self.sequence)

    def said(self, text: str) -> UpdateObservation:
        raw = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        return self.update({"kind": "text_delta", "text": text}, raw)

    def answered(self, stop_reason: str = "end_turn") -> PromptObservation:
        self.sequence += 1
        return PromptObservation(stop_reason, {"stopReason": stop_reason}, True, self.sequence, self.sequence)

    def says(self, text: str) -> None:
        self.hears(self.said(text))

    def answers(self, stop_reason: str = "end_turn") -> None:
        self.hears(self.answered(stop_reason))

    def is_done(self) -> None:
        """It has answered its prompt, and a steer is open."""
        self.hears(PromptAnswered())

    def asks(self, key: int) -> None:
        params = {"toolCall": {"toolCallId": "t1", "title": "Write", "kind": "edit"}, "options": OPTIONS}
        self.hears(Question(key, "session/request_permission", params))

    def die(self) -> None:
        if not self._is_gone:
            self._is_gone = True
            self.hears(Lost(GziaError("agent-exited", "It is dead.", "start it again")))


class Able(Mute):
    """One that can be steered, too; up to two at a time."""

    def __init__(self, listener: Listener, pid: int) -> None:
        super().__init__(listener, pid)
        self.steers: dict[str, list[Block]] = {}
        self.limit = 2

    def steer(self, steer_id: str, request: SteerRequest) -> None:
        if len(self.steers) >= self.limit:
            raise SteerAdmissionError(self.limit)
        self.steers[steer_id] = request.blocks

    def withdraw(self, steer_id: str) -> bool:
        self.settles(steer_id, SteerOutcome.FALLBACK_REQUIRED, "taken back")
        return True

    def settled(self, steer_id: str, outcome: SteerOutcome, reason: str = "") -> SteerObservation:
        self.steers.pop(steer_id, None)
        written = outcome in (
            SteerOutcome.INJECTED,
            SteerOutcome.DELIVERED_UNTRACKABLE,
            SteerOutcome.DELIVERY_UNKNOWN,
        )
        self.sequence += 1
        at = self.sequence if written else 0
        return SteerObservation(steer_id, SteerResult(outcome, reason, written, at, at, self.sequence).validate())

    def settles(self, steer_id: str, outcome: SteerOutcome, reason: str = "") -> None:
        self.hears(self.settled(steer_id, outcome, reason))


class Spy(Journal):
    """A journal that remembers what was written together, and whose disk can be full."""

    def __init__(self, path: Path, session: str) -> None:
        super().__init__(path, session)
        self.writes: list[tuple[tuple[str, ...], bool]] = []
        self.is_full = False

    def write(self, drafts: Sequence[Draft], *, durable: bool = False) -> None:
        if self.is_full and drafts:
            raise GziaError("journal-not-writable", "The disk is full.", "free some space")
        super().write(drafts, durable=durable)
        if drafts:
            self.writes.append((tuple(word(one) for one in drafts), durable))


def word(one: Draft) -> str:
    body = one.body if isinstance(one.body, dict) else {}
    return f"{one.kind} {body.get('input') or body.get('state') or body.get('acted') or ''}".strip()


class Watched(FileStore):
    """A store that remembers each status that it stored."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.statuses: list[str] = []

    def update(self, id: SessionId, change: Callable[[Record], object]) -> Record:
        record = super().update(id, change)
        self.statuses.append(record.status)
        return record


class Stage:
    """A conversation with fakes.  ``agents`` are its processes, the newest last."""

    def __init__(self, where: Path, kind: type[Mute] = Able) -> None:
        self.where = where
        self.store = Watched(where)
        self.agents: list[Mute] = []
        self.journal = Spy(self.store.layout.journal(ID), ID)
        record = self.store.get(ID)
        books = Books(self.store, Events(self.store.layout.events(ID)), record)
        self._kind = kind
        owed = ledger.read(self.store.layout.journal(ID))
        self.conversation = Conversation(self.journal, books, record.permission_level, self._start, owed)

    async def _start(self, listener: Listener, resume: str) -> Mute:
        self.agents.append(self._kind(listener, 1000 + len(self.agents)))
        return self.agents[-1]

    @property
    def agent(self) -> Able:
        assert isinstance(self.agents[-1], Able)
        return self.agents[-1]

    @property
    def writes(self) -> list[tuple[tuple[str, ...], bool]]:
        """What was written since the last look: the words of the lines of each write, and whether it is durable."""
        taken, self.journal.writes = self.journal.writes, []
        return taken

    def asks(self, *texts: str) -> list[asyncio.Future[TurnEnd]]:
        """A turn for each text."""
        return [self.conversation.prompt(say(text)) for text in texts]

    def steers(self, text: str, fallback: Fallback = Fallback.REFUSE, *, id: str = "") -> Steering:
        return self.conversation.steer(SteerRequest(say(text)), steer_id=id, fallback=fallback)

    def record(self) -> Record:
        return self.store.get(ID)


def new(where: Path, level: PermissionLevel = PermissionLevel.SUPERVISED) -> None:
    """A session without a journal."""
    FileStore(where).create(Record(ID, "running", clock.now(), provider="fake", permission_level=level))


def played(where: Path, work: Callable[[Stage], Awaitable[T]], *, kind: type[Mute] = Able, crash: bool = False) -> T:
    """Run ``work`` on a stage with an open conversation, and close it; ``crash`` leaves all as it is instead.

    What it wrote must be journal lines.
    """

    async def play() -> T:
        if not FileStore(where).layout.record(ID).exists():
            new(where)
        stage = Stage(where, kind)
        await stage.conversation.open()
        stage.journal.writes.clear()  # what opening wrote is of no interest
        try:
            return await work(stage)
        finally:
            if crash:
                stage.journal.close()
            else:
                await stage.conversation.close()

    result = asyncio.run(asyncio.wait_for(play(), SOON))
    lines = schema("observation")
    for line in FileStore(where).layout.journal(ID).read_text(encoding="utf-8").splitlines():
        lines.validate(json.loads(line))
    return result


async def soon() -> None:
    """Let what was put off for this round of the loop happen."""
    await asyncio.sleep(0)


async def later(seconds: float) -> None:
    """Wait until every timer of this loop that was due before then has run."""
    due: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(seconds, due.set_result, None)
    await due
