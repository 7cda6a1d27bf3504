"""Asks a person on the terminal for a permission, while the turn goes on.

The question goes to /dev/tty, so that standard input and output stay free for data.  A process in the background, or
without a terminal, cannot ask.
"""

from __future__ import annotations

import asyncio
import difflib
import os
import shlex
from typing import Any

from gzia.cli.visible import visible
from gzia.cli.work import one_less
from gzia.session.conversation import Conversation
from gzia.session.journal import Entry
from gzia.system.pump import Writer

SHOWN = 20  # lines of a change
LETTERS = {"allow_once": "y", "allow_always": "a", "reject_once": "n"}


class Asker:
    """Puts the questions of a conversation to the terminal ``tty`` (a descriptor), one after another."""

    def __init__(self, conversation: Conversation, tty: int) -> None:
        self._conversation = conversation
        self._tty = tty
        self._screen = Writer(os.dup(tty))
        self._waiting: dict[str, dict[str, Any]] = {}  # permission id -> its journal line; the first is being asked
        self._typed_so_far = b""
        self._closed = False
        conversation.permissions.answerers += 1
        asyncio.get_running_loop().add_reader(tty, self._typed)

    def close(self) -> None:
        """Stop asking and give the terminal back."""
        if not self._closed:
            self._stop()
        self._screen.abort()
        os.close(self._tty)

    def line(self, entry: Entry) -> None:
        """Take a permission line of the journal: a new question, or the end of one."""
        body, id = entry.body, entry.body["permission_id"]
        if self._closed:
            return
        if body["state"] == "asked" and id in self._conversation.permissions.open:
            self._waiting[id] = body
            if len(self._waiting) == 1:
                self._ask()
        elif id in self._waiting:
            asked_now = next(iter(self._waiting)) == id
            del self._waiting[id]
            if asked_now:
                self._ask()

    def _ask(self) -> None:
        for body in self._waiting.values():
            title = visible(str(body["tool_call"].get("title") or body["tool_call"].get("toolCallId") or "this"))
            choices = "".join(f"    {key:<2} {visible(name)}\n" for key, name, _ in keys(body["options"]))
            self._say(f"\n  Allow? {title}\n{details(body['tool_call'])}{choices}  > ")
            return

    def _say(self, text: str) -> None:
        self._screen.write(text.encode("utf-8", "backslashreplace"))

    def _typed(self) -> None:
        try:
            data = os.read(self._tty, 4096)
        except OSError:
            data = b""
        self._typed_so_far += data
        if not data:
            self._stop()
            return
        while b"\n" in self._typed_so_far:
            line, self._typed_so_far = self._typed_so_far.split(b"\n", 1)
            self._chosen(line.decode("utf-8", "replace").strip().lower())

    def _stop(self) -> None:
        """Nobody answers here any more."""
        self._closed = True
        self._waiting.clear()
        asyncio.get_running_loop().remove_reader(self._tty)
        one_less(self._conversation)

    def _chosen(self, word: str) -> None:
        for body in self._waiting.values():
            for key, _, option in keys(body["options"]):
                if word == key:
                    self._settle({"outcome": "selected", "optionId": option})
                    return
            self._say("  please type one of the letters\n  > ")
            return

    def _settle(self, outcome: dict[str, Any]) -> None:
        for id in self._waiting:
            self._conversation.answer(id, outcome, "terminal")
            return


def details(tool_call: dict[str, Any]) -> str:
    """What a person must know to decide: the change of a file, the command; the first lines of it."""
    lines: list[str] = []
    for part in tool_call.get("content") or []:
        if isinstance(part, dict) and part.get("type") == "diff":
            old, new = (str(part.get(name) or "").splitlines() for name in ("oldText", "newText"))
            lines += difflib.unified_diff(old, new, "before", str(part.get("path")), lineterm="", n=2)
    given = tool_call.get("rawInput")
    command = given.get("command") if isinstance(given, dict) else None
    if command:
        lines.append(command if isinstance(command, str) else shlex.join(map(str, command)))
    more = [f"… {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
    return "".join(f"    | {visible(line)}\n" for line in [*lines[:SHOWN], *more])


def keys(options: list[Any]) -> list[tuple[str, str, str]]:
    """What to type for each option: (key, name, optionId).  A letter where its kind is the only one, else a number."""
    kinds = [option.get("kind") for option in options]
    return [
        (LETTERS[kind] if kind in LETTERS and kinds.count(kind) == 1 else str(at), option["name"], option["optionId"])
        for at, (kind, option) in enumerate(zip(kinds, options, strict=True), 1)
    ]


def terminal() -> int | None:
    """A descriptor of the controlling terminal; None when there is none, or when this process is in its background."""
    try:
        tty = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return None
    try:
        if os.tcgetpgrp(tty) == os.getpgrp():
            return tty
    except OSError:
        pass
    os.close(tty)
    return None
