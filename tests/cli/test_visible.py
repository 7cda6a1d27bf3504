"""What an agent says cannot drive a terminal."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gzia.cli.visible import HIDDEN, Part, json_text, line_of, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünïcode, 日本, 👩‍💻", "plain, ünïcode, 日本, 👩‍💻"),
        ("\x1b[2J\x1b]52;c;ZXZpbA==\x07", "\\x1b[2J\\x1b]52;c;ZXZpbA==\\x07"),
        ("8-bit \x9b31m", "8-bit \\x9b31m"),
        ("a\rb\x00\x7f", "a\\rb\\x00\\x7f"),
        ("two\nlines\tand a tab", "two\\nlines\\tand a tab"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\U000e0041hidden", "\\U000e0041hidden"),
        (os.fsdecode(b"caf\xe9"), "caf\\xe9"),
        ("\ud83d", "\\ud83d"),
    ],
)
def test_what_a_terminal_could_obey_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_text_of_several_lines_keeps_its_lines() -> None:
    assert visible("one\r\ntwo\n\tthree\x1b[m\r", breaks=True) == "one\ntwo\n\tthree\\x1b[m\\r"


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=40), st.booleans())
def test_nothing_hidden_is_left_in_any_text(text: str, breaks: bool) -> None:
    shown = visible(text, breaks=breaks).replace("\n", "").replace("\t", "") if breaks else visible(text)

    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000 for c in shown)


def test_only_our_own_colours_reach_the_terminal() -> None:
    parts: list[Part] = [("gone \x1b[0m", "red"), " and ", ("", "bold"), "back"]

    painted = line_of(parts, True, breaks=False)
    plain = line_of(parts, False, breaks=False)

    assert painted == "\x1b[31mgone \\x1b[0m\x1b[0m and back"
    assert plain == "gone \\x1b[0m and back"


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=40))
def test_json_is_one_harmless_line_that_gives_back_every_text(text: str) -> None:
    line = json_text({"name": text})

    line.encode("utf-8")
    assert line.splitlines() == [line]
    assert not any(ord(c) < 0x20 or 0x7F <= ord(c) < 0xA0 for c in line)
    # A pair of surrogate escapes is one character in JSON, as it is in UTF-16.
    assert json.loads(line) == json.loads(json.dumps({"name": text}))


def test_a_name_that_is_not_utf8_comes_back_from_json_byte_for_byte() -> None:
    name = b"caf\xe9 \xff\xfe"

    line = json_text({"path": os.fsdecode(name)})

    assert line == '{"path":"caf\\udce9 \\udcff\\udcfe"}'
    assert os.fsencode(json.loads(line)["path"]) == name


def test_the_pattern_means_ranges_and_not_letters() -> None:
    assert not any(letter in HIDDEN for letter in "abcXYZ019")
