"""The permission questions that one client of a session has open."""

from __future__ import annotations

from typing import Any

from gzia.acp.events import Answer, Refused
from gzia.acp.methods import REQUEST_PERMISSION
from gzia.serve.wire import Wire
from gzia.session.conversation import Conversation

CANCELLED = {"outcome": "cancelled"}


class Questions:
    """Passes the questions of a conversation on to a client, and its answers back; ``name`` is who answers.

    While it is open, the client counts as one that can answer.
    """

    def __init__(self, wire: Wire, session_id: str, conversation: Conversation, name: str) -> None:
        self._wire = wire
        self._session_id = session_id
        self._conversation = conversation
        self._name = name
        self._asked: dict[str, int] = {}  # permission id -> our request to the client
        self._is_open = True
        conversation.permissions.answerers += 1

    def line(self, body: dict[str, Any]) -> None:
        """A permission line of the journal: a new question, or the end of one."""
        id = body.get("permission_id", "")
        if body.get("state") != "asked":
            if (request := self._asked.pop(id, None)) is not None:
                self._wire.withdraw(request)
        elif id in self._conversation.permissions.open:
            self._ask(id, body["tool_call"], body["options"])

    def ask_all(self) -> None:
        """Ask everything that is open just now."""
        for id, one in self._conversation.permissions.open.items():
            self._ask(id, one.tool_call, one.options)

    def _ask(self, id: str, tool_call: dict[str, Any], options: list[Any]) -> None:
        if self._is_open:
            params = {"sessionId": self._session_id, "toolCall": tool_call, "options": options}
            self._asked[id] = self._wire.ask(REQUEST_PERMISSION, params, lambda event: self._answered(id, event))

    def _answered(self, id: str, event: Answer | Refused) -> None:
        self._asked.pop(id, None)
        if isinstance(event, Answer):
            self._conversation.answer(id, event.result["outcome"], self._name)
        elif self._conversation.permissions.answerers > 1:
            self.close()  # it cannot answer, and others can
        else:
            self._conversation.answer(id, CANCELLED, self._name)

    def close(self) -> None:
        """The client answers no more.  May be called twice."""
        if not self._is_open:
            return
        self._is_open = False
        for request in self._asked.values():
            self._wire.withdraw(request)
        self._asked.clear()
        permissions = self._conversation.permissions
        if permissions.answerers > 1:
            permissions.answerers -= 1
        else:
            self._conversation.nobody_left()
