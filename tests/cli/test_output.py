"""What is printed arrives whole, or the command says so."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gzia.cli.output import Output, OutputClosed, fill_closed_descriptors, write_all
from gzia.errors import GziaError


@contextmanager
def standing_in(fd: int, other: int) -> Iterator[None]:
    """Let ``other`` be descriptor ``fd`` for a while."""
    kept = os.dup(fd)
    os.dup2(other, fd)
    try:
        yield
    finally:
        os.dup2(kept, fd)
        os.close(kept)


def test_documents_are_lines_of_json(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    out = Output(json=True)

    out.document({"name": "ü\u2028\x1b"})
    out.document([1])
    out.flush()

    assert capfdbinary.readouterr().out == '{"name":"ü\\u2028\\u001b"}\n[1]\n'.encode()


def test_lines_hide_nothing_and_text_keeps_its_lines(capfd: pytest.CaptureFixture[str]) -> None:
    out = Output()

    out.line("a\nb\x1b[2J", ("c", "red"))
    out.text("d\ne\x07\n")
    out.flush()

    assert capfd.readouterr().out == "a\\nb\\x1b[2Jc\nd\ne\\x07\n"


def test_a_path_is_given_byte_for_byte(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    out = Output()

    out.path(Path(os.fsdecode(b"/tmp/caf\xe9 \n")))
    out.flush()

    assert capfdbinary.readouterr().out == b"/tmp/caf\xe9 \n\n"


def test_a_note_follows_what_was_printed_before_it(tmp_path: Path) -> None:
    both = os.open(tmp_path / "both", os.O_CREAT | os.O_RDWR | os.O_APPEND)
    out = Output()

    with standing_in(1, both), standing_in(2, both):
        out.line("first")
        out.note("second")
        out.line("third")
        out.flush()
    os.close(both)

    assert (tmp_path / "both").read_text() == "first\nsecond\nthird\n"


def test_every_byte_passes_a_descriptor_that_somebody_made_non_blocking() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    data = bytes(range(256)) * 4096
    received = bytearray()

    def read() -> None:
        while piece := os.read(reading, 65536):
            received.extend(piece)

    reader = threading.Thread(target=read)
    reader.start()
    write_all(writing, data)
    os.close(writing)
    reader.join(10)
    os.close(reading)

    assert bytes(received) == data


def test_a_reader_that_went_away_is_told_apart_from_a_full_disk() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    full = os.open("/dev/full", os.O_WRONLY)
    out = Output(json=True)

    out.document(1)
    with standing_in(1, writing), pytest.raises(OutputClosed):
        out.flush()
    out.document(2)
    with standing_in(1, full), pytest.raises(GziaError) as failed:
        out.flush()
    os.close(writing)
    os.close(full)

    assert (failed.value.code, failed.value.exit_status) == ("output-failed", 1)
    out.flush()  # what could not be written is not tried again


def test_nobody_on_standard_error_is_no_error() -> None:
    full = os.open("/dev/full", os.O_WRONLY)

    with standing_in(2, full):
        Output().note("lost")
    os.close(full)


def test_a_closed_descriptor_is_never_taken_by_the_next_file() -> None:
    kept = [os.dup(fd) for fd in (0, 1, 2)]
    try:
        for fd in (0, 1, 2):
            os.close(fd)
        fill_closed_descriptors()
        taken = os.open(os.devnull, os.O_RDONLY)
        os.close(taken)
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.write(1, b"x")
        written = os.write(2, b"x")
    finally:
        for fd, copy in enumerate(kept):
            os.dup2(copy, fd)
            os.close(copy)

    assert taken > 2
    assert written == 1


def test_a_table_for_a_pipe_is_aligned_and_never_cut(capfd: pytest.CaptureFixture[str]) -> None:
    out = Output()
    title = "t" * 500

    out.table(("ID", "TITLE", "N"), [("a", title, "1"), (("long-id", "bold"), "x\ny", "")])
    out.flush()

    assert capfd.readouterr().out == (f"ID       TITLE{' ' * 495}  N\na        {title}  1\nlong-id  x\\ny\n")


def test_documents_are_never_coloured(capfd: pytest.CaptureFixture[str]) -> None:
    out = Output(json=True, colour_of=lambda _fd: True)

    out.document({"a": "b"})
    out.flush()

    assert json.loads(capfd.readouterr().out) == {"a": "b"}
