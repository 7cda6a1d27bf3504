"""Tables for a terminal and for a pipe."""

from __future__ import annotations

import pytest

from gzia.cli.render import drawn_table, patch_parts, plain_table
from gzia.cli.visible import Part, line_of

ROWS: list[list[Part]] = [["a", ("[bold]not markup[/]", "red")], ["b", "\x1b[2J :smile:"]]


def test_a_pipe_gets_every_cell_and_colours_only_when_told_to() -> None:
    plain = plain_table(("ID", "TITLE"), ROWS, colour=False)
    painted = plain_table(("ID", "TITLE"), ROWS, colour=True)

    assert plain == "ID  TITLE\na   [bold]not markup[/]\nb   \\x1b[2J :smile:\n"
    assert painted == (
        "\x1b[1mID\x1b[0m  \x1b[1mTITLE\x1b[0m\na   \x1b[31m[bold]not markup[/]\x1b[0m\nb   \\x1b[2J :smile:\n"
    )


def test_a_terminal_gets_rows_cut_to_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")

    drawn = drawn_table(("ID", "TITLE"), [["a", "t" * 500], *ROWS], colour=False)

    assert drawn == f"ID  TITLE\na   {'t' * 15}…\na   [bold]not marku…\nb   \\x1b[2J :smile:\n"


def test_the_environment_does_not_colour_what_must_not_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")

    assert "\x1b" not in drawn_table(("ID",), [(("a", "red"),)], colour=False)

    monkeypatch.setenv("NO_COLOR", "1")

    assert "\x1b[31ma\x1b[0m" in drawn_table(("I",), [(("a", "red"),)], colour=True)


def test_a_patch_is_coloured_by_line_and_cannot_colour_itself() -> None:
    patch = b"diff --git a/f b/f\n@@ -1 +1 @@\n-old\x1b[31m\r\n+new \xe9\n ctx\n\\ No newline at end of file\n"

    lines = [line_of(parts, True, breaks=True) for parts in patch_parts(patch)]

    assert lines == [
        "\x1b[1mdiff --git a/f b/f\x1b[0m\n",
        "\x1b[36m@@ -1 +1 @@\x1b[0m\n",
        "\x1b[31m-old\\x1b[31m\\r\x1b[0m\n",
        "\x1b[32m+new \\xe9\x1b[0m\n",
        " ctx\n",
        "\\ No newline at end of file\n",
    ]
