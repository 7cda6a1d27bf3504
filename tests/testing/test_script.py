from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gzia.testing.script import Step, steps_of, text_of


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("say hello there", [Step("say", ("hello there",))]),
        ("think hm", [Step("think", ("hm",))]),
        ("slow 3", [Step("slow", ("3",))]),
        ("big 100000", [Step("big", ("100000",))]),
        ("write a.txt some text", [Step("write", ("a.txt", "some text"))]),
        ("write docs/a", [Step("write", ("docs/a", ""))]),
        ("edit f.txt one => two three", [Step("edit", ("f.txt", "one", "two three"))]),
        ("edit f.txt one => ", [Step("edit", ("f.txt", "one", ""))]),
        ("run true && false", [Step("run", ("true && false",))]),
        ("ask delete everything", [Step("ask", ("delete everything",))]),
        ("hang", [Step("hang")]),
        ("fail no luck", [Step("fail", ("no luck",))]),
        ("exit 3", [Step("exit", ("3",))]),
        ("  say a\n\n say b \n", [Step("say", ("a",)), Step("say", ("b",))]),
    ],
)
def test_directives_are_done_line_by_line(text: str, steps: list[Step]) -> None:
    assert list(steps_of(text)) == steps


@pytest.mark.parametrize(
    "text",
    [
        "fix the test",
        "write a poem",
        "edit the README so that it rhymes",
        "run the tests",
        "run 'unfinished",
        "slow down",
        "exit now",
        "hang on a second",
        "say",
        "say hello\nand then fix the test",
        "",
    ],
)
def test_anything_else_is_an_ordinary_request(text: str) -> None:
    assert steps_of(text) == (Step("job", (text,)),)


def test_blocks_that_are_not_text_are_named() -> None:
    blocks: list[Mapping[str, Any]] = [
        {"type": "text", "text": "look at"},
        {"type": "resource_link", "name": "f", "uri": "file:///f.txt"},
        {"type": "resource", "resource": {"uri": "file:///g.txt", "text": "…"}},
        {"type": "image", "data": "", "mimeType": "image/png"},
    ]

    assert text_of(blocks) == "look at\n[file:///f.txt]\n[file:///g.txt]\n[image]"
