"""Bytes through descriptors of every kind: whole, in order, and nobody waits."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import tty
from collections.abc import Callable
from pathlib import Path

import pytest

from gzia.system.pump import BURST_BYTES, READ_BYTES, Reader, Writer
from tests.system.watching import BOUND, Output, in_loop

MIB = 1024 * 1024


def pipe() -> tuple[int, int]:
    """Reading and writing end; both as a process inherits them: blocking."""
    return os.pipe()


def sockets() -> tuple[int, int]:
    ours, theirs = socket.socketpair()
    return ours.detach(), theirs.detach()


def terminal() -> tuple[int, int]:
    """A terminal that passes every byte; what is written to the second can be read from the first."""
    controller, end = os.openpty()
    tty.setraw(end)
    return controller, end


KINDS = [pipe, sockets, terminal]
both_ways = pytest.mark.parametrize("make", KINDS)


@both_ways
def test_everything_that_is_written_arrives_whole_and_in_order(make: Callable[[], tuple[int, int]]) -> None:
    async def scenario() -> None:
        source, target = make()
        output = Output()
        reader, writer = Reader(source, output), Writer(target)
        reader.start()
        pieces = [os.urandom(size) for size in (1, 0, 65_535, 65_536, 65_537, 300_000, 2)]

        for piece in pieces:
            writer.write(piece)
        async with asyncio.timeout(BOUND):
            await writer.drained()
        await writer.close(BOUND)
        await output.end()

        reader.close()
        assert (output.data, output.ends) == (b"".join(pieces), 1)

    asyncio.run(scenario())


@both_ways
def test_the_writer_never_waits_and_never_changes_what_others_share(make: Callable[[], tuple[int, int]]) -> None:
    async def scenario() -> None:
        source, target = make()
        shared = os.dup(target)
        writer = Writer(target)

        writer.write(bytes(4 * MIB))  # nobody reads

        assert 0 < writer.pending <= 4 * MIB
        assert os.get_blocking(shared)
        writer.abort()
        assert writer.pending == 0
        os.close(source)
        os.close(shared)

    asyncio.run(scenario())


@in_loop
async def test_64_mib_go_through_a_pipe_while_others_have_their_turn() -> None:
    data = os.urandom(MIB) * 64
    source, target = pipe()
    output, turns = [], 0
    done = asyncio.Event()

    def take(piece: bytes) -> None:
        output.append(piece)
        if not piece:
            done.set()

    async def count() -> None:
        nonlocal turns
        while not done.is_set():
            turns += 1
            await asyncio.sleep(0)

    reader, writer = Reader(source, take), Writer(target)
    reader.start()
    writer.write(data)
    counting = asyncio.create_task(count())
    await writer.close(BOUND)
    await done.wait()
    await counting

    reader.close()
    assert b"".join(output) == data
    assert turns >= len(data) // BURST_BYTES
    assert max(map(len, output)) <= READ_BYTES


@in_loop
async def test_memory_is_given_back_as_it_goes() -> None:
    source, target = pipe()
    os.set_blocking(source, False)
    writer = Writer(target)
    for _ in range(64):
        writer.write(bytes(MIB))
    left = [writer.pending]

    while writer.pending:
        drain(source)
        await asyncio.sleep(0)
        left.append(writer.pending)

    assert left == sorted(left, reverse=True)
    writer.abort()
    os.close(source)


def drain(fd: int) -> None:
    try:
        while os.read(fd, MIB):
            pass
    except BlockingIOError:
        pass


@in_loop
async def test_drained_waits_until_little_enough_is_pending() -> None:
    source, target = pipe()
    os.set_blocking(source, False)
    writer = Writer(target)
    writer.write(bytes(3 * MIB))
    half = asyncio.create_task(writer.drained(MIB))
    whole = asyncio.create_task(writer.drained())
    await writer.drained(3 * MIB)

    while not half.done():
        assert not whole.done()
        drain(source)
        await asyncio.sleep(0)

    assert writer.pending <= MIB
    writer.abort()
    await whole
    os.close(source)


@in_loop
async def test_what_the_system_has_is_written_at_once() -> None:
    source, target = pipe()
    writer = Writer(target)
    told: list[str] = []

    writer.when_written(lambda: told.append("nothing"))
    writer.write(b"x")
    writer.when_written(lambda: told.append("x"))

    assert told == ["nothing", "x"]
    writer.abort()
    os.close(source)


@in_loop
async def test_a_frame_is_written_with_its_last_byte_whatever_waits_behind_it() -> None:
    source, target = pipe()
    os.set_blocking(source, False)
    writer = Writer(target)
    told: list[tuple[str, bool]] = []

    for name in ("first", "second"):
        writer.write(bytes(MIB))
        writer.when_written(lambda name=name: told.append((name, writer.pending > 0)))  # type: ignore[misc]
    while writer.pending:
        assert (len(told) > 0) == (writer.pending <= MIB)
        drain(source)
        await asyncio.sleep(0)

    assert told == [("first", True), ("second", False)]
    writer.abort()
    os.close(source)


@in_loop
async def test_who_is_told_that_it_is_written_may_write_on() -> None:
    source, target = pipe()
    output = Output()
    reader, writer = Reader(source, output), Writer(target)
    told: list[int] = []

    def go_on() -> None:
        told.append(len(told))
        if len(told) < 4:
            writer.write(bytes([len(told)]) * 300_000)
            writer.when_written(go_on)

    go_on()
    reader.start()
    async with asyncio.timeout(BOUND):
        await writer.drained()
    await writer.close(BOUND)

    assert await output.end() == b"".join(bytes([n]) * 300_000 for n in (1, 2, 3))
    assert told == [0, 1, 2, 3]
    reader.close()


@pytest.mark.parametrize("end", ["reader", "abort", "close"])
@in_loop
async def test_half_a_frame_is_never_told_as_written(end: str) -> None:
    source, target = pipe()
    told: list[str] = []
    broken: asyncio.Future[OSError] = asyncio.get_running_loop().create_future()
    writer = Writer(target, broken.set_result)
    writer.write(bytes(4 * MIB))
    writer.when_written(lambda: told.append("half"))
    assert 0 < writer.pending < 4 * MIB

    if end == "reader":
        os.close(source)
        await asyncio.wait_for(broken, BOUND)
    elif end == "abort":
        writer.abort()
    else:
        await writer.close(0.01)
    writer.when_written(lambda: told.append("late"))
    await asyncio.sleep(0)

    assert (told, writer.is_closed) == ([], True)
    if end != "reader":
        os.close(source)


@in_loop
async def test_a_frame_that_was_taken_is_told_although_the_next_one_breaks() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    theirs.setblocking(False)
    broken: asyncio.Future[OSError] = asyncio.get_running_loop().create_future()
    writer = Writer(ours.detach(), broken.set_result)
    told: list[str] = []
    while not writer.pending:
        writer.write(bytes(1000))
    for name, size in (("taken", 10), ("larger than any datagram", 64 * MIB)):
        writer.write(bytes(size))
        writer.when_written(lambda name=name: told.append(name))  # type: ignore[misc]

    with theirs:
        while not broken.done():
            drain(theirs.fileno())
            await asyncio.sleep(0)

    assert ((await broken).errno, told) == (errno.EMSGSIZE, ["taken"])


@in_loop
async def test_close_gives_up_after_its_time_and_closes() -> None:
    source, target = pipe()
    writer = Writer(target)
    writer.write(bytes(MIB))

    await writer.close(0.01)
    writer.write(b"too late")

    with os.fdopen(source, "rb") as rest:
        assert 0 < len(rest.read()) < MIB
    assert writer.pending == 0
    await writer.close(0.01)


async def broken(make: Callable[[], tuple[int, int]], data: bytes) -> list[int | None]:
    """The errors that a writer reports whose reader goes away before, or while, ``data`` is written."""
    source, target = make()
    errors: list[int | None] = []
    reported = asyncio.Event()

    def note(error: OSError) -> None:
        errors.append(error.errno)
        reported.set()

    writer = Writer(target, note)
    writer.write(data)
    os.close(source)
    writer.write(data)
    assert errors == []  # never from inside of write
    await asyncio.wait_for(reported.wait(), BOUND)
    writer.write(data)
    await writer.drained()
    await asyncio.sleep(0)
    assert writer.pending == 0
    return errors


@pytest.mark.parametrize(
    ("make", "data", "error"),
    [
        (pipe, b"x", errno.EPIPE),
        (pipe, bytes(MIB), errno.EPIPE),
        (sockets, b"x", errno.EPIPE),
        (sockets, bytes(MIB), errno.EPIPE),
        (terminal, b"x", errno.EIO),
        (terminal, bytes(MIB), errno.EIO),
    ],
)
def test_a_reader_that_is_gone_is_reported_once(make: Callable[[], tuple[int, int]], data: bytes, error: int) -> None:
    assert asyncio.run(broken(make, data)) == [error]


@in_loop
async def test_a_pipes_reader_is_missed_before_anything_is_written() -> None:
    source, target = pipe()
    missed: asyncio.Future[OSError] = asyncio.get_running_loop().create_future()
    writer = Writer(target, missed.set_result)

    os.close(source)

    assert (await asyncio.wait_for(missed, BOUND)).errno == errno.EPIPE
    writer.abort()


@in_loop
async def test_a_full_disk_is_a_break() -> None:
    full: asyncio.Future[OSError] = asyncio.get_running_loop().create_future()
    writer = Writer(os.open("/dev/full", os.O_WRONLY), full.set_result)

    writer.write(b"x")

    assert (await asyncio.wait_for(full, BOUND)).errno == errno.ENOSPC


@in_loop
async def test_regular_files_are_written_and_read_to_the_end(tmp_path: Path) -> None:
    data = os.urandom(3 * MIB)
    path = tmp_path / "file"
    writer = Writer(os.open(path, os.O_WRONLY | os.O_CREAT))
    writer.write(data)
    await writer.close(BOUND)
    output = Output()

    reader = Reader(os.open(path, os.O_RDONLY), output)
    reader.start()
    await output.end()

    reader.close()
    assert (path.read_bytes(), output.data, output.ends) == (data, data, 1)


@in_loop
async def test_dev_null_takes_everything_and_ends_at_once() -> None:
    output = Output()
    writer = Writer(os.open(os.devnull, os.O_WRONLY))
    reader = Reader(os.open(os.devnull, os.O_RDONLY), output)

    writer.write(bytes(MIB))
    reader.start()

    assert (writer.pending, await output.end(), output.ends) == (0, b"", 1)
    writer.abort()
    reader.close()


@in_loop
async def test_a_terminal_whose_program_ended_is_an_end() -> None:
    controller, end = terminal()
    output = Output()
    reader = Reader(controller, output)
    reader.start()
    os.write(end, b"bye")

    os.close(end)

    assert (await output.end(), output.ends) == (b"bye", 1)
    reader.close()


@in_loop
async def test_a_reset_connection_is_an_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        peer = socket.create_connection(server.getsockname())
        ours, _ = server.accept()
    output = Output()
    reader = Reader(ours.detach(), output)
    reader.start()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    peer.close()

    assert (await output.end(), output.ends) == (b"", 1)
    reader.close()


@pytest.mark.parametrize("make", [pipe, sockets, terminal])
def test_a_paused_reader_delivers_nothing_and_loses_nothing(make: Callable[[], tuple[int, int]]) -> None:
    async def scenario() -> None:
        source, target = make()
        output = Output()
        reader = Reader(source, output)
        reader.start()
        reader.pause()
        os.write(target, b"waiting")
        for _ in range(10):
            await asyncio.sleep(0)
        assert output.data == b""

        reader.resume()
        reader.resume()
        os.close(target)

        assert (await output.end(), output.ends) == (b"waiting", 1)
        reader.close()

    asyncio.run(scenario())


@in_loop
async def test_a_paused_file_waits_too(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(2 * READ_BYTES))
    output = Output()
    reader = Reader(os.open(tmp_path / "file", os.O_RDONLY), output)
    reader.start()
    await asyncio.sleep(0)
    reader.pause()
    before = len(output.data)
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(output.data) == before <= READ_BYTES

    reader.resume()

    assert len(await output.end()) == 2 * READ_BYTES
    reader.close()


@in_loop
async def test_a_reader_can_be_closed_by_who_it_delivers_to() -> None:
    source, target = pipe()
    got: list[bytes] = []
    closed = asyncio.Event()

    def take(data: bytes) -> None:
        got.append(data)
        reader.close()
        closed.set()

    reader = Reader(source, take)
    reader.start()
    os.write(target, b"once")
    await asyncio.wait_for(closed.wait(), BOUND)
    os.close(target)
    for _ in range(10):
        await asyncio.sleep(0)

    assert got == [b"once"]
    reader.close()


@in_loop
async def test_finish_delivers_what_is_there_then_the_end_though_the_pipe_is_held() -> None:
    source, target = pipe()
    os.set_blocking(source, False)
    output = Output()
    reader = Reader(source, output)
    os.write(target, b"x" * 50_000)

    reader.finish(READ_BYTES)
    reader.finish(READ_BYTES)

    assert (len(output.data), output.ends) == (50_000, 1)
    reader.close()
    os.close(target)


@in_loop
async def test_finish_is_not_kept_by_somebody_who_goes_on_writing() -> None:
    source, target = pipe()
    os.set_blocking(source, False)
    got: list[bytes] = []

    def take_and_refill(data: bytes) -> None:
        got.append(data)
        os.write(target, b"x" * 1000)

    reader = Reader(source, take_and_refill)
    os.write(target, b"x" * 1000)

    reader.finish(10_000)

    assert got == [b"x" * 1000] * 10 + [b""]
    reader.close()
    os.close(target)


@in_loop
async def test_no_reader_takes_more_than_one_piece_before_the_others_have_theirs() -> None:
    order: list[str] = []
    readers = []
    for name in "ab":
        source, target = pipe()
        data = bytes(65_536)
        os.set_blocking(target, False)
        os.write(target, data)
        os.close(target)
        readers.append(Reader(source, lambda piece, name=name: order.append(name)))  # type: ignore[misc]
    for reader in readers:
        reader.start()

    for _ in range(10):
        await asyncio.sleep(0)

    assert sorted(order[:2]) == sorted(order[2:]) == ["a", "b"]
    for reader in readers:
        reader.close()


@in_loop
async def test_standard_streams_stay_open() -> None:
    spare = [os.dup(fd) for fd in (0, 1)]
    source, target = pipe()
    try:
        os.dup2(source, 0)
        os.dup2(target, 1)
        reader, writer = Reader(0, Output()), Writer(1)
        reader.close()
        writer.abort()
        assert [os.fstat(0).st_ino, os.fstat(1).st_ino] == [os.fstat(source).st_ino, os.fstat(target).st_ino]
    finally:
        for number, fd in enumerate(spare):
            os.dup2(fd, number)
        for fd in (*spare, source, target):
            os.close(fd)
