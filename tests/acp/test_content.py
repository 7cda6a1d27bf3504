from __future__ import annotations

from typing import Any

import pytest

from gzia.acp.checking import check_content
from gzia.acp.content import unsupported

TEXT = {"type": "text", "text": "hi"}
LINK = {"type": "resource_link", "name": "a.py", "uri": "file:///a.py"}
IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": "", "mimeType": "audio/wav"}
FILE = {"type": "resource", "resource": {"uri": "file:///b.py", "text": "print()"}}
BLOB = {"type": "resource", "resource": {"uri": "file:///c.bin", "blob": "AA=="}}
BLOCKS = [TEXT, LINK, IMAGE, AUDIO, FILE, BLOB]


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_the_blocks_of_these_tests_are_valid(block: Any) -> None:
    assert check_content(block) is None


def test_text_and_links_need_no_capability() -> None:
    assert unsupported([TEXT, LINK], {}) is None


@pytest.mark.parametrize(
    ("block", "capability"), [(IMAGE, "image"), (AUDIO, "audio"), (FILE, "embeddedContext"), (BLOB, "embeddedContext")]
)
def test_the_rest_needs_its_capability(block: Any, capability: str) -> None:
    blocks = [TEXT, block]

    assert unsupported(blocks, {capability: True}) is None
    for said in ({}, {capability: False}, {capability: None}, {capability: "yes"}):
        assert unsupported(blocks, said) == f"The agent does not take content of type “{block['type']}” (prompt[1])."


def test_an_unknown_type_is_not_taken_by_anyone() -> None:
    everything = {"image": True, "audio": True, "embeddedContext": True, "hologram": True}

    assert unsupported([{"type": "hologram"}], everything) is not None


def test_an_empty_prompt_is_refused_for_one_agent_hangs_on_it_for_good() -> None:
    assert unsupported([], {}) == "The prompt is empty."
