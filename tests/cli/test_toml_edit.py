"""One value changes, everything else stays."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gzia.cli.toml_edit import assign

FILE = """\
# mine
agent = "demo" # the "#1" choice
timeout = "2m"

# the second one
[agents.two]
command = ["two", "--acp"]

[agents.two.env]
KEY = "v"
"""


@pytest.mark.parametrize(
    ("path", "value", "before", "after"),
    [
        (["agent"], "pi", 'agent = "demo" # the "#1" choice', 'agent = "pi" # the "#1" choice'),
        (["timeout"], "5m", 'timeout = "2m"', 'timeout = "5m"'),
        (["model"], "x", 'timeout = "2m"', 'timeout = "2m"\nmodel = "x"'),
        (["agents", "two", "command"], "two acp", '["two", "--acp"]', '"two acp"'),
        (["agents", "two", "env", "KEY"], "w", 'KEY = "v"', 'KEY = "w"'),
        (["agents", "two", "env", "B"], "w", 'KEY = "v"', 'KEY = "v"\nB = "w"'),
        (["agents", "new", "command"], "n", 'KEY = "v"\n', 'KEY = "v"\n\n[agents.new]\ncommand = "n"\n'),
    ],
)
def test_only_the_line_of_the_value_changes(path: list[str], value: str, before: str, after: str) -> None:
    assert assign(FILE, path, value) == FILE.replace(before, after)


@pytest.mark.parametrize(
    ("text", "path", "result"),
    [
        ("", ["agent"], 'agent = "x"\n'),
        ("", ["agents", "a", "command"], '[agents.a]\ncommand = "x"\n'),
        ("# only a comment\n", ["agent"], '# only a comment\nagent = "x"\n'),
        ("[agents.a]\n", ["agent"], 'agent = "x"\n\n[agents.a]\n'),
        ('model = "m"', ["agent"], 'model = "m"\nagent = "x"\n'),
        (
            '[agents.a]\ncommand = "c"',
            ["agents", "b", "command"],
            '[agents.a]\ncommand = "c"\n\n[agents.b]\ncommand = "x"\n',
        ),
        ('[agents."a"]\n"command" = "c"\n', ["agents", "a", "command"], '[agents."a"]\ncommand = "x"\n'),
    ],
)
def test_a_value_finds_its_place(text: str, path: list[str], result: str) -> None:
    assert assign(text, path, "x") == result


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('agents = {a = {command = "c"}}\n', ["agents", "a", "command"]),
        ('agents.a.command = "c"\n', ["agents", "a", "command"]),
        ('model = """\none\n"""\n', ["model"]),
        ('[agents.a]\nenv = {K = "v"}\n', ["agents", "a", "env", "K"]),
        ('agent = "x"\n', ["agent", "name"]),
        ("[agent]\n", ["agent"]),
        ('model = """\nagent = 1\n"""\n', ["agent"]),
    ],
)
def test_what_cannot_be_edited_line_by_line_is_left_to_a_person(text: str, path: list[str]) -> None:
    assert assign(text, path, "x") is None


@given(st.text(max_size=30), st.sampled_from([["agent"], ["agents", "two", "env", "KEY"], ["agents", "x y", "k"]]))
def test_any_text_is_stored_as_it_is_or_not_at_all(value: str, path: list[str]) -> None:
    changed = assign(FILE, path, value)

    if changed is not None:
        node: Any = tomllib.loads(changed)
        for name in path:
            node = node[name]
        assert node == value
