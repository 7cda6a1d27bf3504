"""Skips the tests with real agents where there is no lab or no built file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.real import lab
from tests.real.world import World, world

Make = Callable[[str], World]


@pytest.fixture
def make(repo: Path) -> Iterator[Make]:
    """Makes the world of an agent; at the end nothing of it may be running."""
    if lab.find() is None:
        pytest.skip("no lab with real agents: GZIA_LAB names one")
    if not lab.GZIA.exists():
        pytest.skip("dist/gzia is not there: ./build.sh makes it")
    worlds: list[World] = []
    with ExitStack() as stack:

        def enter(agent: str) -> World:
            worlds.append(stack.enter_context(world(agent, Path(os.environ["HOME"]), repo)))
            return worlds[-1]

        yield enter
        assert [one.left_running() for one in worlds] == [[] for _ in worlds]
