"""Which descriptor is written to in which way."""

from __future__ import annotations

import os
import select
import socket
from pathlib import Path

import pytest

from gzia.system.sink import PieceSink, Sink, SocketSink, sink_for

NOBODY = 65534


def fill(sink: Sink) -> int:
    """Write until there is no room."""
    written = 0
    try:
        while True:
            written += sink.send(memoryview(bytes(100_000)))
    except BlockingIOError:
        return written


def test_a_piece_fits_or_is_refused_so_a_blocking_pipe_never_blocks() -> None:
    source, target = os.pipe()
    sink = PieceSink(target)

    assert sink.send(memoryview(bytes(100_000))) == select.PIPE_BUF
    assert fill(sink) > 0
    assert os.get_blocking(target)

    os.read(source, select.PIPE_BUF)
    assert sink.send(memoryview(b"x")) == 1
    sink.close()
    os.close(source)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up and take back its identity")
def test_a_pipe_of_another_user_is_written_in_pieces() -> None:
    source, target = os.pipe()
    os.seteuid(NOBODY)
    try:
        sink = sink_for(target)
    finally:
        os.seteuid(0)

    assert type(sink) is PieceSink
    assert sink.can_tell
    sink.close()
    os.close(source)


def test_a_blocking_socket_is_never_waited_for() -> None:
    ours, theirs = socket.socketpair()
    sink = sink_for(ours.detach())

    assert type(sink) is SocketSink
    assert fill(sink) > 0
    sink.close()
    theirs.close()


def test_a_pipe_with_an_open_file_of_its_own_is_full_and_not_stuck() -> None:
    source, target = os.pipe()
    sink = sink_for(target)

    assert fill(sink) > 0
    assert (type(sink), os.get_blocking(sink.fd), os.get_blocking(target)) == (Sink, False, True)
    sink.close()
    os.close(source)


@pytest.mark.parametrize("make", ["file", "/dev/null"])
def test_what_waits_for_nobody_is_written_directly(make: str, tmp_path: Path) -> None:
    sink = sink_for(os.open(tmp_path / make, os.O_WRONLY | os.O_CREAT))

    assert (sink.waits, sink.can_tell, sink.send(memoryview(bytes(300_000)))) == (False, False, 300_000)
    sink.close()


def test_a_named_pipe_that_is_open_for_both_has_not_lost_its_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    sink = sink_for(os.open(tmp_path / "fifo", os.O_RDWR | os.O_NONBLOCK))

    sink.send(memoryview(b"to myself"))

    assert not sink.has_lost_its_reader()
    sink.close()
