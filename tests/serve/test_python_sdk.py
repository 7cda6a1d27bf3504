"""The official Python SDK (PyPI agent-client-protocol) drives ``gzia acp serve``: a client that is not ours."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import acp
from acp import schema

CHECKOUT = Path(__file__).parents[2]
T = TypeVar("T")


class Client:
    """A client of the SDK that keeps what it is told and answers permissions with the option of one kind."""

    def __init__(self, answer: str = "allow_once") -> None:
        self.answer = answer
        self.updates: list[Any] = []
        self.questions: list[Any] = []
        self.started = asyncio.Event()  # the turn has said something

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.updates.append(update)
        if isinstance(update, schema.AgentMessageChunk):
            self.started.set()

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **kwargs: Any
    ) -> schema.RequestPermissionResponse:
        self.questions.append(tool_call)
        chosen = next(option for option in options if option.kind == self.answer)
        outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    def text(self) -> str:
        chunks = [update for update in self.updates if isinstance(update, schema.AgentMessageChunk)]
        return "".join(chunk.content.text for chunk in chunks if isinstance(chunk.content, schema.TextContentBlock))


@asynccontextmanager
async def gzia(client: Client, cwd: Path, *args: str) -> AsyncIterator[tuple[Any, str]]:
    """A connection of the SDK to ``gzia acp serve`` and an open session in ``cwd``."""
    command = ("-m", "gzia", "acp", "serve", "-a", "demo", *args)
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
    either: Any = client  # it has the methods that are called here, not all of the SDK's protocol
    async with acp.spawn_agent_process(either, sys.executable, *command, env=environment, cwd=cwd) as (connection, _):
        await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await connection.new_session(cwd=str(cwd), mcp_servers=[])
        yield connection, session.session_id


def drive(work: Callable[[], Awaitable[T]]) -> T:
    async def bounded() -> T:
        return await asyncio.wait_for(work(), 30)

    return asyncio.run(bounded())


def test_a_prompt_is_answered_and_its_text_comes_before_the_answer(repo: Path) -> None:
    client = Client()

    async def work() -> tuple[str, str]:
        async with gzia(client, repo) as (connection, session):
            answer = await connection.prompt(session_id=session, prompt=[acp.text_block("say Hello from the demo")])
            return answer.stop_reason, client.text()

    assert drive(work) == ("end_turn", "Hello from the demo")


def test_an_allowed_permission_lets_the_agent_write_into_the_worktree(repo: Path) -> None:
    client = Client("allow_once")

    async def work() -> str:
        async with gzia(client, repo, "--isolate") as (connection, session):
            await connection.prompt(session_id=session, prompt=[acp.text_block("write new.txt hello")])
            return str(session)

    session = drive(work)

    assert [question.title for question in client.questions] != []
    assert not (repo / "new.txt").exists()
    assert (repo / ".harness/worktrees" / session / "new.txt").read_text().strip() == "hello"


def test_a_rejected_permission_keeps_the_agent_from_writing(repo: Path) -> None:
    client = Client("reject_once")

    async def work() -> str:
        async with gzia(client, repo) as (connection, session):
            answer = await connection.prompt(session_id=session, prompt=[acp.text_block("write new.txt hello")])
            return str(answer.stop_reason)

    assert drive(work) == "end_turn"
    assert len(client.questions) == 1
    assert not (repo / "new.txt").exists()


def test_a_cancelled_prompt_is_answered_cancelled_and_the_next_one_works(repo: Path) -> None:
    client = Client()

    async def work() -> list[str]:
        async with gzia(client, repo) as (connection, session):
            running = asyncio.create_task(
                connection.prompt(session_id=session, prompt=[acp.text_block("say wait for it\nhang")])
            )
            await client.started.wait()
            await connection.cancel(session_id=session)
            first = await running
            second = await connection.prompt(session_id=session, prompt=[acp.text_block("say again")])
            return [first.stop_reason, second.stop_reason]

    assert drive(work) == ["cancelled", "end_turn"]


def test_two_sessions_of_one_connection_run_side_by_side(repo: Path) -> None:
    client = Client()

    async def work() -> list[str]:
        async with gzia(client, repo) as (connection, first):
            second = (await connection.new_session(cwd=str(repo), mcp_servers=[])).session_id
            prompts = [connection.prompt(session_id=id, prompt=[acp.text_block("say hi")]) for id in (first, second)]
            return [answer.stop_reason for answer in await asyncio.gather(*prompts)]

    assert drive(work) == ["end_turn", "end_turn"]
