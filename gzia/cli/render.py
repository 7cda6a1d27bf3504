"""Tables and patches for a person.  rich is imported only to draw a table on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gzia.cli.visible import Part, paint, visible

GAP = "  "


def plain_table(headers: Sequence[str], rows: Sequence[Sequence[Part]], *, colour: bool) -> str:
    """Aligned columns for a pipe: one line a row, whatever its length, nothing cut, nothing behind the last word."""
    lines = [[visible(text) for text, _ in map(_pair, row)] for row in (headers, *rows)]
    styles = [["bold"] * len(headers), *([style for _, style in map(_pair, row)] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "".join(
        f"{_row(line, widths, style if colour else [''] * len(line))}\n"
        for line, style in zip(lines, styles, strict=True)
    )


def drawn_table(headers: Sequence[str], rows: Sequence[Sequence[Part]], *, colour: bool) -> str:
    """The table as wide as the terminal: the last column is cut with a mark, so that a row stays a row."""
    import shutil
    from io import StringIO

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, len(GAP), 0, 0), header_style="bold")
    cells = [
        [Text(visible(text), style=style, end="", no_wrap=True, overflow="ellipsis") for text, style in map(_pair, row)]
        for row in (headers, *rows)
    ]
    *fixed, _ = (max(cell.cell_len for cell in column) for column in zip(*cells, strict=True))
    for header, width in zip(cells[0], [*fixed, None], strict=True):
        table.add_column(header, no_wrap=width is not None, min_width=width)
    for row in cells[1:]:
        table.add_row(*row)
    # rich must not look at the environment itself: what it would find there has been decided already.
    console = Console(
        file=StringIO(), width=shutil.get_terminal_size().columns, force_terminal=colour, legacy_windows=False,
        color_system="standard" if colour else None, emoji=False, highlight=False, markup=False, _environ={},
    )  # fmt: skip
    with console.capture() as drawn:
        console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in drawn.get().splitlines())


def patch_parts(patch: bytes) -> Iterator[list[Part]]:
    """The lines of a patch, each as the parts that ``Output.text`` prints, with the line's end."""
    for line in patch.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n"):
        yield [(line, _patch_style(line)), "\n"]


def _patch_style(line: str) -> str:
    if line.startswith(("diff ", "index ", "+++ ", "--- ", "new file", "deleted file", "rename ", "similarity ")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")


def _pair(part: Part) -> tuple[str, str]:
    return (part, "") if isinstance(part, str) else part


def _row(cells: Iterable[str], widths: Iterable[int], styles: Iterable[str]) -> str:
    padded = [
        f"{paint(cell, style)}{' ' * (width - len(cell))}"
        for cell, width, style in zip(cells, widths, styles, strict=True)
    ]
    return GAP.join(padded).rstrip()
