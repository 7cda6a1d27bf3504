"""``gzia run --input ndjson``: a script drives a live session, a JSON object a line on standard input.

    {"prompt": TEXT or [BLOCKS]}                                  a turn, after those that wait
    {"steer": TEXT or [BLOCKS], "id": NAME, "fallback": WORD}     a message into the running turn; the last two may miss
    {"cancel": true}                                              stop the running turn, drop those that wait
    {"permission": ID, "option": OPTION_ID}                       answer a question of the journal
    {"permission": ID, "kind": "allow_once"}                      the same by the kind of the option

What becomes of a line is told by the journal on standard output.  One that cannot be meant is answered there with an
error document that holds its number, and the rest goes on.  Nothing here waits for the reader of standard output.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from gzia.acp import content
from gzia.cli.work import one_less, said
from gzia.driver.steer import SteerRequest
from gzia.driver.turn import Block
from gzia.errors import GziaError, NotFoundError, UsageError
from gzia.jsonrpc.framing import LineBuffer
from gzia.jsonrpc.messages import TooLong
from gzia.serve.door import Door
from gzia.session.conversation import Conversation, Fallback
from gzia.session.host import Live
from gzia.session.turns import TurnEnd
from gzia.system import jsonl
from gzia.system.pump import Reader

NAME = "script"  # in the journal: who answered a question
HINT = "see “Input lines” in the README"


class Feed:
    """Work (see gzia.cli.work) that comes line by line, after the held turns and ``prompt``.

    ``told`` takes the errors; ``fallback`` is what a steer line means that says nothing.
    """

    def __init__(self, prompt: str, fallback: str, told: Callable[[GziaError], None], *, held: bool = False) -> None:
        self._prompt = prompt
        self._fallback = fallback
        self._told = told
        self._held = held
        self._has_ended = asyncio.Event()
        self._lines = LineBuffer()
        self._count = 0
        self._last: asyncio.Future[TurnEnd] | None = None
        self._live: Live | None = None

    async def do(self, live: Live, door: Door) -> TurnEnd | None:
        """See Work."""
        self._live = live
        if self._held:
            for ended in live.conversation.resume_queue():
                self._last = ended
        if self._prompt:
            self._last = live.conversation.prompt(said(self._prompt))
        live.conversation.permissions.answerers += 1
        reader = Reader(0, self._received)
        reader.start()
        try:
            await self._has_ended.wait()
        finally:
            reader.close()
            one_less(live.conversation)
        await live.conversation.idle()
        return await self._last if self._last else None

    def stop(self) -> None:
        """Nothing more is read."""
        self._has_ended.set()

    def _received(self, data: bytes) -> None:
        for line in self._lines.feed(data) if data else self._lines.end():
            self._count += 1
            try:
                self._take(line)
            except GziaError as error:
                error.data["line"] = self._count
                self._told(error)
        if not data:
            self._has_ended.set()

    def _take(self, line: bytes | TooLong) -> None:
        assert self._live
        conversation = self._live.conversation
        match None if isinstance(line, TooLong) else jsonl.parse(line):
            case {"prompt": what, **more} if not more:
                self._last = conversation.prompt(self._sendable(what))
            case {"steer": what, **more} if more.keys() <= {"id", "fallback"}:
                self._steer(conversation, what, more.get("id", ""), more.get("fallback", self._fallback))
            case {"cancel": True, **more} if not more:
                conversation.cancel()
            case {"permission": str(id), "option": str(option), **more} if not more:
                answer(conversation, id, "optionId", option)
            case {"permission": str(id), "kind": str(kind), **more} if not more:
                answer(conversation, id, "kind", kind)
            case _:
                raise UsageError("invalid-input-line", "This is no input line.", HINT)

    def _steer(self, conversation: Conversation, what: Any, id: Any, fallback: Any) -> None:
        if not isinstance(id, str) or fallback not in tuple(Fallback):
            raise UsageError("invalid-input-line", "The id or the fallback of a steer is not valid.", HINT)
        conversation.steer(SteerRequest(blocks_of(what)), steer_id=id, fallback=Fallback(fallback))

    def _sendable(self, what: Any) -> list[Block]:
        """The blocks of a prompt that this agent can take."""
        assert self._live
        blocks = SteerRequest(blocks_of(what)).blocks
        capabilities = self._live.conversation.facts.capabilities.get("promptCapabilities") or {}
        if problem := content.unsupported(blocks, capabilities):
            raise UsageError("unsupported-content", problem, "leave it out or choose another agent")
        return blocks


def blocks_of(what: Any) -> list[Block]:
    """A text or content blocks as content blocks, not checked yet."""
    if not isinstance(what, str | list):
        raise UsageError("invalid-input-line", "A message is a text or a list of content blocks.", HINT)
    return said(what) if isinstance(what, str) else what


def answer(conversation: Conversation, permission_id: str, key: str, value: str) -> None:
    """Answer an open question with the option of which ``key`` is ``value``."""
    one = conversation.permissions.open.get(permission_id)
    if one is None:
        message = f"The question “{permission_id}” is not open."
        raise NotFoundError("question-not-open", message, "somebody may have been faster; its journal lines tell")
    offered = (option for option in one.options if isinstance(option, dict) and option.get(key) == value)
    option = next(offered, None)
    if option is None:
        message = f"The question “{permission_id}” has no option “{value}”."
        raise UsageError("option-not-offered", message, "choose one of the options of its journal line")
    conversation.answer(permission_id, {"outcome": "selected", "optionId": option["optionId"]}, NAME)
