"""``gzia acp attach``: bytes between an editor and a session's socket."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gzia.system import local_socket
from tests.cli.command import LONG, start
from tests.cli.watching import Held

MUCH = b"x" * 999 + b"\n"


@pytest.fixture
def listener(repo: Path) -> Iterator[socket.socket]:
    with Held(repo) as held:
        listening = local_socket.listen(local_socket.path_for(held.service.root, held.record.id))
        listening.settimeout(LONG)
        yield listening
        local_socket.stop(listening)


def accepted(listener: socket.socket) -> socket.socket:
    peer, _ = listener.accept()
    peer.settimeout(LONG)
    return peer


def test_bytes_go_both_ways_untouched(repo: Path, listener: socket.socket) -> None:
    with start(repo, "acp", "attach", "x1", stdin=-1) as process, accepted(listener) as peer:
        assert process.stdin and process.stdout
        process.stdin.write(b"\xff{half")
        process.stdin.flush()
        assert peer.recv(100) == b"\xff{half"
        peer.sendall(b"\x00half}\n")
        assert process.stdout.read(7) == b"\x00half}\n"
        peer.close()

        assert process.wait(20) == 0


def test_what_was_asked_before_the_editor_ended_is_still_answered(repo: Path, listener: socket.socket) -> None:
    with start(repo, "acp", "attach", "x1", stdin=-1) as process, accepted(listener) as peer:
        assert process.stdin and process.stdout
        process.stdin.write(b"question")
        process.stdin.close()
        with peer.makefile("rb") as said:
            assert said.read() == b"question"
        peer.sendall(b"answer")
        peer.close()

        assert (process.stdout.read(), process.wait(20)) == (b"answer", 0)


def test_a_session_that_does_not_end_its_side_holds_nobody(repo: Path, listener: socket.socket) -> None:
    with start(repo, "acp", "attach", "x1") as process, accepted(listener):
        assert process.wait(20) == 0


def test_a_slow_editor_gets_every_byte_and_the_session_is_held_back_meanwhile(
    repo: Path, listener: socket.socket
) -> None:
    with start(repo, "acp", "attach", "x1", stdin=-1) as process, accepted(listener) as peer:
        assert process.stdout
        peer.settimeout(0.3)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < 50_000_000:
                sent += peer.send(MUCH)
        peer.settimeout(LONG)
        assert sent < 10_000_000
        taken = process.stdout.read(sent)
        peer.sendall(b"and on")
        taken += process.stdout.read(6)
        peer.close()

        assert process.wait(20) == 0
    assert len(taken) == sent + 6


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(repo: Path, listener: socket.socket, number: int) -> None:
    with start(repo, "acp", "attach", "x1", stdin=-1) as process, accepted(listener) as peer:
        assert process.stdin
        process.stdin.write(b"x")
        process.stdin.flush()
        peer.recv(1)
        process.send_signal(number)

        assert process.wait(20) == 128 + number
