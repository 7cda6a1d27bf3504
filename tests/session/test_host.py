"""Going on with a session that an earlier process left, with a real agent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gzia.agents.registry import Registry
from gzia.driver.turn import PermissionLevel
from gzia.errors import GziaError
from gzia.session import ids
from gzia.session.host import Host, Live, Wanted
from gzia.session.record import Record
from gzia.session.service import Service
from gzia.system import jsonl
from tests.agents_for_tests import scripted
from tests.session.live import SOON, say

T = TypeVar("T")
ID = ids.parse("a1")
DONE = {"result": {"stopReason": "end_turn"}}


def left(where: Path, *lines: dict[str, Any]) -> Service:
    """A session whose gzia is gone; ``lines`` are what its journal says."""
    service = Service(where)
    service.store.create(
        Record(ID, "failed", "2026-11-30T20:00:00Z", provider="scripted", agent_session_id="s1", working_dir=str(where),
               permission_level=PermissionLevel.SUPERVISED)
    )  # fmt: skip
    head = {"v": 1, "at": "2026-11-30T20:00:00Z", "session": ID}
    service.journal_path(ID).write_bytes(
        b"".join(jsonl.dump({**head, "n": n, **line}) for n, line in enumerate(lines, 1))
    )
    return service


def asked(turn: int, text: str) -> dict[str, Any]:
    return {"kind": "input", "input": "prompt", "turn": turn, "blocks": say(text)}


def rejoined(where: Path, work: Callable[[Live], Awaitable[T]]) -> T:
    """Go on with the session, and end it."""
    script = {"log": str(where / "log"), "session/prompt": [{"say": "ok"}, DONE]}

    async def play() -> T:
        live = await Host(Registry({"scripted": scripted(script)})).rejoin(Wanted(where, "", id=ID))
        try:
            return await work(live)
        finally:
            await live.end()

    return asyncio.run(asyncio.wait_for(play(), SOON))


def prompts(where: Path) -> list[str]:
    """What the agent was asked."""
    frames = [json.loads(line).get("in", {}) for line in (where / "log").read_text().splitlines()]
    return [one["params"]["prompt"][0]["text"] for one in frames if one.get("method") == "session/prompt"]


WAITING = [asked(1, "a"), {"kind": "turn", "turn": 1, "state": "started"}, asked(2, "b"), asked(3, "c")]


def test_what_waits_in_the_journal_runs_on_a_resume_and_the_unanswered_turn_does_not(tmp_path: Path) -> None:
    service = left(tmp_path, *WAITING)

    async def work(live: Live) -> list[int]:
        ends = [*live.conversation.resume_queue(), live.conversation.prompt(say("d"))]
        return [end.number for end in await asyncio.gather(*ends)]

    assert rejoined(tmp_path, work) == [2, 3, 4]
    assert prompts(tmp_path) == ["b", "c", "d"]
    assert (service.ledger(ID).waiting, service.ledger(ID).unanswered) == ((), (1,))


def test_opening_a_session_runs_nothing_and_leaves_what_waits(tmp_path: Path) -> None:
    service = left(tmp_path, *WAITING)

    async def work(live: Live) -> tuple[int, ...]:
        return live.conversation.held

    assert rejoined(tmp_path, work) == (2, 3)
    assert (prompts(tmp_path), [one.turn for one in service.ledger(ID).waiting]) == ([], [2, 3])


def test_a_session_whose_only_turn_waits_is_not_taken_for_one_that_was_never_prompted(tmp_path: Path) -> None:
    service = left(tmp_path, asked(1, "a"))

    async def work(live: Live) -> None:
        pass

    rejoined(tmp_path, work)

    assert [one.turn for one in service.ledger(ID).waiting] == [1]
    assert service.get(ID).status == "completed"


def test_a_journal_that_cannot_be_read_costs_nothing_but_the_attempt(tmp_path: Path) -> None:
    service = left(tmp_path)
    service.journal_path(ID).unlink()
    service.journal_path(ID).mkdir()

    async def work(live: Live) -> None:
        pytest.fail("it was opened")

    with pytest.raises(GziaError, match="cannot be read"):
        rejoined(tmp_path, work)

    assert (service.get(ID).status, service.get(ID).host_pid) == ("failed", None)
