"""One turn of the demo agent: it does its steps, reports each, asks before it changes anything, and hears steering.

Cancelling is cancelling the task: wherever it waits, the open tool call is closed as failed and the task ends.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from gzia.testing.script import steps_of
from gzia.testing.transcript import Transcript

Json = dict[str, Any]
OPTIONS = [
    {"optionId": "once", "name": "Allow", "kind": "allow_once"},
    {"optionId": "always", "name": "Allow for this session", "kind": "allow_always"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
PLAN = ("Look around", "Note the request in NOTES.md", "Sum up")
CONTEXT = 200_000  # tokens, for usage_update


class Failure(Exception):
    """The turn ends with a JSON-RPC error: the ``fail`` directive."""


class Refused(Exception):
    """A tool call that may not be done; the text says why."""


class Wire(Protocol):
    """What a turn needs from the connection to the client."""

    def update(self, session_id: str, update: Json) -> None:
        """Send a session/update."""

    async def permission(self, session_id: str, tool_call: Json, options: list[Json]) -> Json:
        """Ask the person and wait for the result; an error of the client is an empty one."""

    async def drained(self) -> None:
        """Wait until a slow client has taken most of what was sent."""


class Session:
    """One conversation: where it works, how much it may do, and its turns; the first of them is the running one."""

    def __init__(self, session_id: str, cwd: str, transcript: Transcript) -> None:
        self.id = session_id
        self.cwd = Path(cwd)
        self.transcript = transcript
        self.config = {"mode": "ask", "model": "small"}
        self.always: set[str] = set()  # tool kinds that the person has allowed for good
        self.used = 0
        self.order = asyncio.Lock()
        self.turns: dict[Turn, asyncio.Task[None]] = {}


class Turn:
    """Runs one prompt; ``pace`` is the pause after each chunk of text, in seconds."""

    def __init__(self, session: Session, wire: Wire, pace: float) -> None:
        self.session = session
        self.wire = wire
        self.pace = pace
        self.steered: list[str] = []
        self.heard = asyncio.Event()
        self.is_open = True
        self.has_spoken = False

    async def run(self, text: str) -> None:
        """Do everything that ``text`` asks for.  Raises Failure."""
        async with self.session.order:
            try:
                if self.session.used == 0:
                    self.report("session_info_update", title=text.strip()[:60])
                self.remember_user(text)
                await self.obey(text)
                self.report("usage_update", used=self.session.used, size=CONTEXT)
            finally:
                # No await since the last look at ``steered``: a steer is either obeyed or told that the turn is over.
                self.is_open = False

    def steer(self, text: str) -> None:
        """Text from the user in mid-turn; it is acted on at the next pause."""
        self.steered.append(text)
        self.heard.set()

    async def obey(self, text: str) -> None:
        for step in steps_of(text):
            await getattr(self, f"do_{step.verb}")(*step.args)
        await self.breathe()

    async def breathe(self) -> None:
        """A pause, in which a cancel strikes and steering is obeyed."""
        await asyncio.sleep(self.pace)
        await self.wire.drained()
        while self.steered:
            text = self.steered.pop(0)
            self.wire.update(self.session.id, self.remember_user(text))
            await self.obey(text)

    # -- what the client sees

    def report(self, update_kind: str, **fields: Any) -> None:
        update = {"sessionUpdate": update_kind, **fields}
        self.session.transcript.add(update)
        self.wire.update(self.session.id, update)

    def remember_user(self, text: str) -> Json:
        self.session.used += len(text) // 4 + 1
        update = {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}}
        self.session.transcript.add(update)
        return update

    async def stream(self, text: str, kind: str = "agent_message_chunk") -> None:
        self.session.used += len(text) // 4 + 1
        for piece in re.findall(r"\s*\S+\s*", text):
            self.report(kind, content={"type": "text", "text": piece})
            await self.breathe()

    def report_call(self, ident: str, status: str, **fields: Any) -> None:
        self.report("tool_call_update", toolCallId=ident, status=status, **fields)

    @asynccontextmanager
    async def call(self, kind: str, title: str, **fields: Any) -> AsyncIterator[str]:
        """A tool call.  What goes wrong inside is reported and told, and the turn goes on."""
        ident = uuid4().hex[:12]
        self.report("tool_call", toolCallId=ident, title=title, kind=kind, status="pending", **fields)
        try:
            yield ident
        except asyncio.CancelledError:
            self.report_call(ident, "failed")
            raise
        except (Refused, OSError, ValueError) as error:
            self.report_call(ident, "failed", content=[as_content(str(error))])
            await self.do_say(f"“{title}” was not done: {error}.")

    async def permit(self, ident: str, kind: str, title: str, **fields: Any) -> None:
        """Ask for permission when the mode wants it, and report the call as begun.  Raises Refused."""
        if self.session.config["mode"] == "read":
            raise Refused("in the mode “read” I change nothing")
        if self.session.config["mode"] == "ask" and kind not in self.session.always:
            call = {"toolCallId": ident, "title": title, "kind": kind, "status": "pending", **fields}
            answer = await self.wire.permission(self.session.id, call, OPTIONS)
            outcome = answer.get("outcome", {})
            if outcome.get("optionId") not in ("once", "always"):
                raise Refused("you did not allow it")
            if outcome["optionId"] == "always":
                self.session.always.add(kind)
        self.report_call(ident, "in_progress")

    # -- directives

    async def do_say(self, text: str) -> None:
        await self.stream("\n" * self.has_spoken + text)
        self.has_spoken = True

    async def do_think(self, text: str) -> None:
        await self.stream(text, "agent_thought_chunk")

    async def do_slow(self, count: str) -> None:
        await self.do_say(" ".join(str(n + 1) for n in range(int(count))))

    async def do_big(self, size: str) -> None:
        self.report("agent_message_chunk", content={"type": "text", "text": "x" * int(size)})
        await self.breathe()

    async def do_ask(self, title: str) -> None:
        async with self.call("other", title) as ident:
            await self.permit(ident, "other", title)
            self.report_call(ident, "completed")

    async def do_write(self, path: str, text: str) -> None:
        await self.change(f"Write {path}", path, lambda old: f"{text}\n")

    async def do_edit(self, path: str, old: str, new: str) -> None:
        def edited(before: str) -> str:
            if old not in before:
                raise ValueError(f"{path} does not contain “{old}”")
            return before.replace(old, new, 1)

        await self.change(f"Edit {path}", path, edited)

    async def do_run(self, command: str) -> None:
        async with self.call("execute", command, rawInput={"command": command}) as ident:
            await self.permit(ident, "execute", command, rawInput={"command": command})
            status, output = await output_of(shlex.split(command), self.session.cwd)
            done = "completed" if status == 0 else "failed"
            self.report_call(ident, done, content=[as_content(output)], rawOutput={"exitCode": status})

    async def do_hang(self) -> None:
        while not self.steered:
            await self.heard.wait()
            self.heard.clear()

    async def do_fail(self, message: str) -> None:
        raise Failure(message)

    async def do_exit(self, status: str) -> None:
        await self.wire.drained()
        os._exit(int(status))

    async def do_job(self, request: str) -> None:
        """The answer to an ordinary request: look around, note it down, sum up."""
        self.plan(0)
        async with self.call(
            "read", f"List {self.session.cwd.name}", locations=[{"path": str(self.session.cwd)}]
        ) as ident:
            names = visible_names(self.session.cwd)
            self.report_call(ident, "completed", content=[as_content("\n".join(names))])
        await self.do_say(f"I see {len(names)} entries here: {', '.join(names[:5])}{', …' * (len(names) > 5)}.")
        self.plan(1)
        await self.change("Write NOTES.md", "NOTES.md", lambda old: f"{old or '# Notes'}\n- {request}\n")
        self.plan(2)
        await self.do_say("That is all a demo agent can do; a real one would go on from here.")
        self.plan(3)

    def plan(self, done: int) -> None:
        states = ["completed"] * done + ["in_progress"] + ["pending"] * len(PLAN)
        entries = [{"content": c, "priority": "medium", "status": s} for c, s in zip(PLAN, states, strict=False)]
        self.report("plan", entries=entries)

    # -- files

    async def change(self, title: str, name: str, edited: Callable[[str], str]) -> None:
        """Give a file of the session's directory a new text, after asking."""
        async with self.call("edit", title) as ident:
            path = inside(self.session.cwd, name)
            before = text_of_file(path)
            after = edited(before or "")
            diff = {"type": "diff", "path": str(path), "oldText": before, "newText": after}
            locations = [{"path": str(path)}]
            await self.permit(ident, "edit", title, content=[diff], locations=locations)
            store(path, after)
            self.report_call(ident, "completed", content=[diff], locations=locations)


def as_content(text: str) -> Json:
    return {"type": "content", "content": {"type": "text", "text": text}}


def inside(cwd: Path, name: str) -> Path:
    """The file ``name``; ValueError when it lies outside ``cwd``, also by a link."""
    path = cwd / name
    if not path.resolve().is_relative_to(cwd.resolve()):
        raise ValueError(f"{name} lies outside the session's directory")
    return path


def visible_names(cwd: Path) -> list[str]:
    return sorted(path.name for path in cwd.iterdir() if not path.name.startswith("."))


def text_of_file(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def store(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


async def output_of(argv: list[str], cwd: Path) -> tuple[int, str]:
    """Run a command in ``cwd``: its exit status and its output, both streams.  It dies with the turn."""
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
        status = await process.wait()
    return status, output.decode("utf-8", "replace")
