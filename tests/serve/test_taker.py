"""What an editor is asked for an agent, and for how long."""

from __future__ import annotations

import asyncio
from typing import Any

from gzia.acp.agent import AgentSide
from gzia.driver.observation import Question
from gzia.serve.taker import Taker
from gzia.serve.wire import Wire
from gzia.session.calls import ClientCall


class FakeAgent:
    """Keeps what the agent is answered."""

    def __init__(self) -> None:
        self.answers: list[tuple[Any, Any]] = []
        self.answered = asyncio.Event()

    def reply(self, key: Any, result: Any) -> None:
        self.answers.append((key, result))
        self.answered.set()

    def refuse(self, key: Any, code: int, message: str) -> None:
        self.reply(key, code)


class FakeWriter:
    """An editor that reads and says nothing."""

    pending = 0

    def __init__(self) -> None:
        self.frames = b""

    def write(self, data: bytes) -> None:
        self.frames += data


async def asked(taker: Taker, agent: Any, key: str, method: str = "_vendor/drain") -> bool:
    """Whether the editor was asked; then until the agent has its answer."""
    agent.answered.clear()
    taken = taker.take(ClientCall(agent, Question(key, method, {})))
    if taken:
        await asyncio.wait_for(agent.answered.wait(), 10)
    return taken


def test_STE_03_after_three_silences_no_extension_is_asked() -> None:
    async def work() -> tuple[list[bool], list[Any], bytes]:
        writer: Any = FakeWriter()
        agent = FakeAgent()
        taker = Taker(Wire(AgentSide(), writer), "s1", {}, deadline=0.01)
        taken = [await asked(taker, agent, f"k{n}", f"_vendor/m{n}") for n in range(5)]
        return taken, agent.answers, writer.frames

    taken, answers, frames = asyncio.run(work())

    assert taken == [True, True, True, False, False]
    assert answers == [("k0", -32601), ("k1", -32601), ("k2", -32601)]
    assert frames.count(b'"$/cancel_request"') == 3


def test_a_call_that_was_withdrawn_is_no_silence() -> None:
    async def work() -> tuple[list[bool], list[Any]]:
        writer: Any = FakeWriter()
        agent: Any = FakeAgent()
        taker = Taker(Wire(AgentSide(), writer), "s1", {}, deadline=0.01)
        for n in range(5):
            call = ClientCall(agent, Question(f"w{n}", "_vendor/drain", {}))
            taker.take(call)
            call.withdrawn()
        return [await asked(taker, agent, f"k{n}") for n in range(3)], agent.answers

    taken, answers = asyncio.run(work())

    assert (taken, [key for key, _ in answers]) == ([True] * 3, ["k0", "k1", "k2"])


def test_files_have_no_deadline_and_fail_when_the_editor_goes() -> None:
    async def work() -> list[Any]:
        writer: Any = FakeWriter()
        agent: Any = FakeAgent()
        taker = Taker(Wire(AgentSide(), writer), "s1", {"fs": {"readTextFile": True}}, deadline=0.01)
        taker.take(ClientCall(agent, Question("file", "fs/read_text_file", {"path": "/x"})))
        await asked(taker, agent, "extension")
        before = list(agent.answers)
        taker.close()
        return [before, agent.answers]

    before, after = asyncio.run(work())

    assert before == [("extension", -32601)]
    assert after == [("extension", -32601), ("file", -32603)]


def test_what_an_editor_does_not_offer_is_not_asked() -> None:
    async def work() -> list[bool]:
        writer: Any = FakeWriter()
        agent: Any = FakeAgent()
        taker = Taker(Wire(AgentSide(), writer), "s1", {"fs": {"readTextFile": True}, "session": {"x": {}}})
        methods = ("fs/write_text_file", "terminal/create", "elicitation/create", "session/other", "mcp/message")
        return [taker.take(ClientCall(agent, Question(name, name, {}))) for name in methods]

    assert asyncio.run(work()) == [False] * 5
