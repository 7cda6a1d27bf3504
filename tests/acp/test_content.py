from __future__ import annotations

from typing import Any

import pytest

from gzia.acp.checking import check_content
from gzia.acp.content import plain_text, text_block, unsupported

LINK = {"type": "resource_link", "name": "a.py", "uri": "file:///a.py"}
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "", "mimeType": "audio/wav"}
FILE = {"type": "resource", "resource": {"uri": "file:///b.py", "text": "print()"}}
BLOB = {"type": "resource", "resource": {"uri": "file:///c.bin", "blob": "AA=="}}
BLOCKS = [text_block("hi"), LINK, IMAGE, AUDIO, FILE, BLOB]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_the_blocks_of_these_tests_are_valid(block: Any) -> None:
    assert check_content(block) is None


def test_one_text_is_read_as_it_is() -> None:
    assert plain_text([text_block(" two\nlines ")]) == " two\nlines "


def test_a_link_inside_a_sentence_keeps_the_sentence() -> None:
    assert plain_text([text_block("fix "), LINK, text_block(", please")]) == "fix file:///a.py , please"


def test_words_of_two_blocks_stay_two_words() -> None:
    assert plain_text([text_block("one"), text_block(""), text_block("two\n"), text_block("three")]) == "one two\nthree"


def test_files_are_read_by_their_text_or_address_and_the_rest_by_kind() -> None:
    assert plain_text([FILE, BLOB, IMAGE, AUDIO, {"type": "hologram"}]) == (
        "print() file:///c.bin [image] [audio] [hologram]"
    )


def test_text_and_links_need_no_capability() -> None:
    assert unsupported([text_block("hi"), LINK], {}) is None


@pytest.mark.parametrize(
    ("block", "capability"), [(IMAGE, "image"), (AUDIO, "audio"), (FILE, "embeddedContext"), (BLOB, "embeddedContext")]
)
def test_the_rest_needs_its_capability(block: Any, capability: str) -> None:
    blocks = [text_block("look"), block]

    assert unsupported(blocks, {capability: True}) is None
    for said in ({}, {capability: False}, {capability: None}, {capability: "yes"}):
        assert unsupported(blocks, said) == f"The agent does not take content of type {block['type']!r} (prompt[1])."


def test_an_unknown_type_is_not_taken_by_anyone() -> None:
    everything = {"image": True, "audio": True, "embeddedContext": True, "hologram": True}

    assert unsupported([{"type": "hologram"}], everything) is not None


def test_an_empty_prompt_is_refused_for_one_agent_hangs_on_it_for_good() -> None:
    assert unsupported([], {}) == "The prompt is empty."
