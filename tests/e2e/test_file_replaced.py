"""An update takes the file's name while an older process still runs: that process works on to its end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

Json = dict[str, Any]
PROMPT = "say hello\nwrite made.txt by the old one"


class Editor:
    """Speaks ACP with ``gzia acp serve``, one question at a time, and allows whatever the agent asks for."""

    def __init__(self, file: Path, directory: Path) -> None:
        env = {**os.environ, "GZIA_PYTHON": sys.executable}
        self.process = subprocess.Popen(
            [file, "acp", "serve", "-a", "demo"], env=env, cwd=directory, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        self.updates: list[Json] = []
        self._ids = 0

    def send(self, message: Json) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def messages(self) -> Iterator[Json]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield json.loads(line)

    def ask(self, method: str, **params: Any) -> Json:
        """The result of a request; updates on the way are kept, permissions given once."""
        self._ids += 1
        self.send({"id": self._ids, "method": method, "params": params})
        for message in self.messages():
            if message.get("id") == self._ids and "method" not in message:
                assert "error" not in message, message
                result: Json = message["result"]
                return result
            if message.get("method") == "session/request_permission":
                options = message["params"]["options"]
                chosen = next(option["optionId"] for option in options if option["kind"] == "allow_once")
                self.send({"id": message["id"], "result": {"outcome": {"outcome": "selected", "optionId": chosen}}})
            else:
                self.updates.append(message)
        raise AssertionError(f"{method} was not answered")

    def leave(self) -> tuple[int, bytes]:
        """Close standard input; the exit status and what was said on standard error."""
        _, err = self.process.communicate(timeout=60)
        return self.process.returncode, err


@pytest.mark.parametrize("change", ["junk", "another build", "deleted"])
def test_ZIP_04_a_served_session_works_to_its_end(gzia_file: Path, tmp_path: Path, repo: Path, change: str) -> None:
    file = tmp_path / "gzia"
    shutil.copy(gzia_file, file)
    editor = Editor(file, repo)
    editor.ask("initialize", protocolVersion=1, clientCapabilities={})

    if change == "deleted":
        file.unlink()
    else:
        # The same layout with other content, which would be loaded without an error if the path were opened again.
        other = bytes(100) if change == "junk" else gzia_file.read_bytes().replace(b"PK\x03\x04", b"KP\x03\x04")
        (tmp_path / "new").write_bytes(other)
        (tmp_path / "new").replace(file)
    session = editor.ask("session/new", cwd=str(repo), mcpServers=[])["sessionId"]
    answer = editor.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": PROMPT}])

    assert answer["stopReason"] == "end_turn"
    assert (repo / "made.txt").read_text().strip() == "by the old one"
    assert editor.leave() == (0, b"")


def test_ZIP_04_no_start_fails_while_the_file_is_replaced_again_and_again(gzia_file: Path, tmp_path: Path) -> None:
    """Updates come before the interpreter opens the file, and before it imports most of its modules."""
    file = tmp_path / "gzia"
    shutil.copy(gzia_file, file)
    env = {**os.environ, "GZIA_PYTHON": sys.executable}
    outcomes = []

    for _ in range(10):
        running = subprocess.Popen([file, "agents", "demo"], env=env, stdout=PIPE, stderr=PIPE)
        while running.poll() is None:
            shutil.copy(gzia_file, tmp_path / "fresh")
            (tmp_path / "fresh").replace(file)
        _, err = running.communicate()
        outcomes.append((running.returncode, err))

    assert set(outcomes) == {(0, b"")}
