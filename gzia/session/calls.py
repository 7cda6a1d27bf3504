"""What an agent asks of its client besides permissions: files, terminals, forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gzia.acp.errors import INVALID_REQUEST, METHOD_NOT_FOUND
from gzia.driver.agent import Agent
from gzia.driver.observation import Question
from gzia.driver.turn import PermissionLevel
from gzia.session.policy import WRITES


class ClientCall:
    """A call that a client of the session may take.  It answers once, with :meth:`give` or :meth:`deny`.

    ``withdrawn`` is called when the agent no longer wants the answer.
    """

    def __init__(self, agent: Agent, question: Question) -> None:
        self.method = question.method
        self.params = question.params
        self.withdrawn: Callable[[], None] = lambda: None
        self._agent = agent
        self._key = question.key

    def give(self, result: Any) -> None:
        """The result."""
        self._agent.reply(self._key, result)

    def deny(self, code: int, message: str) -> None:
        """A JSON-RPC error."""
        self._agent.refuse(self._key, code, message)


class Calls:
    """The open calls of a session; ``taker`` is the client that may take them."""

    def __init__(self, level: PermissionLevel) -> None:
        self.taker: Callable[[ClientCall], bool] | None = None
        self._level = level
        self._open: dict[tuple[type, Any], ClientCall] = {}

    def asked(self, agent: Agent, question: Question) -> bool:
        """Pass a call on, or deny it; whether the permission level was what denied it."""
        call = ClientCall(agent, question)
        if self._level is PermissionLevel.READONLY and question.method in WRITES:
            call.deny(INVALID_REQUEST, "this session is read-only")
            return True
        if self.taker and self.taker(call):
            self._open[type(question.key), question.key] = call
        else:
            call.deny(METHOD_NOT_FOUND, f"this client does not offer {question.method}")
        return False

    def withdrawn(self, key: Any) -> None:
        """The agent took a call back."""
        call = self._open.pop((type(key), key), None)
        if call:
            call.withdrawn()
