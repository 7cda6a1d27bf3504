from __future__ import annotations

import time
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from gzia.jsonrpc.framing import HEAD, LineBuffer
from gzia.jsonrpc.messages import TooLong

ANYTHING = st.lists(st.sampled_from([b"", b"a", b"\n", b"\r", b"\r\n", b"\xe2\x80\xa8", b"0123456789", b"\xff"]))


def lines(buffer: LineBuffer, *chunks: bytes) -> list[bytes | TooLong]:
    return [line for chunk in chunks for line in buffer.feed(chunk)] + buffer.end()


def test_only_byte_0a_ends_a_line() -> None:
    text = "a\u2028b\u2029c\u0085d\x0be\x0cf\x1cg".encode()

    assert LineBuffer().feed(text + b"\nnext\n") == [text, b"next"]


def test_one_carriage_return_before_the_end_is_dropped() -> None:
    assert LineBuffer().feed(b"a\r\nb\r\r\nc\rd\n") == [b"a", b"b\r", b"c\rd"]


def test_a_carriage_return_may_arrive_in_the_read_before_its_newline() -> None:
    buffer = LineBuffer()

    assert buffer.feed(b"a\r") == []
    assert buffer.feed(b"\nb\n") == [b"a", b"b"]


def test_two_carriage_returns_are_one_too_many_however_they_arrive() -> None:
    assert lines(LineBuffer(), b"\r\r\n") == lines(LineBuffer(), b"\r", b"\r\n") == [b"\r"]


def test_empty_lines_are_skipped() -> None:
    assert LineBuffer().feed(b"\n\r\n\na\n\n") == [b"a"]


def test_what_follows_the_last_newline_waits_for_its_end() -> None:
    buffer = LineBuffer()

    assert buffer.feed(b"a\nb") == [b"a"]
    assert buffer.feed(b"c") == []
    assert buffer.end() == [b"bc"]
    assert buffer.end() == []


def test_a_line_over_the_limit_is_said_once_as_soon_as_it_is_certain_and_the_next_one_is_read() -> None:
    buffer = LineBuffer(limit=4)

    assert buffer.feed(b"12345") == [TooLong(b"12345")]
    assert buffer.feed(b"6789") == []
    assert buffer.feed(b"0\nnext\n") == [b"next"]


def test_a_line_over_the_limit_that_arrives_whole_is_skipped_alone() -> None:
    assert LineBuffer(limit=4).feed(b"1234\n12345\n1\n") == [b"1234", TooLong(b"12345"), b"1"]


def test_two_over_long_lines_are_two() -> None:
    assert LineBuffer(limit=4).feed(b"12345\n67890") == [TooLong(b"12345"), TooLong(b"67890")]


def test_an_over_long_line_that_never_ends_is_said_once_at_the_end_of_the_stream_too() -> None:
    buffer = LineBuffer(limit=4)

    assert lines(buffer, b"12345", b"6") == [TooLong(b"12345")]


def test_only_the_beginning_of_an_over_long_line_is_kept() -> None:
    assert LineBuffer(limit=HEAD).feed(b"x" * (3 * HEAD)) == [TooLong(b"x" * HEAD)]


@settings(deadline=None, max_examples=1000)
@given(pieces=ANYTHING, cuts=st.lists(st.integers(0, 60)), limit=st.integers(1, 12))
def test_bytes_may_be_cut_anywhere(pieces: list[bytes], cuts: list[int], limit: int) -> None:
    data = b"".join(pieces)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    chunks = [data[start:end] for start, end in pairwise(edges)]

    cut = lines(LineBuffer(limit), *chunks)

    assert kinds(cut) == kinds(lines(LineBuffer(limit), data))
    assert kinds(cut) == expected(data, limit)


def kinds(found: list[bytes | TooLong]) -> list[bytes | None]:
    """Lines, and None for an over-long one: how much of that is known depends on the cut."""
    return [None if isinstance(line, TooLong) else line for line in found]


def expected(data: bytes, limit: int) -> list[bytes | None]:
    whole = [None if len(line) > limit else line.removesuffix(b"\r") for line in data.split(b"\n")]
    return [line for line in whole if line != b""]


def test_a_huge_line_in_small_reads_takes_linear_time() -> None:
    buffer = LineBuffer()
    chunk = b"x" * 4096
    started = time.process_time()

    for _ in range(8192):
        buffer.feed(chunk)
    [line] = buffer.feed(b"\n")

    assert line == chunk * 8192
    # Looking at the whole line again with each read would be 130 GB of work: a minute, not a blink.
    assert time.process_time() - started < 5
