"""What a real pipe adds to the lane: frames that are taken in part, or not at all, and agents that die in between."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from gzia.agents.base import Posture
from gzia.driver.agent import Steerer
from gzia.driver.observation import Heard, Lost, PromptObservation, SteerObservation, UpdateObservation
from gzia.driver.steer import SteerOutcome, SteerRequest
from gzia.driver.turn import Place, Turn
from gzia.system.process import PIPE_BYTES
from gzia.transports import handshake
from gzia.transports.acp import AcpAgent
from tests.agents_for_tests import scripted

ABLE = {"protocolVersion": 1, "_meta": {"steering": {"supported": True}}}
SOON = 20.0  # seconds that nothing here may take
STOPPED = {"result": {"stopReason": "end_turn"}}


class Hearer:
    """A listener that keeps everything and can be waited for."""

    def __init__(self) -> None:
        self.all: list[Heard] = []
        self._changed = asyncio.Condition()
        self._woken: set[asyncio.Task[None]] = set()

    def heard(self, batch: Sequence[Heard]) -> None:
        self.all += batch
        task = asyncio.get_running_loop().create_task(self._wake())
        self._woken.add(task)
        task.add_done_callback(self._woken.discard)

    async def _wake(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def first(self, kind: type[Any]) -> Any:
        async with self._changed:
            await self._changed.wait_for(lambda: any(isinstance(one, kind) for one in self.all))
        return next(one for one in self.all if isinstance(one, kind))

    def outcomes(self) -> list[tuple[str, SteerOutcome]]:
        return [(one.steer_id, one.result.outcome) for one in self.all if isinstance(one, SteerObservation)]

    def kinds(self) -> list[str]:
        return [type(one).__name__ for one in self.all]


def play(where: Path, script: dict[str, Any], work: Callable[[AcpAgent, Hearer], Awaitable[None]]) -> Hearer:
    """Run ``work`` with a started agent."""

    async def run() -> Hearer:
        hearer = Hearer()
        spec = scripted({"initialize": [{"result": ABLE}], **script})
        agent = await handshake.start(spec, Posture("any"), Place(str(where)), hearer, marks={}, deadline=5)
        try:
            await work(agent, hearer)
        finally:
            await agent.close()
        return hearer

    return asyncio.run(asyncio.wait_for(run(), SOON))


def text(words: str = "use blue") -> SteerRequest:
    return SteerRequest([{"type": "text", "text": words}])


def begin(agent: AcpAgent, words: str = "go") -> None:
    agent.prompt(Turn(1, ({"type": "text", "text": words},)))


def test_an_acp_agent_is_a_steerer(tmp_path: Path) -> None:
    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        assert isinstance(agent, Steerer)
        assert agent.facts.steering == "acp"

    play(tmp_path, {}, work)


def test_a_steer_in_one_burst_with_its_prompt_is_told_before_the_end_of_the_turn(tmp_path: Path) -> None:
    script = {
        "session/prompt": [{"wait": "_session/steering"}, {"after": 0.01}, {"say": "blue"}, STOPPED],
        "_session/steering": [{"result": {"outcome": "injected"}}],
    }

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("a", text())
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.kinds()[:3] == ["SteerObservation", "UpdateObservation", "PromptObservation"]
    assert hearer.outcomes() == [("a", SteerOutcome.INJECTED)]


def test_updates_in_the_grace_come_between_the_answer_and_the_end_of_the_turn(tmp_path: Path) -> None:
    script = {
        "session/prompt": [{"wait": "_session/steering"}, STOPPED, {"say": "late"}],
        "_session/steering": [],
    }

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("a", text())
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.kinds()[:4] == ["PromptAnswered", "UpdateObservation", "SteerObservation", "PromptObservation"]
    assert hearer.outcomes() == [("a", SteerOutcome.DELIVERY_UNKNOWN)]
    ordered = (SteerObservation, UpdateObservation, PromptObservation)
    orders = [one.order_sequence for one in hearer.all if isinstance(one, ordered)]
    assert orders == sorted(orders)


def test_half_a_frame_in_the_pipe_of_a_process_that_ends_was_never_delivered(tmp_path: Path) -> None:
    script = {"session/prompt": [{"say": "busy"}, {"freeze": True}]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(UpdateObservation)
        agent.steer("half", text("x" * 4 * PIPE_BYTES))
        agent.steer("behind", text())
        assert agent.process.stdin.pending > 0
        await agent.process.end(0)
        await hearer.first(Lost)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("half", SteerOutcome.FALLBACK_REQUIRED), ("behind", SteerOutcome.FALLBACK_REQUIRED)]
    assert not any(one.result.write_admitted for one in hearer.all if isinstance(one, SteerObservation))
    assert isinstance(hearer.all[-1], Lost)


def test_a_whole_frame_in_the_pipe_of_a_process_that_ends_may_have_been_read(tmp_path: Path) -> None:
    script = {"session/prompt": [{"say": "busy"}, {"freeze": True}]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(UpdateObservation)
        agent.steer("whole", text())
        await agent.process.end(0)
        await hearer.first(Lost)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("whole", SteerOutcome.DELIVERY_UNKNOWN)]


def test_what_waits_behind_a_busy_pipe_can_be_taken_back(tmp_path: Path) -> None:
    script = {"session/prompt": [{"say": "busy"}, {"freeze": True}]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(UpdateObservation)
        agent.steer("half", text("x" * 4 * PIPE_BYTES))
        agent.steer("behind", text())
        assert not agent.withdraw("half")
        assert agent.withdraw("behind")
        await hearer.first(SteerObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes()[0] == ("behind", SteerOutcome.FALLBACK_REQUIRED)


def test_a_steer_with_what_the_agent_does_not_take_is_not_tried(tmp_path: Path) -> None:
    script = {"session/prompt": [{"say": "busy"}, {"wait": "_session/steering"}, STOPPED]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("picture", SteerRequest([{"type": "image", "data": "", "mimeType": "image/png"}]))
        await hearer.first(SteerObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("picture", SteerOutcome.UNSUPPORTED)]


def test_STE_01_a_turn_that_nobody_owns_can_be_cancelled(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = {
        "log": str(log),
        "session/prompt": [{"wait": "_session/steering"}, STOPPED],
        "_session/steering": [{"result": {"outcome": "startedNewTurn"}}, {"say": "on my own"}],
        "session/cancel": [{"say": "stopped"}],
    }

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("a", text())
        await hearer.first(PromptObservation)
        agent.cancel()
        await hearer.first(SteerObservation)

    hearer = play(tmp_path, script, work)

    assert hearer.outcomes() == [("a", SteerOutcome.DELIVERED_UNTRACKABLE)]
    assert '"session/cancel"' in log.read_text()


@pytest.mark.parametrize("method", ["_vendor/drainMessages", "craft/drainMidTurnQueue"])
def test_STE_03_an_agent_that_asks_for_waiting_messages_gets_an_answer_at_once(tmp_path: Path, method: str) -> None:
    log = tmp_path / "log"
    script = {
        "log": str(log),
        "session/prompt": [{"request": method, "params": {"sessionId": "$session"}, "id": "d1"}, STOPPED],
    }

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        question = await hearer.first(object)
        if not isinstance(question, PromptObservation):
            agent.refuse(question.key, -32601, "no client offers it")  # as a session without a taker does
        await hearer.first(PromptObservation)

    play(tmp_path, script, work)

    assert '"code": -32601' in log.read_text()
    assert '"d1"' in log.read_text()
