"""An agent program in memory: its pipes flow as the test wants, and it remembers what it really received.

Between gzia and the agent lies the kernel: a frame can be given, not yet taken by the pipe, taken and not yet read, and
what the agent says can be under way for a while.  When the process ends, what it did not read is lost.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from gzia.acp import steering
from gzia.system.process import Exit

Json = dict[str, Any]
NOBODY_WORKS = ""
END = 0.3  # seconds that it is given to end by itself, and does not use


@dataclass(slots=True, eq=False)
class Message:
    """A prompt or a steer that was given to the pipe of an agent."""

    pipe: Pipe
    id: int
    text: str
    is_steer: bool
    end: int  # how many bytes the pipe had been given with its last one
    in_turn: str = NOBODY_WORKS  # the text of the prompt that the agent worked on when it read this
    is_read: bool = False
    said: list[Any] = field(default_factory=list)  # what the agent answered
    heard: list[Any] = field(default_factory=list)  # what of that gzia has read

    @property
    def is_taken(self) -> bool:
        """Whether the pipe has the last byte: from then on only the agent decides."""
        return self.end <= self.pipe.taken


class Pipe:
    """What gzia.system.pump.Writer is to a transport.  ``room``: bytes that still fit; None: all that come."""

    def __init__(self, given: Callable[[bytes], None], arrived: Callable[[bytes], None]) -> None:
        self.room: int | None = None
        self.given = 0
        self.taken = 0
        self.is_closed = False
        self._waiting = b""
        self._marks: deque[tuple[int, Callable[[], None]]] = deque()
        self._told = given
        self._arrived = arrived

    @property
    def pending(self) -> int:
        """Bytes that were given and not taken."""
        return len(self._waiting)

    def write(self, data: bytes) -> None:
        """See Writer."""
        if not self.is_closed:
            self._told(data)
            self.given += len(data)
            self._waiting += data
            self.flow()

    def when_written(self, callback: Callable[[], None]) -> None:
        """See Writer."""
        if self.pending:
            self._marks.append((self.given, callback))
        elif not self.is_closed:
            callback()

    def flow(self) -> None:
        """Take what there is room for."""
        size = self.pending if self.room is None else min(self.room, self.pending)
        if self.room is not None:
            self.room -= size
        data, self._waiting = self._waiting[:size], self._waiting[size:]
        self.taken += size
        self._arrived(data)
        while self._marks and self._marks[0][0] <= self.taken:
            self._marks.popleft()[1]()

    def abort(self) -> None:
        """Nobody reads it any more, or it was closed."""
        self.is_closed, self._waiting = True, b""
        self._marks.clear()


class Witness(Protocol):
    """Who is told of each frame in the moment in which it is given to a pipe."""

    def given(self, process: Program, frame: Json, message: Message | None) -> None: ...


class Program:
    """One process, as gzia.system.process.Process is to a transport.  What the agent does is the test's to say."""

    identity = "pretended"

    def __init__(self, pid: int, witness: Witness) -> None:
        self.pid = pid
        self.stdin = Pipe(self._given, self._arrived)
        self.reads = True  # what the pipe has taken is read at once
        self.speaks = True  # what is said arrives at once
        self.messages: list[Message] = []
        self.replies: dict[Any, Any] = {}  # what its questions were answered
        self.withdrawn: set[Any] = set()  # questions that it took back
        self.cancels = 0  # how often gzia told it to stop
        self._questions = 0
        self._witness = witness
        self._unread = b""
        self._said = b""
        self._marks: deque[tuple[int, Message, Any]] = deque()  # where an answer ends in what was said
        self._heard = self._spoken = 0
        self._has_ended = False
        self._exit: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._on_data: Callable[[bytes], None] = lambda _: None

    # -- what the transport uses -------------------------------------------------------------------------------------

    @property
    def exited(self) -> asyncio.Future[Exit]:
        return asyncio.shield(self._exit)

    def read(self, on_data: Callable[[bytes], None]) -> None:
        self._on_data = on_data

    def stderr_tail(self) -> str:
        return ""

    async def end(self, grace: float = 2.0) -> Exit:
        """Its input ends at once when nothing is pending; it is given a moment to end by itself and does not use it."""
        if not self.stdin.pending:
            self.stdin.abort()
        await asyncio.wait([self._exit], timeout=END)
        self.die()
        return await asyncio.shield(self._exit)

    # -- what it receives --------------------------------------------------------------------------------------------

    def _given(self, data: bytes) -> None:
        end = self.stdin.given
        for line in data.splitlines(keepends=True):
            frame, end = json.loads(line), end + len(line)
            message = self._message(frame, end)
            self._witness.given(self, frame, message)
            if message:
                self.messages.append(message)
            elif frame.get("method") == "session/cancel":
                self.cancels += 1

    def _message(self, frame: Json, end: int) -> Message | None:
        match frame:
            case {"method": "session/prompt" | steering.METHOD as method, "id": int(id), "params": params}:
                return Message(self.stdin, id, params["prompt"][0]["text"], method == steering.METHOD, end)
        return None

    def _arrived(self, data: bytes) -> None:
        self._unread += data
        if self.reads:
            self.take_in()

    def take_in(self) -> None:
        """Read what the pipe holds; what is no whole line yet means nothing."""
        *lines, self._unread = self._unread.split(b"\n")
        for frame in map(json.loads, lines):
            if "method" not in frame:
                self.replies[frame["id"]] = frame.get("result", frame.get("error"))
                continue
            for message in self.messages:
                if message.id == frame.get("id"):
                    message.in_turn = next((one.text for one in self.open(is_steer=False)), NOBODY_WORKS)
                    message.is_read = True

    def open(self, *, is_steer: bool) -> list[Message]:
        """What it has read and not answered."""
        return [one for one in self.messages if one.is_steer is is_steer and one.is_read and not one.said]

    # -- what it does ------------------------------------------------------------------------------------------------

    @property
    def is_dead(self) -> bool:
        return self._exit.done()

    def say(self, *frames: Any) -> None:
        """Frames, or raw bytes."""
        for frame in frames:
            data = frame if isinstance(frame, bytes) else json.dumps(frame).encode() + b"\n"
            if not (self._has_ended or self.is_dead):
                self._said += data
                self._spoken += len(data)
        if self.speaks:
            self.deliver()

    def answer(self, message: Message, said: Any) -> None:
        """A word, an error code, or any other result."""
        frame = {"jsonrpc": "2.0", "id": message.id, **_outcome(said, "outcome" if message.is_steer else "stopReason")}
        message.said.append(said)
        self._marks.append((self._spoken + len(json.dumps(frame)) + 1, message, said))
        self.say(frame)

    def answers(self, answers: Sequence[tuple[Message, Any]], between: Json | None) -> None:
        """Answer several in one write, with an update after each."""
        spoke, self.speaks = self.speaks, False
        for message, said in answers:
            self.answer(message, said)
            if between:
                self.update(between)
        self.speaks = spoke
        if spoke:
            self.deliver()

    def update(self, update: Json) -> None:
        self.say({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "c1", "update": update}})

    def ask(self) -> None:
        """Ask for a permission."""
        self._questions += 1
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        call = {"toolCallId": f"t{self.pid}-{self._questions}", "title": "write", "kind": "edit"}
        params = {"sessionId": "c1", "toolCall": call, "options": options}
        self.say({"jsonrpc": "2.0", "id": self._questions, "method": "session/request_permission", "params": params})

    @property
    def questions(self) -> list[int]:
        """What it asked and still waits for."""
        return [id for id in range(1, self._questions + 1) if id not in self.replies and id not in self.withdrawn]

    def take_back(self, id: int) -> None:
        """It no longer wants an answer."""
        self.withdrawn.add(id)
        self.say({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": id}})

    def deliver(self, size: int | None = None) -> None:
        """Let gzia read what was said, or only the next bytes of it."""
        data, self._said = (self._said, b"") if size is None else (self._said[:size], self._said[size:])
        self._heard += len(data)
        while self._marks and self._marks[0][0] <= self._heard:
            _, message, said = self._marks.popleft()
            message.heard.append(said)
        if data:
            self._on_data(data)

    def flow(self) -> None:
        """From now on nothing is under way for long."""
        self.stdin.room, self.reads, self.speaks = None, True, True
        self.stdin.flow()
        self.take_in()
        self.deliver()

    def stall(self) -> None:
        """Its pipe takes nothing more."""
        self.stdin.room = 0

    def trickle(self) -> None:
        """Its pipe takes a part of a frame."""
        self.stdin.room = 50
        self.stdin.flow()

    def ignore(self) -> None:
        """What the pipe takes from now on is not read."""
        self.reads = False

    def hold_back(self) -> None:
        """What it says from now on is under way for a while."""
        self.speaks = False

    def stammer(self) -> None:
        """A part of what it said arrives."""
        self.deliver(60)

    def end_output(self) -> None:
        """Close standard output; what was said still arrives."""
        if not self._has_ended:
            self._has_ended = True
            self.deliver()
            self._on_data(b"")

    def stop_reading(self) -> None:
        """Close standard input, after what is on its way."""
        if not self.stdin.pending:
            self.stdin.abort()

    def exit(self) -> None:
        """The process is gone; what it said is still in its pipe."""
        if not self.is_dead:
            self.stdin.abort()
            self._exit.set_result(Exit(0, None))

    def die(self, lost: int = 0) -> None:
        """Exit in the middle of a word: the last ``lost`` bytes that are not under way were never said."""
        if lost and not self._has_ended:
            self._said = self._said[:-lost]
        self.exit()
        self.end_output()


def _outcome(said: Any, member: str) -> Json:
    if isinstance(said, int):
        return {"error": {"code": said, "message": "no"}}
    return {"result": {member: said} if isinstance(said, str) else said}
