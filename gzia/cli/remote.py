"""A client of a running session, for commands that ask one thing and leave: ACP over the session's socket.

It blocks, because nothing else happens in such a command; Ctrl-C interrupts it anywhere.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from gzia.acp import methods
from gzia.acp.client import ClientSide
from gzia.acp.events import Answer, Refused
from gzia.errors import FAILED, DeadlineError, GziaError, NotFoundError
from gzia.jsonrpc.messages import Closed, RpcError
from gzia.session import liveness
from gzia.session.record import Record
from gzia.session.service import Service
from gzia.system import local_socket

PATIENCE = 10.0  # seconds that a session has to answer what it can answer at once
PIECE = 1 << 16

T = TypeVar("T")


class Remote:
    """One connection to a session.

    NotFoundError ``session-not-running``: nobody has it open, or whoever had it let go before it answered.
    DeadlineError ``session-silent``: it does not answer.  Any other GziaError is the session's own.
    """

    def __init__(self, service: Service, record: Record) -> None:
        self.id = record.id
        self._side = ClientSide()
        self._answers: dict[int, Answer | Refused] = {}
        self._is_over = False
        self._socket = connect(service, record)
        try:
            self.ask(methods.INITIALIZE, {"protocolVersion": methods.PROTOCOL_VERSION, "clientCapabilities": {}})
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Leave.  May be called twice."""
        self._socket.close()

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The result of a request that is answered at once."""
        return self.answer(self.begin(method, params), time.monotonic() + PATIENCE)

    def begin(self, method: str, params: dict[str, Any]) -> int:
        """A request that is sent with the next :meth:`answer`; its id for that.  Nothing can interrupt it before."""
        return self._side.request(method, params)

    def withdraw(self, ident: int) -> None:
        """Say, with the next :meth:`answer`, that this one is no longer wanted.  It comes all the same."""
        self._side.cancel_request(ident)

    def answer(self, ident: int, until: float | None) -> Any:
        """The result of a request, waited for until that moment of the monotonic clock (None: as long as it takes)."""
        self._send()
        while ident not in self._answers:
            if self._is_over:
                raise self._gone()
            self._receive(until)
        found = self._answers.pop(ident)
        if isinstance(found, Refused):
            raise error_of(found.error)
        return found.result

    def _receive(self, until: float | None) -> None:
        data = self._within(until, lambda: self._socket.recv(PIECE))
        for event in self._side.receive_data(data):
            if isinstance(event, Answer | Refused):
                self._answers[event.id] = event
            elif isinstance(event, Closed):
                self._is_over = True

    def _send(self) -> None:
        data = self._side.data_to_send()
        self._within(time.monotonic() + PATIENCE, lambda: self._socket.sendall(data))

    def _within(self, until: float | None, step: Callable[[], T]) -> T:
        """A step on the socket, which may take until then."""
        self._socket.settimeout(None if until is None else max(until - time.monotonic(), 0.001))
        try:
            return step()
        except TimeoutError:
            message = f"Session {self.id} does not answer."
            raise DeadlineError("session-silent", message, f"look at it with: gzia show {self.id}") from None
        except OSError:  # reset: a process that is killed says no more than that
            raise self._gone() from None

    def _gone(self) -> NotFoundError:
        message = f"Session {self.id} was closed before it answered."
        return NotFoundError("session-not-running", message, f"look at it with: gzia show {self.id}")


def connect(service: Service, record: Record) -> socket.socket:
    """The socket of a session, which does not block; NotFoundError that says what can be done when nobody listens."""
    try:
        return local_socket.connect(local_socket.path_for(service.root, record.id))
    except NotFoundError:
        message, hint = f"Session {record.id} is not running.", f"go on with it: gzia resume {record.id} “…”"
        if (pid := liveness.holder(record)) is not None:
            message = f"Session {record.id} is open in process {pid}, which does not listen."
            hint = "if it is starting, try again in a moment"
        raise NotFoundError("session-not-running", message, hint) from None


def error_of(error: RpcError) -> GziaError:
    """A session's refusal as the error that it was there."""
    data: dict[str, Any] = dict(error.data) if isinstance(error.data, dict) else {}
    code, hint, status = (data.pop(name, None) for name in ("code", "hint", "status"))
    return GziaError(
        code if isinstance(code, str) else "session-refused",
        error.message,
        hint if isinstance(hint, str) else "see gzia list",
        status=status if type(status) is int else FAILED,
        data=data,
    )
