"""What the tests of steering share: a scripted agent as a process, somebody who hears it, and what it received."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from gzia.agents.base import Posture
from gzia.driver.observation import Heard, SteerObservation
from gzia.driver.steer import SteerOutcome, SteerRequest, SteerResult
from gzia.driver.turn import Place, Turn
from gzia.transports import handshake
from gzia.transports.acp import AcpAgent
from tests.agents_for_tests import scripted

Json = dict[str, Any]

SOON = 20.0  # seconds that nothing here may take
ABLE: Json = {"protocolVersion": 1, "_meta": {"steering": {"supported": True}}}
STEERING = "_session/steering"
END: Json = {"result": {"stopReason": "end_turn"}}
GO, OVER = "_test/go", "_test/over"  # requests by which a test moves the script on: see ``move``
UNTIL_OVER: list[Json] = [{"wait": OVER}, END]


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

    async def first(self, kind: type[Any], count: int = 1) -> Any:
        """The one that makes ``count`` of this kind, when it comes."""
        async with self._changed:
            await self._changed.wait_for(lambda: len(self.of(kind)) >= count)
        return self.of(kind)[count - 1]

    def of(self, kind: type[Any]) -> list[Any]:
        return [one for one in self.all if isinstance(one, kind)]

    def results(self) -> dict[str, SteerResult]:
        """What was told of each steer, which must be told once."""
        told = self.of(SteerObservation)
        assert len({one.steer_id for one in told}) == len(told)
        return {one.steer_id: one.result for one in told}

    def outcomes(self) -> list[tuple[str, SteerOutcome]]:
        return [(one.steer_id, one.result.outcome) for one in self.of(SteerObservation)]

    def kinds(self) -> list[str]:
        return [type(one).__name__ for one in self.all]


def play(where: Path, script: Json, work: Callable[[AcpAgent, Hearer], Awaitable[None]], hello: Json = ABLE) -> Hearer:
    """Run ``work`` with a started agent whose answer to ``initialize`` is ``hello``; what was heard until then."""

    async def run() -> Hearer:
        hearer = Hearer()
        moves: Json = {GO: [{"result": {}}], OVER: [{"result": {}}]}
        spec = scripted({"initialize": [{"result": hello}], "log": str(where / "log"), **moves, **script})
        agent = await handshake.start(spec, Posture("any"), Place(str(where)), hearer, marks={}, deadline=5)
        try:
            await work(agent, hearer)
            heard = list(hearer.all)
        finally:
            await agent.close()
        hearer.all = heard
        return hearer

    return asyncio.run(asyncio.wait_for(run(), SOON))


def received(where: Path) -> list[Json]:
    """The frames that reached the agent, but for the moves of the test and the handshake."""
    frames = [json.loads(line).get("in") for line in (where / "log").read_text().splitlines()]
    kept = [frame for frame in frames if isinstance(frame, dict)]
    return [frame for frame in kept if frame.get("method") not in ("initialize", "session/new", GO, OVER)]


def methods(where: Path) -> list[str]:
    return [frame.get("method", "answer") for frame in received(where)]


async def move(agent: AcpAgent, method: str = GO) -> None:
    """Let the script go on where it waits; all that it says then has been heard."""
    await agent.call(method, {"sessionId": agent.facts.agent_session_id})


def text(words: str = "use blue") -> SteerRequest:
    return SteerRequest([{"type": "text", "text": words}])


def begin(agent: AcpAgent, words: str = "go") -> None:
    agent.prompt(Turn(1, ({"type": "text", "text": words},)))
