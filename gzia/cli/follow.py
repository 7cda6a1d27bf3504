"""Follows a file of JSON lines that another process writes: what is there, then what comes, without gap or duplicate.

It looks at the file's size every :data:`POLL` seconds.  That costs a system call, works on every file system and on
every platform, and is well within the 100 ms that a line may take to its reader; a change notification is neither.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from gzia.system import jsonl
from gzia.system.jsonl import Line

POLL = 0.03  # seconds between two looks


def follow(
    path: Path, offset: int, is_over: Callable[[], bool], pause: Callable[[float], object]
) -> Iterator[Line | None]:
    """The finished lines from byte ``offset`` on, damaged ones as such; None: that is all just now.

    It ends when ``is_over`` said so and every line that was there then has been handed out.  ``is_over`` is asked only
    when nothing is new; ``pause`` waits for some seconds.  One line is in memory at a time.
    """
    seen, is_quiet = -1, False
    while True:
        over = is_quiet and is_over()
        is_quiet = True
        if (size := _size(path)) != seen:
            seen, offset = size, min(offset, size)  # a write that failed half way is cut off again
            for line in jsonl.read(path, offset):
                offset, is_quiet = line.end, False
                yield line
        yield None
        if over:
            return
        if is_quiet:
            pause(POLL)


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 -- a fifth of the price of Path.stat
    except FileNotFoundError:
        return 0
