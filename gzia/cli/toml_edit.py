"""Changing one value in a TOML text while everything else, comments included, stays as it is.

The text is edited line by line and then read back: when it does not say exactly what was meant (a table written inline,
a text over several lines), nothing is changed and the caller hears so.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Sequence
from typing import Any


def assign(text: str, path: Sequence[str], value: str) -> str | None:
    """``text`` with the value at ``path`` (table names, then the key) set; None when that needs a person.

    ``text`` must be valid TOML.
    """
    *table, key = path
    lines = text.splitlines(keepends=True)
    start, end = _section(lines, table)
    entry = f"{_name(key)} = {json.dumps(value, ensure_ascii=False)}"
    if start is None:
        gap = "\n" if text else ""
        changed = [*_ended(lines), f"{gap}[{'.'.join(map(_name, table))}]\n", f"{entry}\n"]
    else:
        changed = _in_section(lines, start, end, key, entry)
    result = "".join(changed)
    return result if _says(result, _meant(text, path, value)) else None


def _section(lines: Sequence[str], table: Sequence[str]) -> tuple[int | None, int]:
    """The lines (from, to) below the header of ``table``; from is None when there is no such header."""
    start = None if table else 0
    for at, line in enumerate(lines):
        if not line.lstrip().startswith("["):
            continue
        if start is not None:
            return start, at
        if _header(line) == list(table):
            start = at + 1
    return start, len(lines)


def _in_section(lines: list[str], start: int, end: int, key: str, entry: str) -> list[str]:
    for at in range(start, end):
        if re.match(rf"\s*(?:{re.escape(key)}|{re.escape(json.dumps(key))})\s*=", lines[at]):
            return [*lines[:at], f"{entry}{_comment(lines[at])}\n", *lines[at + 1 :]]
    # After the last value, so that a comment above the next table stays with it.
    values = [at for at in range(start, end) if lines[at].strip() and not lines[at].lstrip().startswith("#")]
    place = values[-1] + 1 if values else end if end == len(lines) else start
    gap = ["\n"] if place == 0 and lines else []
    return [*_ended(lines[:place]), f"{entry}\n", *gap, *lines[place:]]


def _header(line: str) -> list[str]:
    """The names in a table header; empty for anything else."""
    try:
        node: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return []
    names = []
    while isinstance(node, dict) and len(node) == 1:
        (name, node) = next(iter(node.items()))
        names.append(name)
    return names if node == {} else []


def _comment(line: str) -> str:
    """The comment behind the value on ``line``, with what is before it; empty when there is none."""
    for found in re.finditer(r"\s*#", line):
        try:
            tomllib.loads(line[: found.start()])
        except tomllib.TOMLDecodeError:
            continue
        return line[found.start() :].rstrip("\n")
    return ""


def _meant(text: str, path: Sequence[str], value: str) -> dict[str, Any] | None:
    document = copy.deepcopy(tomllib.loads(text))
    node: Any = document
    for name in path[:-1]:
        node = node.setdefault(name, {})
        if not isinstance(node, dict):
            return None
    node[path[-1]] = value
    return document


def _says(text: str, meant: dict[str, Any] | None) -> bool:
    try:
        return tomllib.loads(text) == meant
    except tomllib.TOMLDecodeError:
        return False


def _name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _ended(lines: list[str]) -> list[str]:
    """``lines`` with a line end after the last one."""
    return [*lines[:-1], lines[-1].rstrip("\n") + "\n"] if lines else []
