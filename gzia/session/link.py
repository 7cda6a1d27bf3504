"""A session's link to its agent: one process after another, of which only the newest is heard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from gzia.driver.agent import Agent, AgentFacts, Listener, Steerer
from gzia.driver.observation import Heard, Sequencer
from gzia.errors import GziaError

Start = Callable[[Listener, str], Awaitable[Agent]]  # (who hears it, agent conversation to go on with) -> started agent
Hear = Callable[[Sequence[Heard]], None]


class Ear:
    """Listens to one process of the agent; what an earlier one still says is not heard any more."""

    def __init__(self, link: Link, connection: int, hear: Hear) -> None:
        self._link = link
        self._connection = connection
        self._hear = hear

    def heard(self, batch: Sequence[Heard]) -> None:
        """See gzia.driver.agent.Listener."""
        if self._connection == self._link.connection:
            self._hear(batch)


class Link:
    """The agent of one session; ``agent`` is None while it does not run, and ``gone`` says why."""

    def __init__(self, start: Start, hear: Hear) -> None:
        self.agent: Agent | None = None
        self.facts = AgentFacts("")
        self.gone = GziaError("agent-gone", "The agent of this session is not running.", "open a new session")
        self.untracked = ""  # the steer with which the agent began a turn of its own
        self.connection = 0  # counts the agent's processes
        self.sequencer = Sequencer()
        self._start = start
        self._hear = hear
        self._given_up: set[asyncio.Task[int]] = set()  # processes that are being ended

    async def open(self, resume: str) -> AgentFacts:
        """Start a process; with ``resume``, on the agent's own conversation of that id.  Raises GziaError."""
        self.connection += 1
        self.agent = await self._start(Ear(self, self.connection, self._hear), resume)
        self.sequencer = Sequencer()  # not before: what is told meanwhile follows what the last process did
        self.facts = self.agent.facts
        return self.facts

    def changed(self, told: dict[str, Any]) -> None:
        """The agent said that its config options or its mode are now these (an answer or an update)."""
        if isinstance(told.get("configOptions"), list):
            self.facts = replace(self.facts, config_options=tuple(told["configOptions"]))
        if self.facts.modes and isinstance(told.get("currentModeId"), str):
            self.facts = replace(self.facts, modes={**self.facts.modes, "currentModeId": told["currentModeId"]})

    @property
    def steerer(self) -> Steerer | None:
        """The agent, if it may be able to take a message into its turn."""
        agent: object = self.agent
        return agent if isinstance(agent, Steerer) else None

    def reply(self, key: Any, result: Any) -> None:
        """Answer a question of the agent, if it still runs."""
        if self.agent:
            self.agent.reply(key, result)

    # -- the end of a process ----------------------------------------------------------------------------------------

    def lost(self, why: GziaError) -> None:
        """The process is gone."""
        self.agent, self.gone = None, why

    def drop(self, why: GziaError) -> None:
        """Hear nothing more of the process, and end it."""
        self.give_up()
        self.connection += 1
        self.lost(why)

    def give_up(self) -> None:
        """End the process in the background; that it is lost is heard."""
        if self.agent:
            task = asyncio.create_task(self.agent.close())
            self._given_up.add(task)
            task.add_done_callback(self._given_up.discard)

    async def close(self) -> None:
        """End the process, and wait for those that are being ended."""
        if self.agent:
            await self.agent.close()
        await asyncio.gather(*self._given_up)
