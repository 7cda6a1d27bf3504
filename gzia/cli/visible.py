"""Text that cannot drive a terminal, and the few colours that gzia itself adds.

Agents and file names may hold any character: escape sequences that clear the screen, set the clipboard or hide a line,
marks that turn the reading direction around, bytes that are no text at all.  They are shown as what they are.
``gzia --version`` imports this module, so nothing heavy is imported at the top.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}

# C0 and C1 controls, DEL, marks of reading direction, line and paragraph separators, invisible tags, lone surrogates.
HIDDEN = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f\ud800-\udfff"

# A piece of output: text, or text with the name of a style.
Part = str | tuple[str, str]

_patterns: dict[bool, re.Pattern[str]] = {}


def visible(text: str, *, breaks: bool = False) -> str:
    """``text`` with everything that a terminal could obey written out, for example ``\\x1b``.

    A byte of a name that is not UTF-8 (a surrogate escape) becomes ``\\xff``.  ``breaks`` keeps line breaks and tabs.
    """
    if text.isprintable() or (breaks and text.replace("\n", "").isprintable()):
        return text
    if breaks:
        text = text.replace("\r\n", "\n")
    return _pattern(breaks).sub(_written_out, text)


def json_text(value: object) -> str:
    """``value`` as JSON on one line, in which nothing can drive a terminal either.

    A byte 0xXX of a name that is not UTF-8 is the lone surrogate ``\\udcXX`` (Python's surrogateescape), so that the
    name can be had back.
    """
    from json import dumps

    text = dumps(value, ensure_ascii=False, separators=(",", ":"))
    # Outside its strings JSON has none of these characters, so each stands where an escape means the same.
    return text if text.isprintable() else _pattern(False).sub(lambda found: dumps(found[0])[1:-1], text)


def line_of(parts: Iterable[Part], colour: bool, *, breaks: bool) -> str:
    """The parts made visible and, with ``colour``, painted."""
    return "".join(_painted(part, colour, breaks) for part in parts)


def paint(text: str, style: str) -> str:
    """``text`` (which must be visible already) in a style of :data:`STYLES`."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if style and text else text


def _painted(part: Part, colour: bool, breaks: bool) -> str:
    text, style = (part, "") if isinstance(part, str) else part
    shown = visible(text, breaks=breaks)
    return paint(shown, style) if colour else shown


def _pattern(breaks: bool) -> re.Pattern[str]:
    if breaks not in _patterns:
        import re

        kept = r"(?![\n\t])" if breaks else ""
        _patterns[breaks] = re.compile(f"{kept}[{HIDDEN}]")
    return _patterns[breaks]


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if match[0] in "\n\t\r":
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}[match[0]]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
