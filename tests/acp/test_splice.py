from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gzia.acp.splice import CANDIDATES, FORM, Spliced, split
from tests.packaging.documents import STRICT
from tests.packaging.instances import instance

HEAD = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'
UPDATE = '{"sessionUpdate":"plan","entries":[]}'


def test_a_line_is_taken_apart_around_its_update() -> None:
    assert split(f"{HEAD}{UPDATE}}}}}") == Spliced(HEAD, UPDATE, "}}", True)


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ('{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": ', "}}"),
        ('{"params":{"update" :\t', ',"sessionId":"s1"} , "method":"session/update"} '),
        ('{"method":"session/update","params":{"sessionId":"\\u00e9 \\"update\\": {}","update":', "}}"),
        ('{"method":"session/update","params":{"sessionId":"s\u2028","update":', "}}"),
        ('{"params":{"update":{"old":1}},"method":"session/update","params":{"sessionId":"s1","update":', "}}"),
        ('{"method":"session/update","params":{"update":7,"sessionId":"s1","update":', "}}"),
    ],
)
def test_any_spelling_of_the_rest_can_be_repeated(head: str, tail: str) -> None:
    assert split(f"{head}{UPDATE}{tail}") == Spliced(head, UPDATE, tail, True)


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        (HEAD, ',"_meta":{"n":1}}}'),
        (HEAD, '},"_meta":{"update":{}}}'),
        ('{"_meta":{"update":{"a":1}},"method":"session/update","params":{"sessionId":"s1","update":', "}}"),
        ('{"method":"session/update","params":{"sessionId":"' + "s" * FORM + '","update":', "}}"),
    ],
)
def test_a_line_with_more_in_it_or_a_long_one_is_split_but_not_to_be_repeated(head: str, tail: str) -> None:
    assert split(f"{head}{UPDATE}{tail}") == Spliced(head, UPDATE, tail, False)


def test_an_update_inside_the_update_is_not_it() -> None:
    update = '{"sessionUpdate":"new","update":{"update":{}},"text":"\\"update\\": {}"}'

    assert split(f"{HEAD}{update}}}}}") == Spliced(HEAD, update, "}}", True)


def test_the_text_is_kept_to_the_last_space_and_escape() -> None:
    update = '{ "sessionUpdate" : "new", "n": 1.50e0, "t": "\\u0041\\/" }'

    assert split(f"{HEAD}{update}}}}}") == Spliced(HEAD, update, "}}", True)


@pytest.mark.parametrize(
    "line",
    [
        '{"method":"session/update","params":{"sessionId":"s1","upd\\u0061te":{}}}',
        '{"_meta":[' + '{"update":1},' * CANDIDATES + '0],"method":"session/update","params":{"update":{}}}',
    ],
)
def test_an_update_that_is_not_found_soon_is_not_found(line: str) -> None:
    assert split(line) is None


@settings(deadline=None, max_examples=100)
@given(random=st.randoms(use_true_random=False), spaces=st.booleans(), ascii_only=st.booleans(), meta=st.booleans())
def test_head_text_and_tail_are_the_line_and_the_text_is_the_update(
    random: Random, spaces: bool, ascii_only: bool, meta: bool
) -> None:
    update = instance(STRICT["$defs"]["SessionUpdate"], STRICT["$defs"], random)
    params: dict[str, Any] = {"sessionId": "s1", "update": update} | ({"_meta": {"update": {}}} if meta else {})
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    line = json.dumps(message, separators=(", ", ": ") if spaces else (",", ":"), ensure_ascii=ascii_only)

    parts = split(line)

    assert parts is not None
    assert parts.head + parts.text + parts.tail == line
    assert json.loads(parts.text) == update
    assert parts.repeats is not meta
