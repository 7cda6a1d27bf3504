"""Rules of connection.py by brute force: nothing a peer sends makes it raise, and no cut of the bytes matters."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gzia.jsonrpc.connection import Connection
from gzia.jsonrpc.messages import Closed, Event, TooLong

MEMBERS: list[Any] = [
    None, True, False, 0, 1, -1, 1.0, 1.5, 2**70, "", "0", "1", "m", "\ud800", [], [0], {}, {"code": 1, "message": "m"},
]  # fmt: skip
MESSAGES = st.dictionaries(
    st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]), st.sampled_from(MEMBERS), max_size=5
)
LINES = st.one_of(
    MESSAGES.map(lambda message: json.dumps(message).encode()),
    st.text(max_size=20).map(lambda text: json.dumps({"method": text, "params": text}, ensure_ascii=False).encode()),
    st.binary(max_size=30),
    st.sampled_from([b"[" * 2000, b'{"a":' * 2000, b"9" * 5000, b"\x1b]0;t\x07{}", b"\xef\xbb\xbf{}", b"\x00", b"NaN"]),
    st.text(alphabet='{}[]":,0 truenl\\id method result error', max_size=40).map(str.encode),
)
STREAMS = st.lists(LINES, max_size=12).map(b"\n".join)


def after_asking(*, expects_noise: bool, limit: int) -> Connection:
    connection = Connection(expects_noise=expects_noise, limit=limit)
    connection.request("a")
    connection.request("b")
    connection.teach('{"method":"m","params":', "}", "t")
    connection.data_to_send()
    return connection


def comparable(events: list[Event]) -> list[Event]:
    """How much of an over-long line is known depends on the cut."""
    return [TooLong(b"") if isinstance(event, TooLong) else event for event in events]


@settings(deadline=None, max_examples=400)
@given(stream=STREAMS, cuts=st.lists(st.integers(0, 400), max_size=6), noise=st.booleans(), limit=st.integers(5, 300))
def test_anything_at_all_becomes_events_and_the_cuts_do_not_matter(
    stream: bytes, cuts: list[int], noise: bool, limit: int
) -> None:
    whole, cut = (after_asking(expects_noise=noise, limit=limit) for _ in range(2))
    edges = [0, *sorted(min(edge, len(stream)) for edge in cuts), len(stream)]
    chunks = [stream[start:end] for start, end in pairwise(edges) if start < end]

    once = (whole.receive_data(stream) if stream else []) + whole.receive_data(b"")
    bits = [event for data in [*chunks, b""] for event in cut.receive_data(data)]

    assert comparable(bits) == comparable(once)
    assert cut.data_to_send() == whole.data_to_send()
    assert isinstance(once[-1], Closed)


@pytest.mark.long
@settings(deadline=None, max_examples=20_000)
@given(stream=st.binary(max_size=300), noise=st.booleans())
def test_any_bytes_at_all_become_events(stream: bytes, noise: bool) -> None:
    connection = after_asking(expects_noise=noise, limit=100)

    connection.receive_data(stream)
    connection.receive_data(b"")

    for line in connection.data_to_send().split(b"\n")[:-1]:
        json.loads(line)
