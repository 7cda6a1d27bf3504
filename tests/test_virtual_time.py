"""The clock of the model check keeps its word, or that check would prove nothing."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator

import pytest

from tests.virtual_time import VirtualLoop


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    made = VirtualLoop()
    yield made
    made.abandon()


def test_a_long_wait_takes_no_time_and_ends_not_a_moment_too_early(loop: VirtualLoop) -> None:
    began = time.monotonic()
    task = loop.start(asyncio.sleep(3600, "woken"))

    loop.advance(3599.999)
    early = task.done()
    loop.advance(0.001)

    assert (early, task.result()) == (False, "woken")
    assert time.monotonic() - began < 5


def test_timers_fire_in_their_order_and_each_at_its_time(loop: VirtualLoop) -> None:
    began, seen = loop.now, list[float]()

    def again() -> None:
        seen.append(loop.time() - began)
        if len(seen) < 4:
            loop.call_later(0.5, again)

    loop.call_later(2.0, again)
    loop.call_later(1.0, lambda: seen.append(loop.time() - began))
    loop.advance(10)

    assert seen == [1.0, 2.0, 2.5, 3.0]
    assert loop.now == began + 10


def test_a_cancelled_timer_does_not_fire_and_stops_nothing(loop: VirtualLoop) -> None:
    seen = list[str]()

    loop.call_later(1.0, seen.append, "cancelled").cancel()
    loop.call_later(1.0, seen.append, "kept")
    loop.advance(1.0)

    assert seen == ["kept"]


def test_settling_follows_a_chain_of_any_length(loop: VirtualLoop) -> None:
    async def chain(length: int) -> int:
        for _ in range(length):
            await asyncio.sleep(0)
        return length

    task = loop.start(chain(500))
    loop.settle()

    assert task.result() == 500


def test_one_round_leaves_what_it_sets_off_for_the_next(loop: VirtualLoop) -> None:
    seen = list[str]()

    result = loop.do(lambda: loop.call_soon(seen.append, "set off"))
    before = list(seen)
    loop.round()

    assert (before, seen) == ([], ["set off"])
    assert isinstance(result, asyncio.Handle)


def test_a_timer_that_is_due_at_once_belongs_to_what_settles(loop: VirtualLoop) -> None:
    seen = list[str]()

    loop.do(lambda: loop.call_later(0, lambda: loop.call_later(0, seen.append, "fired")))
    loop.settle()

    assert seen == ["fired"]


def test_a_descriptor_that_stays_silent_blocks_nothing_and_one_that_speaks_is_heard(loop: VirtualLoop) -> None:
    mine, theirs = os.pipe()
    seen = list[bytes]()
    loop.add_reader(mine, lambda: seen.append(os.read(mine, 10)))

    loop.settle()
    silent = list(seen)
    os.write(theirs, b"word")
    loop.settle()
    loop.remove_reader(mine)
    os.close(mine)
    os.close(theirs)

    assert (silent, seen) == ([], [b"word"])


def test_what_nobody_awaited_is_a_fault(loop: VirtualLoop) -> None:
    loop.do(lambda: loop.call_soon(lambda: 1 / 0))
    loop.settle()

    assert [type(fault["exception"]) for fault in loop.faults] == [ZeroDivisionError]


def test_work_that_needs_more_time_than_it_was_given_is_an_error(loop: VirtualLoop) -> None:
    with pytest.raises(asyncio.InvalidStateError):
        loop.finish(asyncio.sleep(2.0), within=1.0)

    assert loop.finish(asyncio.sleep(2.0, "done"), within=2.0) == "done"
