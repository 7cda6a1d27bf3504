"""Bytes to lines, in linear time and bounded memory.

A line ends with byte 0x0A and nothing else: U+2028, U+0085 or a form feed may stand inside a JSON string.  One carriage
return before the end is tolerated, empty lines are skipped.
"""

from __future__ import annotations

from gzia.jsonrpc.messages import TooLong

LIMIT = 64 * 1024 * 1024
"""Longest line in bytes, its 0x0A not counted: a whole file or picture travels in one message."""

HEAD = 1024
"""How much of an over-long line is kept, for the error message."""


class LineBuffer:
    """Holds the unfinished last line between two reads."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self._rest = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """Lines that ``data`` completes.  A line over the limit gives one TooLong, as soon as that is certain."""
        *ended, rest = data.split(b"\n")
        lines: list[bytes | TooLong] = []
        if ended and (self._rest or self._skipping):
            lines += self._take(ended.pop(0))
            lines += self.end()
        whole: list[bytes | TooLong] = [*ended]
        if len(data) > self.limit:
            whole = [line if len(line) <= self.limit else TooLong(line[:HEAD]) for line in ended]
        if b"\r" in data or b"" in ended:
            whole = [line for line in map(_without_return, whole) if line]
        lines += whole
        if rest:
            lines += self._take(rest)
        return lines

    def end(self) -> list[bytes | TooLong]:
        """What came after the last 0x0A, as a line: at the end of the stream it counts as one."""
        line = _without_return(bytes(self._rest))
        self._rest.clear()
        self._skipping = False
        return [line] if line else []

    def _take(self, part: bytes) -> list[bytes | TooLong]:
        if self._skipping:
            return []
        self._rest += part
        if len(self._rest) <= self.limit:
            return []
        head = TooLong(bytes(self._rest[:HEAD]))
        self._rest.clear()
        self._skipping = True
        return [head]


def _without_return(line: bytes | TooLong) -> bytes | TooLong:
    return line[:-1] if isinstance(line, bytes) and line.endswith(b"\r") else line
