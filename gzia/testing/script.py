"""What the demo agent is told to do: a prompt as a list of steps.

A prompt whose every line is a directive is done line by line; gzia.testing.demo lists them.  Any other prompt is an
ordinary request and becomes the small job of looking around and noting it down.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NUMBER = re.compile(r"\d{1,9}")
PATH = re.compile(r"\S*[./]\S*")  # so that "write a poem" stays an ordinary request


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do: a verb and its arguments, all text."""

    verb: str
    args: tuple[str, ...] = ()


def steps_of(text: str) -> tuple[Step, ...]:
    """The steps that a prompt or a steering message asks for."""
    lines = [line for line in text.splitlines() if line.strip()]
    steps = [directive(line.strip()) for line in lines]
    known = [step for step in steps if step is not None]
    return tuple(known) if known and len(known) == len(steps) else (Step("job", (text.strip(),)),)


def directive(line: str) -> Step | None:
    """The step of one line, or None when the line is not a directive."""
    verb, _, rest = line.partition(" ")
    args = _arguments(verb, rest.strip())
    return None if args is None else Step(verb, args)


def _arguments(verb: str, rest: str) -> tuple[str, ...] | None:
    match verb:
        case "say" | "think" | "ask" | "fail" if rest:
            return (rest,)
        case "slow" | "big" | "exit" if NUMBER.fullmatch(rest):
            return (rest,)
        case "hang" if not rest:
            return ()
        case "run":
            return (rest,) if _is_command(rest) else None
        case "write":
            path, _, text = rest.partition(" ")
            return (path, text) if PATH.fullmatch(path) else None
        case "edit":
            path, _, change = rest.partition(" ")
            old, arrow, new = f"{change} ".partition(" => ")
            return (path, old, new.strip()) if PATH.fullmatch(path) and arrow and old else None
        case _:
            return None


def _is_command(text: str) -> bool:
    try:
        words = shlex.split(text)
    except ValueError:
        return False
    return bool(words) and shutil.which(words[0]) is not None


def text_of(blocks: list[Mapping[str, Any]]) -> str:
    """The text of a prompt.  Other blocks are named in brackets: links and resources by their URI, the rest by type."""
    return "\n".join(_text(block) for block in blocks)


def _text(block: Mapping[str, Any]) -> str:
    if block.get("type") == "text":
        return str(block.get("text", ""))
    uri = block.get("uri") or block.get("resource", {}).get("uri")
    return f"[{uri or block.get('type')}]"
