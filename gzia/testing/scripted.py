"""An agent for tests whose behaviour, good or bad, is a JSON script.

    python -I -S gzia/testing/scripted.py SCRIPT      SCRIPT is JSON text that starts with "{", or a file

The script maps a method to the steps that run when it is received; ``start`` runs before the first line is read and
``eof`` when standard input ends.  A method that the script does not name is answered as a well-behaved agent would; an
empty list never answers.  A list of lists is one list for each time, the last one for all later times.  Where its
answer to ``initialize`` offers steering, ``_session/steering`` is answered ``injected`` while a prompt is open, and
``promptRequired`` while none is.

A step has one of these keys first.  In them ``$session`` is the session of the request, and the string ``$id`` alone is
replaced by the id of the request.

    result: VALUE     answers the request
    error: {...}      the same with an error: code, message, data
    say: TEXT         a message chunk; ``size: N`` repeats TEXT up to N characters, ``count: N`` sends it N times,
                      ``message: ID`` says of which message it is a part
    update: {...}     any other session/update, also with ``count``
    frame: VALUE      any JSON value as one line
    raw: TEXT         to stdout as it is; "\\udcff" is the byte 0xff; also with ``size``
    stderr: TEXT      to stderr, also with ``size``
    ask: [OPTIONS]    session/request_permission, and waits; [] means one allow_once ("yes") and one reject_once ("no");
                      ``id``, ``toolCall``, and ``then: {optionId: [steps]}`` with "cancelled" and "*" for any other
    request: METHOD   any other request, and waits; ``params``, ``id``
    wait: METHOD      until such a frame arrives; one that never comes waits until the turn is cancelled
    after: SECONDS    waits, and goes on reading meanwhile; what is not over at the end of the input is dropped
    hold: FIFO        stops everything until somebody opens FIFO for writing and closes it
    write: [PATH, TEXT]    a file, relative to the session's directory
    spawn: [ARGV]     leaves a child running; ``setsid: true``, ``quiet: true`` (no stdout, no stderr), ``env: {...}``
    ignore: [NAMES]   signals such as "TERM" are only logged from now on
    close: FD         exit: STATUS         kill: NAME (itself)         freeze: SECONDS (reads nothing; true: for good)
    steps: [...]      with ``times: N``

``session/cancel`` answers the open prompt with ``cancelled``.  A script that names it decides itself: its steps run
with the prompt's id, and the turn goes on unless they answer it.  Steps after ``result`` run too: that makes late
updates.  Without ``id`` this agent's requests count from 0, as those of the common TypeScript peers do.

``"log": FILE`` gets one JSON object a line: ``{"start": {argv, env, cwd, pid}}``, ``{"in": frame}`` (a string when it
is not JSON), ``{"signal": N}``, ``{"spawned": PID}``, ``{"eof": true}``.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Generator
from typing import Any

Json = dict[str, Any]
Steps = list[Json]
Awaited = tuple[str, Any]  # ("answer", id), ("method", name) or ("time", when): what a running script waits for
Running = Generator[Awaited, Json, None]

OPTIONS = [
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
STEERING = "_session/steering"
DEFAULTS: dict[str, Steps] = {
    "initialize": [{"result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}}],
    "session/load": [{"result": {}}],
    "session/set_mode": [{"result": {}}],
    "session/close": [{"result": {}}],
    "session/prompt": [{"say": "hello"}, {"result": {"stopReason": "end_turn"}}],
    "session/cancel": [{"result": {"stopReason": "cancelled"}}],
}


def command(script: Json) -> list[str]:
    """The argv that starts this agent with ``script`` under the running interpreter."""
    return [sys.executable, "-I", "-S", __file__, json.dumps(script)]


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def sized(text: str, step: Json) -> str:
    size = step.get("size")
    return text if size is None else (text * (size // len(text) + 1))[:size]


def spawn(argv: list[str], step: Json) -> int:
    quiet = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2) if step.get("quiet")]
    env = step.get("env", dict(os.environ))
    return os.posix_spawnp(argv[0], argv, env, file_actions=quiet, setsid=step.get("setsid", False))


def read_file(path: str) -> str:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        return file.read()


def write_file(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text)


def offers_steering(hello: Any) -> bool:
    meta = hello.get("_meta") if isinstance(hello, dict) else None
    steering = meta.get("steering") if isinstance(meta, dict) else None
    return isinstance(steering, dict) and steering.get("supported") is True


class Request:
    """What the steps speak about: the frame that set them off, or the prompt that is cancelled."""

    def __init__(self, frame: Json, cwd: str = "") -> None:
        params = frame.get("params")
        self.frame = frame
        self.session = str(params.get("sessionId", "s1")) if isinstance(params, dict) else "s1"
        self.cwd = cwd
        self.answered = False

    @property
    def is_open_prompt(self) -> bool:
        """Whether it is a turn that a cancel would end."""
        return self.frame.get("method") == "session/prompt" and not self.answered


def filled(value: Any, request: Request) -> Any:
    """``value`` with the request's session and id in place of ``$session`` and ``$id``."""
    if value == "$id":
        return request.frame["id"]
    if isinstance(value, str):
        return value.replace("$session", request.session)
    if isinstance(value, list):
        return [filled(item, request) for item in value]
    if isinstance(value, dict):
        return {key: filled(item, request) for key, item in value.items()}
    return value


