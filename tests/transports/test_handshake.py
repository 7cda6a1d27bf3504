"""Starting an agent: every way in which it can fail is one error with a reason, soon, and leaves nothing running."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gzia.agents.base import FILES, AgentSpec, Posture
from gzia.agents.registry import custom
from gzia.driver.observation import Heard
from gzia.driver.turn import Place
from gzia.errors import DEADLINE, NOT_FOUND, GziaError
from gzia.system.identity import is_alive
from gzia.transports import handshake
from gzia.transports.acp import AcpAgent
from tests.agents_for_tests import scripted

SOON = 10.0  # seconds; the deadline that a test of another cause must not meet


class Ear:
    """Hears an agent."""

    def __init__(self) -> None:
        self.all: list[Heard] = []

    def heard(self, batch: Sequence[Heard]) -> None:
        self.all += batch


def start(spec: AgentSpec, where: Path, posture: Posture | None = None, deadline: float = SOON) -> AcpAgent:
    """Start an agent and end it again; it is returned with what it said of itself."""

    async def run() -> AcpAgent:
        place = Place(str(where))
        agent = await handshake.start(spec, posture or Posture("any"), place, Ear(), marks={}, deadline=deadline)
        await agent.close()
        return agent

    return asyncio.run(run())


def failure(spec: AgentSpec, where: Path, posture: Posture | None = None, deadline: float = SOON) -> GziaError:
    with pytest.raises(GziaError) as caught:
        start(spec, where, posture, deadline)
    return caught.value


def test_a_started_agent_has_told_its_session_and_what_it_can(tmp_path: Path) -> None:
    hello = {
        "protocolVersion": 1,
        "agentInfo": {"name": "x", "title": "Agent X", "version": "1.2"},
        "agentCapabilities": {"loadSession": True},
        "_meta": {"steering": {"supported": True}},
    }
    new = {"sessionId": "s9", "modes": {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}]}}

    agent = start(scripted({"initialize": [{"result": hello}], "session/new": [{"result": new}]}), tmp_path)

    assert agent.facts.agent_session_id == "s9"
    assert (agent.facts.name, agent.facts.version) == ("Agent X", "1.2")
    assert agent.facts.capabilities == {"loadSession": True}
    assert agent.facts.modes == new["modes"]
    assert agent.facts.steering == "acp"
    assert not is_alive(agent.facts.pid, agent.facts.identity)


@pytest.mark.parametrize(
    "noise",
    [
        "\x1b]0;box\x07Welcome back, ann\n\n",
        "\x1b]0;box\x07",
        "plain words\r\n",
        "[1, 2]\n",
        '"text"\n',
        "\udcff\udcfe\n",
        "{not json\n",
    ],
)
def test_ACP_01_noise_on_stdout_before_the_first_frame_is_skipped(tmp_path: Path, noise: str) -> None:
    agent = start(scripted({"start": [{"raw": noise}]}), tmp_path)

    assert agent.facts.agent_session_id


def test_ACP_01_what_was_skipped_is_kept_for_the_error_message(tmp_path: Path) -> None:
    error = failure(scripted({"start": [{"raw": "Please log in first\n"}], "initialize": [{"exit": 4}]}), tmp_path)

    assert error.data["stdout"] == "Please log in first"
    assert "Please log in first" in error.message


def test_ACP_01_skipped_noise_is_bounded(tmp_path: Path) -> None:
    noise = [{"raw": "noise " * 100 + "\n"}, {"raw": "last\n"}]
    error = failure(scripted({"start": [{"steps": noise, "times": 2000}], "initialize": [{"exit": 4}]}), tmp_path)

    assert error.data["stdout"].endswith("last")
    assert len(error.data["stdout"]) < 2000


def test_ACP_09_a_silent_agent_meets_the_deadline_and_is_ended(tmp_path: Path) -> None:
    error = failure(
        scripted({"start": [{"stderr": "waiting for a login\n"}], "initialize": []}), tmp_path, deadline=0.5
    )

    assert (error.code, error.exit_status) == ("handshake-timeout", DEADLINE)
    assert "initialize" in error.message
    assert "waiting for a login" in error.message


def test_ACP_09_a_session_that_is_never_opened_meets_the_deadline(tmp_path: Path) -> None:
    error = failure(scripted({"session/new": []}), tmp_path, deadline=0.5)

    assert error.code == "handshake-timeout"
    assert "session/new" in error.message


@pytest.mark.parametrize("when", ["start", "initialize", "session/new"])
def test_ACP_09_an_agent_that_dies_in_the_handshake_is_told_with_status_and_last_words(
    tmp_path: Path, when: str
) -> None:
    steps = [{"stderr": "FATAL: helper binary missing\n"}, {"exit": 3}]
    error = failure(scripted({when: steps}), tmp_path)

    assert error.code == "agent-exited"
    assert error.data["exit"] == "exit status 3"
    assert "FATAL: helper binary missing" in error.message


def test_ACP_09_a_killed_agent_is_told_with_its_signal(tmp_path: Path) -> None:
    error = failure(scripted({"initialize": [{"kill": "KILL"}]}), tmp_path)

    assert error.data["exit"] == "signal 9 (SIGKILL)"


def test_ACP_09_a_login_that_is_wanted_is_passed_on_with_code_and_methods(tmp_path: Path) -> None:
    methods = [{"id": "browser", "name": "Log in"}]
    script = {
        "initialize": [{"result": {"protocolVersion": 1, "authMethods": methods}}],
        "session/new": [{"error": {"code": -32000, "message": "Authentication required"}}],
    }

    error = failure(scripted(script), tmp_path)

    assert error.code == "auth-required"
    assert error.data["rpc"] == {"code": -32000, "message": "Authentication required"}
    assert error.data["authMethods"] == methods


def test_ACP_09_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    error = failure(custom([str(tmp_path / "agent")]), tmp_path)

    assert (error.code, error.exit_status) == ("agent-not-found", NOT_FOUND)
    assert str(tmp_path / "agent") in error.message


@pytest.mark.parametrize(("text", "mode"), [("#!/bin/sh\n", 0o644), ("#!/no/such/interpreter\n", 0o755), ("\0", 0o755)])
def test_ACP_09_a_file_that_cannot_be_run_is_named(tmp_path: Path, text: str, mode: int) -> None:
    program = tmp_path / "agent"
    program.write_text(text)
    program.chmod(mode)

    error = failure(custom([str(program)]), tmp_path)

    assert error.code == "agent-not-executable"
    assert str(program) in error.message


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    error = failure(scripted({}), tmp_path / "nowhere")

    assert error.code == "directory-not-found"
    assert "nowhere" in error.message


def test_another_protocol_version_is_refused(tmp_path: Path) -> None:
    error = failure(scripted({"initialize": [{"result": {"protocolVersion": 2}}]}), tmp_path)

    assert error.code == "protocol-version"


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("initialize", {}),
        ("initialize", 7),
        ("session/new", {}),
        ("session/new", {"sessionId": 5}),
        ("session/new", []),
    ],
)
def test_a_wrong_answer_is_an_error_that_names_the_method(tmp_path: Path, method: str, result: Any) -> None:
    error = failure(scripted({method: [{"result": result}]}), tmp_path)

    assert error.code == "agent-refused"
    assert method in error.message


def test_PRO_06_an_agent_that_fills_its_stderr_before_it_answers_does_not_stall(tmp_path: Path) -> None:
    agent = start(
        scripted({"start": [{"stderr": "e", "size": 65537}, {"stderr": "\udcff", "size": 5_000_000}]}), tmp_path
    )

    assert agent.facts.agent_session_id
    assert len(agent.process.stderr_tail()) <= 8192


def test_a_question_before_there_is_a_session_is_answered_with_an_error(tmp_path: Path) -> None:
    ask = {"request": "fs/read_text_file", "params": {"sessionId": "s1", "path": "/x"}}

    agent = start(scripted({"session/new": [ask, {"result": {"sessionId": "s1"}}]}), tmp_path)

    assert agent.facts.agent_session_id == "s1"


def test_RIG_01_the_mode_of_the_level_is_set(tmp_path: Path) -> None:
    log = tmp_path / "log"
    modes = {"currentModeId": "free", "availableModes": [{"id": "free", "name": "F"}, {"id": "plan", "name": "P"}]}
    script = {"log": str(log), "session/new": [{"result": {"sessionId": "s1", "modes": modes}}]}

    start(scripted(script), tmp_path, Posture("plan only", mode="plan"))

    heard = [json.loads(line).get("in") for line in log.read_text().splitlines()]
    asked = [frame["params"] for frame in heard if frame and frame.get("method") == "session/set_mode"]
    assert asked == [{"sessionId": "s1", "modeId": "plan"}]


def test_RIG_01_a_mode_that_the_agent_does_not_offer_is_refused_not_pretended(tmp_path: Path) -> None:
    error = failure(scripted({}), tmp_path, Posture("plan only", mode="plan"))

    assert error.code == "permission-not-enforceable"


def test_RIG_01_a_mode_that_the_agent_refuses_is_an_error(tmp_path: Path) -> None:
    modes = {"currentModeId": "free", "availableModes": [{"id": "plan", "name": "P"}]}
    script = {
        "session/new": [{"result": {"sessionId": "s1", "modes": modes}}],
        "session/set_mode": [{"error": {"code": -32602, "message": "no such mode"}}],
    }

    error = failure(scripted(script), tmp_path, Posture("plan only", mode="plan"))

    assert error.code == "agent-refused"


def test_files_of_a_posture_lie_in_a_private_directory_until_the_agent_ends(tmp_path: Path) -> None:
    log = tmp_path / "log"
    posture = Posture("a policy", args=("--policy", f"{FILES}/deny.toml"), files={"deny.toml": "deny"})

    start(scripted({"log": str(log)}), tmp_path, posture)

    argv = json.loads(log.read_text().splitlines()[0])["start"]["argv"]
    assert argv[-2] == "--policy"
    assert not Path(argv[-1]).parent.exists()


def test_what_a_posture_tells_the_conversation_goes_with_it(tmp_path: Path) -> None:
    log = tmp_path / "log"

    start(scripted({"log": str(log)}), tmp_path, Posture("less tools", meta={"tools": ["Read"]}))

    heard = [json.loads(line).get("in") for line in log.read_text().splitlines()]
    opened = [frame["params"]["_meta"] for frame in heard if frame and frame.get("method") == "session/new"]
    assert opened == [{"tools": ["Read"]}]


def test_RIG_01_a_project_file_that_would_lift_the_level_is_a_refusal(tmp_path: Path) -> None:
    log = tmp_path / "log"
    (tmp_path / ".codex/rules").mkdir(parents=True)

    error = failure(scripted({"log": str(log)}), tmp_path, Posture("sandbox", undone_by=(".codex/rules",)))

    assert (error.code, error.data["file"]) == ("permission-not-enforceable", str(tmp_path / ".codex/rules"))
    assert not log.exists()


@pytest.mark.parametrize(("able", "code"), [({}, "unsupported-mcp-server"), ({"http": True}, "")])
def test_an_mcp_server_that_the_agent_cannot_reach_is_told(tmp_path: Path, able: dict[str, bool], code: str) -> None:
    hello = {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": able}}
    server = {"type": "http", "name": "docs", "url": "http://127.0.0.1:9", "headers": []}

    async def work() -> str:
        place = Place(str(tmp_path), mcp_servers=(server,))
        spec = scripted({"initialize": [{"result": hello}]})
        try:
            agent = await handshake.start(spec, Posture("any"), place, Ear(), marks={}, deadline=SOON)
        except GziaError as error:
            return error.code
        await agent.close()
        return ""

    assert asyncio.run(work()) == code
