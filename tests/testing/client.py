"""A blocking ACP client for one agent process: it keeps every frame, and a test decides what is answered."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from gzia.system.selfexec import module_command

Json = dict[str, Any]
Policy = Callable[[Json], Json | None]  # params of a permission request -> its outcome, None for no answer


def choose(kind: str) -> Policy:
    """Answer each permission request with the option of this kind."""

    def policy(params: Json) -> Json:
        ident = next(option["optionId"] for option in params["options"] if option["kind"] == kind)
        return {"outcome": "selected", "optionId": ident}

    return policy


class Client:
    def __init__(self, stdin: IO[bytes], stdout: IO[bytes], cwd: Path) -> None:
        self.stdin, self.stdout, self.cwd = stdin, stdout, cwd
        self.policy: Policy = choose("allow_once")
        self.frames: list[Json] = []
        self.session = ""
        self.last_id = 0

    def send(self, *frames: Json) -> None:
        self.stdin.write(b"".join(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n" for frame in frames))
        self.stdin.flush()

    def read(self) -> Json:
        """The next frame; a permission request is answered by the policy."""
        line = self.stdout.readline()
        assert line, "the agent has ended"
        frame: Json = json.loads(line)
        self.frames.append(frame)
        if frame.get("method") == "session/request_permission":
            outcome = self.policy(frame["params"])
            if outcome is not None:
                self.send({"id": frame["id"], "result": {"outcome": outcome}})
        return frame

    def read_until(self, test: Callable[[Json], bool]) -> Json:
        while not test(frame := self.read()):
            pass
        return frame

    def start(self, method: str, **params: Any) -> int:
        self.last_id += 1
        self.send({"id": self.last_id, "method": method, "params": params})
        return self.last_id

    def answer_to(self, *idents: int) -> Json:
        """The frame of the next answer to one of these requests, with ``result`` or ``error``."""
        return self.read_until(lambda frame: frame.get("id") in idents and "method" not in frame)

    def call(self, method: str, **params: Any) -> Any:
        answer = self.answer_to(self.start(method, **params))
        return answer.get("result", answer.get("error"))

    def open(self) -> str:
        self.call("initialize", protocolVersion=1, clientCapabilities={})
        self.session = self.call("session/new", cwd=str(self.cwd), mcpServers=[])["sessionId"]
        return self.session

    def start_prompt(self, text: str) -> int:
        self.frames.clear()
        return self.start("session/prompt", sessionId=self.session, prompt=[{"type": "text", "text": text}])

    def prompt(self, text: str) -> str:
        """Run a turn; its stop reason."""
        return str(self.answer_to(self.start_prompt(text))["result"]["stopReason"])

    def cancel(self) -> None:
        self.send({"method": "session/cancel", "params": {"sessionId": self.session}})

    def updates(self, kind: str = "") -> list[Json]:
        """The updates since the last prompt began."""
        found = [f["params"]["update"] for f in self.frames if f.get("method") == "session/update"]
        return [update for update in found if kind in ("", update["sessionUpdate"])]

    def text(self, kind: str = "agent_message_chunk") -> str:
        return "".join(update["content"]["text"] for update in self.updates(kind))

    def asked(self) -> list[str]:
        """The titles of the permission requests since the last prompt began."""
        return [
            f["params"]["toolCall"]["title"] for f in self.frames if f.get("method") == "session/request_permission"
        ]


@contextmanager
def demo(cwd: Path, status: int = 0) -> Iterator[Client]:
    """A demo agent with a session in ``cwd``.  It must end by itself, with ``status``, when its input closes."""
    argv, fds = module_command("gzia.testing.demo", "--pace", "0")
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=fds) as process:
        assert process.stdin and process.stdout and process.stderr
        client = Client(process.stdin, process.stdout, cwd)
        try:
            client.open()
            yield client
        finally:
            process.stdin.close()
            complaints = process.stderr.read().decode()
            ended = process.wait(20)
            assert (ended, complaints) == (status, ""), f"status {ended}: {complaints}"