class Agent:
    """Runs the scripts of several requests at once; each is a generator that yields what it waits for."""

    def __init__(self, script: Json) -> None:
        self.script = script
        self.times: dict[str, int] = {}
        self.next_id = 0
        self.offers_steering = False
        self.cwds: dict[str, str] = {}
        self.waiting: list[tuple[Awaited, Request, Running]] = []
        self.log_fd = os.open(script.get("log", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def main(self) -> None:
        start = {"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(), "pid": os.getpid()}  # noqa: PTH109
        self.log({"start": start})
        self.begin("start", Request({}))
        rest = b""
        while data := self.read():
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self.receive(line)
        self.log({"eof": True})
        self.begin("eof", Request({}))

    def read(self) -> bytes:
        """The next bytes of standard input; meanwhile the steps go on whose time has come."""
        while due := sorted(when for (what, when), _, _ in self.waiting if what == "time"):
            left = due[0] - time.monotonic()
            if left <= 0:
                self.wake(("time", due[0]), {})
            elif select.select([0], [], [], left)[0]:
                break
        return os.read(0, 1 << 20)

    def receive(self, line: bytes) -> None:
        try:
            frame = json.loads(line)
        except ValueError:
            self.log({"in": line.decode("utf-8", "backslashreplace")})
            return
        self.log({"in": frame})
        if "method" not in frame:
            self.wake(("answer", frame.get("id")), frame)
        elif frame["method"] == "session/cancel":
            self.cancel(Request(frame))
        elif not self.wake(("method", frame["method"]), frame) or "id" in frame:
            self.begin(frame["method"], Request(frame))

    # -- running scripts

    def steps(self, method: str, request: Request) -> Steps | None:
        """What is to be done; None when neither the script nor a well-behaved agent knows the method."""
        steps = self.script.get(method)
        if steps is None:
            return self.default(method, request)
        if steps and isinstance(steps[0], list):
            self.times[method] = self.times.get(method, 0) + 1
            return list(steps[min(self.times[method], len(steps)) - 1])
        return list(steps)

    def default(self, method: str, request: Request) -> Steps | None:
        if method == STEERING and self.offers_steering:
            is_running = any(one.is_open_prompt and one.session == request.session for _, one, _ in self.waiting)
            return [{"result": {"outcome": "injected" if is_running else "promptRequired"}}]
        return [] if method == "session/new" else DEFAULTS.get(method)

    def begin(self, method: str, request: Request) -> None:
        if method == "session/new":
            self.open_session(request)
        request.cwd = self.cwds.get(request.session, "")
        steps = self.steps(method, request)
        if steps is None and "id" in request.frame:
            self.answer(request, {"error": {"code": -32601, "message": f"Method not found: {method}"}})
        self.advance(self.run(steps or [], request), request, None)

    def open_session(self, request: Request) -> None:
        request.session = f"s{len(self.cwds) + 1}"
        self.cwds[request.session] = str(request.frame.get("params", {}).get("cwd", ""))
        if "session/new" not in self.script:
            self.answer(request, {"result": {"sessionId": request.session}})

    def advance(self, running: Running, request: Request, frame: Json | None) -> None:
        try:
            awaited = next(running) if frame is None else running.send(frame)
        except StopIteration:
            return
        self.waiting.append((awaited, request, running))

    def wake(self, awaited: Awaited, frame: Json) -> bool:
        found = [entry for entry in self.waiting if entry[0] == awaited]
        self.waiting = [entry for entry in self.waiting if entry[0] != awaited]
        for _, request, running in found:
            self.advance(running, request, frame)
        return bool(found)

    def cancel(self, notice: Request) -> None:
        for entry in [e for e in self.waiting if e[1].is_open_prompt and e[1].session == notice.session]:
            self.advance(self.run(self.steps("session/cancel", entry[1]) or [], entry[1]), entry[1], None)
            if entry[1].answered:
                self.waiting.remove(entry)

    def run(self, steps: Steps, request: Request) -> Running:
        for step in steps:
            match step:
                case {"ask": options}:
                    yield from self.ask(step, options or OPTIONS, request)
                case {"request": method}:
                    yield self.send_request(method, filled(step.get("params", {}), request), step)
                case {"wait": method}:
                    yield ("method", method)
                case {"after": seconds}:
                    yield ("time", time.monotonic() + seconds)
                case {"steps": inner}:
                    for _ in range(step.get("times", 1)):
                        yield from self.run(inner, request)
                case _:
                    self.act(step, request)

    def ask(self, step: Json, options: list[Json], request: Request) -> Running:
        tool = {"toolCallId": "t1", "title": "write out.txt", "kind": "edit", "status": "pending"}
        params = {"sessionId": request.session, "toolCall": step.get("toolCall", tool), "options": options}
        reply = yield self.send_request("session/request_permission", params, step)
        outcome = reply.get("result", {}).get("outcome", {})
        then = step.get("then", {})
        yield from self.run(then.get(outcome.get("optionId", outcome.get("outcome")), then.get("*", [])), request)

    def send_request(self, method: str, params: Json, step: Json) -> Awaited:
        ident = step.get("id", self.next_id)
        self.next_id += "id" not in step
        self.send({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})
        return ("answer", ident)

    def act(self, step: Json, request: Request) -> None:
        """Do a step that waits for nothing."""
        match step:
            case {"result": _} | {"error": _}:
                self.answer(request, step)
            case {"say": text}:
                content = {"type": "text", "text": sized(filled(text, request), step)}
                part = {"messageId": step["message"]} if "message" in step else {}
                self.update({"sessionUpdate": "agent_message_chunk", "content": content, **part}, step, request)
            case {"update": update}:
                self.update(filled(update, request), step, request)
            case {"frame": frame}:
                self.send(filled(frame, request))
            case {"raw": text}:
                write_all(1, sized(text, step).encode("utf-8", "surrogateescape"))
            case {"stderr": text}:
                write_all(2, sized(text, step).encode("utf-8", "surrogateescape"))
            case {"write": [path, text]}:
                write_file(os.path.join(request.cwd, path), text)  # noqa: PTH118
            case {"spawn": argv}:
                self.log({"spawned": spawn(argv, step)})
            case {"ignore": names}:
                for name in names:
                    signal.signal(getattr(signal, f"SIG{name}"), lambda number, _: self.log({"signal": number}))
            case {"hold": fifo}:
                read_file(fifo)
            case {"close": fd}:
                os.close(fd)
            case {"exit": status}:
                os._exit(status)
            case {"kill": name}:
                os.kill(os.getpid(), getattr(signal, f"SIG{name}"))
            case {"freeze": True}:
                while True:
                    signal.pause()
            case {"freeze": seconds}:
                time.sleep(seconds)
            case _:
                raise ValueError(f"no such step: {step}")

    def answer(self, request: Request, outcome: Json) -> None:
        request.answered = True
        if request.frame.get("method") == "initialize":
            self.offers_steering = offers_steering(outcome.get("result"))
        self.send({"jsonrpc": "2.0", "id": request.frame.get("id"), **filled(outcome, request)})

    def update(self, update: Json, step: Json, request: Request) -> None:
        params = {"sessionId": request.session, "update": update}
        self.send(*[{"jsonrpc": "2.0", "method": "session/update", "params": params}] * step.get("count", 1))

    def send(self, *frames: Any) -> None:
        write_all(1, b"".join(json.dumps(frame).encode() + b"\n" for frame in frames))

    def log(self, entry: Json) -> None:
        write_all(self.log_fd, json.dumps(entry).encode() + b"\n")


if __name__ == "__main__":
    argument = sys.argv[1]
    Agent(json.loads(argument if argument.startswith("{") else read_file(argument))).main()
