"""One session under test, as gzia has it: the real conversation and the real transport, and a judge that watches."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar, TypeVar, cast

from hypothesis.stateful import RuleBasedStateMachine, invariant

from gzia.acp import steering
from gzia.driver.agent import Agent, AgentFacts, Listener
from gzia.driver.errors import SteerAdmissionError
from gzia.driver.lane import GRACE
from gzia.driver.turn import PermissionLevel
from gzia.errors import GziaError
from gzia.events.store import Events
from gzia.session import ledger
from gzia.session.books import Books
from gzia.session.conversation import Conversation, Steering
from gzia.session.record import Record
from gzia.session.store import FileStore
from gzia.session.turns import TurnEnd
from gzia.system import clock
from gzia.system.process import Process
from gzia.transports.acp import AcpAgent
from tests.model.judge import Judge, WatchedJournal
from tests.model.process import Program
from tests.session.live import ID
from tests.virtual_time import VirtualLoop

T = TypeVar("T")
HELLO = {"protocolVersion": 1, "_meta": steering.capability()}
NEVER = 100.0  # seconds after which everything is over, however the agent behaves
PATIENCE = 500  # times that an agent that behaves is let go on


class Stage(RuleBasedStateMachine):
    """``place``: where its files lie; ``steps`` and ``seen`` count over all examples."""

    place: ClassVar[Path]
    steps: ClassVar[int] = 0
    seen: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.where = Path(tempfile.mkdtemp(dir=self.place))
        self.judge = Judge(self.seen)
        self.texts = 0
        self.processes: list[Program] = []
        self.ends: list[asyncio.Future[TurnEnd]] = []
        self.steerings: list[Steering] = []
        self.is_hurried = False
        self.is_refuted = False
        FileStore(self.where).create(Record(ID, "running", clock.now(), provider="pretended"))
        self.begin()

    def begin(self) -> None:
        """A process of gzia takes the session up."""
        self.loop = VirtualLoop()
        store = FileStore(self.where)
        path = store.layout.journal(ID)
        owed = ledger.read(path)
        self.ends, self.steerings = [], []
        self.journal = WatchedJournal(path, ID)
        self.journal.durable = self.journal.n
        self.judge.watch(self.journal, self.loop)
        books = Books(store, Events(store.layout.events(ID)), store.get(ID))
        self.conversation = self.loop.do(
            lambda: Conversation(self.journal, books, PermissionLevel.SUPERVISED, self.start, owed)
        )
        self.conversation.permissions.answerers = 1
        self.start_takes, self.start_fails = 0.0, False
        self.age = 0  # steps that this process has seen
        self.loop.finish(self.conversation.open(), within=0)

    async def start(self, listener: Listener, resume: str) -> Agent:
        await asyncio.sleep(self.start_takes)
        if self.start_fails:
            self.start_fails = False
            raise GziaError("agent-not-found", "It is not there.", "install it")
        program = Program(len(self.processes) + 1, self.judge)
        self.processes.append(program)
        agent = AcpAgent(cast(Process, program), listener, "pretender")
        agent.opened(AgentFacts("c1", name="pretender", pid=program.pid, identity=program.identity), HELLO)
        return agent

    @property
    def agent(self) -> Program:
        return self.processes[-1]

    def do(self, call: Callable[[], T]) -> T:
        """One step: in a hurry, what it sets off has not happened when the next one comes."""
        type(self).steps += 1
        self.age += 1
        self.is_refuted = True
        result = self.loop.do(call)
        if not self.is_hurried:
            self.loop.settle()
        self.is_refuted = False
        return result

    def text(self) -> str:
        self.texts += 1
        return f"message {self.texts}"

    def refusable(self, ask: Callable[[], object], *codes: str) -> None:
        def refused() -> None:
            try:
                ask()
            except GziaError as error:
                assert error.code in codes, error
                self.seen[error.code] += 1
                assert not isinstance(error, SteerAdmissionError) or error.result.outcome.retry_safe

        self.do(refused)

    def killed(self) -> None:
        """SIGKILL: what was written stays, everything else is gone, the agent too; another gzia takes over."""
        self.judge.catch_up()
        left = Path(shutil.copytree(self.where, tempfile.mkdtemp(dir=self.place), dirs_exist_ok=True))
        self.throw_away()
        self.where = left
        self.judge.killed(ledger.read(FileStore(left).layout.journal(ID)))
        self.begin()

    def throw_away(self) -> None:
        self.journal.close()
        self.loop.abandon()
        shutil.rmtree(self.where)

    # -- what must hold ----------------------------------------------------------------------------------------------

    @invariant()
    def what_is_told_is_true(self) -> None:
        self.is_refuted = True
        self.check()
        self.is_refuted = False

    def check(self) -> None:
        for fault in self.loop.faults:  # what a callback or a task raised, the judge's verdicts in it among them
            raise fault.get("exception") or AssertionError(fault)
        self.judge.catch_up()
        if not self.is_hurried:
            self.settled()

    def settled(self) -> None:
        if self.journal.has_gaps:
            return
        self.judge.on_time()
        running = self.conversation.turn
        assert [*self.conversation.waiting] == [one for one in self.judge.waiting if one != running]
        assert [*self.conversation.held] == self.judge.held
        assert running or not self.judge.waiting, "turns wait and none runs"

    def teardown(self) -> None:
        try:
            if not self.is_refuted:
                self.end()
        finally:
            self.throw_away()

    def end(self) -> None:
        self.is_hurried = False
        self.loop.settle()
        self.check()
        [self.close, self.agent_goes_on, self.agent_dies][self.texts % 3]()
        self.check()
        self.judge.finish()
        self.everybody_was_told()

    def close(self) -> None:
        self.loop.finish(self.conversation.close(), within=NEVER)

    def agent_dies(self) -> None:
        self.loop.do(self.agent.die)
        self.loop.settle()
        self.close()

    def agent_goes_on(self) -> None:
        """It behaves from now on: everything ends without being closed."""
        self.start_takes = 0.0
        for _ in range(PATIENCE):
            if not self.conversation.turn:
                break
            self.loop.do(self._behaves)
            self.loop.advance(GRACE)
            self.check()
        self.everybody_was_told()
        self.close()

    def _behaves(self) -> None:
        agent = self.agent
        agent.flow()
        for message in agent.open(is_steer=True) + agent.open(is_steer=False):
            agent.answer(message, "promptRequired" if message.is_steer else "end_turn")

    def everybody_was_told(self) -> None:
        """Whoever asked has one answer, and it is that of the journal."""
        self.judge.catch_up()
        for future in self.ends:
            end = future.result()
            line = self.judge.turns[end.number].end
            assert self.journal.has_gaps or (line and line["stop_reason"] == end.stop_reason), (line, end)
        for one in self.steerings:
            steered, note = one.settled.result(), one.noted.result()
            seen = self.judge.steers[one.steer_id]
            if steered.n and seen.line:
                assert (steered.n, steered.result.outcome) == (seen.line["n"], seen.line["outcome"])
                turns = [one.number for one in self.judge.turns.values() if one.steer is seen]
                assert turns == ([steered.queued] if steered.queued else [])
                assert note is None or (seen.note and seen.note["acted"] == note["acted"])
            else:
                assert self.journal.has_gaps
