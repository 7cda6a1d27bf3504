"""``gzia acp serve`` seen from an editor: sessions, choices, permissions, files, mistakes."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.agents_for_tests import scripted_command
from tests.conftest import git
from tests.serve.editor import Editor, editor
from tests.testing.client import choose

DONE = {"result": {"stopReason": "end_turn"}}


def behind(script: dict[str, Any]) -> tuple[str, ...]:
    """The arguments that put a scripted agent behind gzia."""
    return ("--agent-command", scripted_command(script))


def prompt(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"session/prompt": list(steps)}


def option(client: Editor, id: str, options: list[dict[str, Any]] | None = None) -> Any:
    """The current value of a config option, as the editor was last told."""
    if options is None:
        answers = [frame["result"] for frame in client.frames if "configOptions" in frame.get("result", {})]
        options = answers[-1]["configOptions"]
    return next(one["currentValue"] for one in options if one["id"] == id)


def record(repo: Path, session: str) -> Any:
    return json.loads((repo / ".harness/sessions" / f"{session}.json").read_text())


# -- initialize and sessions -----------------------------------------------------------------------------------------


def test_initialize_is_answered_without_any_agent(tmp_path: Path) -> None:
    with editor(tmp_path, "--agent-command", "/no/such/agent", open=False) as client:
        hello = client.call("initialize", protocolVersion=1, clientCapabilities={})

    assert (hello["protocolVersion"], hello["agentInfo"]["name"], hello["authMethods"]) == (1, "gzia", [])


def test_a_session_tells_its_options_and_what_is_behind(repo: Path) -> None:
    with editor(repo, "-a", "demo", open=False) as client:
        client.call("initialize", protocolVersion=1, clientCapabilities={})
        new = client.call("session/new", cwd=str(repo), mcpServers=[])

    assert [one["id"] for one in new["configOptions"]][:3] == ["gzia_agent", "gzia_isolation", "gzia_permission"]
    assert {"demo", "claude", "opencode"} <= {one["value"] for one in new["configOptions"][0]["options"]}
    assert new["_meta"]["gzia"]["agent"]["id"] == "demo"
    assert (new["_meta"]["gzia"]["isolated"], new["_meta"]["gzia"]["directory"]) == (False, str(repo))
    assert new["modes"]["currentModeId"]


def test_updates_come_in_the_agents_order_and_before_the_answer(repo: Path) -> None:
    steps = [{"say": f"{n} "} for n in range(50)]
    with editor(repo, *behind(prompt(*steps, DONE))) as client:
        stop = client.prompt("go")

        assert stop == "end_turn"
        assert client.text() == "".join(f"{n} " for n in range(50))


def test_late_updates_of_the_agent_still_reach_the_editor(repo: Path) -> None:
    with editor(repo, *behind(prompt(DONE, {"say": "late"}))) as client:
        client.prompt("go")

        if not client.text():
            client.read_until(lambda frame: frame.get("method") == "session/update")
        assert client.text() == "late"


def test_an_unknown_update_and_an_unknown_notification_pass_untouched(repo: Path) -> None:
    update = {"sessionUpdate": "from_tomorrow", "x": [1.5, None], "_meta": {"a": "ü"}}
    note = {"jsonrpc": "2.0", "method": "_vendor/note", "params": {"sessionId": "$session", "k": 1}}
    with editor(repo, *behind(prompt({"update": update}, {"frame": note}, DONE))) as client:
        client.prompt("go")

        assert client.updates() == [update]
        notes = [frame["params"] for frame in client.frames if frame.get("method") == "_vendor/note"]
        assert notes == [{"sessionId": client.session, "k": 1}]


def test_a_session_that_was_never_prompted_leaves_nothing(repo: Path) -> None:
    with editor(repo, "-a", "demo", "--isolate") as client:
        assert git(repo, "branch", "--list", "harness/*") != ""
        client.call("session/close", sessionId=client.session)

    assert git(repo, "branch", "--list", "harness/*") == ""
    assert list((repo / ".harness/sessions").glob("*.json")) == []


def test_a_session_that_was_prompted_stays(repo: Path) -> None:
    with editor(repo, "-a", "demo", "--isolate") as client:
        client.prompt("write new.txt hello")

    shown = record(repo, client.session)
    assert (shown["status"], shown["is_isolated"]) == ("completed", True)
    assert (repo / ".harness/worktrees" / client.session / "new.txt").exists()
    assert not (repo / "new.txt").exists()


@pytest.mark.parametrize("prompted", [False, True])
def test_a_session_is_ended_in_order_when_its_editor_goes(repo: Path, prompted: bool) -> None:
    with editor(repo, *behind(prompt(DONE))) as client:
        if prompted:
            client.prompt("go")

    records = [json.loads(path.read_text()) for path in repo.glob(".harness/sessions/*.json")]
    ends = [path.read_text().splitlines()[-1] for path in repo.glob(".harness/sessions/*.journal.jsonl")]

    assert [(record["status"], record.get("host_pid")) for record in records] == [("completed", None)] * prompted
    assert [json.loads(line).get("state") for line in ends] == ["closed"] * prompted


def test_a_closed_session_is_not_found_any_more(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        client.call("session/close", sessionId=client.session)

        error = client.call("session/prompt", sessionId=client.session, prompt=[{"type": "text", "text": "x"}])
        assert error["code"] == -32002


def test_ACP_11_two_agents_in_one_connection_are_two_processes(repo: Path) -> None:
    with editor(repo, *behind(prompt({"say": "I am the scripted one"}, DONE))) as client:
        first = client.session
        second = client.call("session/new", cwd=str(repo), mcpServers=[])["sessionId"]
        client.call("session/set_config_option", sessionId=second, configId="gzia_agent", value="demo")
        client.session = second
        client.prompt("say I am the demo")
        said = client.text()
        client.session = first
        client.prompt("who are you")

        assert (said, client.text()) == ("I am the demo", "I am the scripted one")
        assert record(repo, first)["pid"] != record(repo, second)["pid"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_ACP_11_after_its_agent_was_killed_a_turn_fails_once_and_new_sessions_work(repo: Path, number: int) -> None:
    with editor(repo, *behind(prompt({"say": "a"}, {"wait": "never"}))) as client:
        turn = client.start_prompt("go")
        client.read_until(lambda frame: frame.get("method") == "session/update")
        os.kill(record(repo, client.session)["pid"], number)
        error = client.answer_to(turn)["error"]

        assert error["data"]["code"] == "agent-exited"
        assert signal.Signals(number).name in error["message"]
        assert client.call("session/new", cwd=str(repo), mcpServers=[])["sessionId"] != client.session


# -- choices ---------------------------------------------------------------------------------------------------------


def test_isolation_can_be_chosen_in_the_session_until_the_first_prompt(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        changed = client.call(
            "session/set_config_option", sessionId=client.session, configId="gzia_isolation", value="worktree"
        )
        client.prompt("write new.txt hello")
        late = client.call(
            "session/set_config_option", sessionId=client.session, configId="gzia_isolation", value="checkout"
        )

        assert option(client, "gzia_isolation", changed["configOptions"]) == "worktree"
        assert late["data"]["code"] == "option-settled"
    assert not (repo / "new.txt").exists()
    assert (repo / ".harness/worktrees" / client.session / "new.txt").exists()


def test_outside_git_the_options_say_that_nothing_is_isolated(tmp_path: Path) -> None:
    with editor(tmp_path, "-a", "demo", "--isolate", open=False) as client:
        client.call("initialize", protocolVersion=1, clientCapabilities={})
        new = client.call("session/new", cwd=str(tmp_path), mcpServers=[])
        error = client.call(
            "session/set_config_option", sessionId=new["sessionId"], configId="gzia_isolation", value="worktree"
        )

        assert option(client, "gzia_isolation", new["configOptions"]) == "checkout"
        assert error["data"]["code"] == "not-a-repository"


def test_another_agent_can_be_chosen_and_one_that_is_missing_changes_nothing(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        error = client.call("session/set_config_option", sessionId=client.session, configId="gzia_agent", value="codex")
        stop = client.prompt("say still the demo")

        assert error["data"]["code"] == "agent-not-found"
        assert (stop, client.text()) == ("end_turn", "still the demo")


@pytest.mark.parametrize(
    ("id", "value"), [("gzia_agent", "nobody"), ("gzia_isolation", "moon"), ("gzia_permission", 1)]
)
def test_a_value_that_was_not_offered_is_refused(repo: Path, id: str, value: Any) -> None:
    with editor(repo, "-a", "demo") as client:
        error = client.call("session/set_config_option", sessionId=client.session, configId=id, value=value)

        assert error["code"] == -32602


def test_the_agents_own_options_and_modes_are_passed_on(repo: Path) -> None:
    with editor(repo, "-a", "demo", "-p", "autonomous") as client:
        options = client.call("session/set_config_option", sessionId=client.session, configId="model", value="large")[
            "configOptions"
        ]
        mode = client.call("session/set_mode", sessionId=client.session, modeId="write")

        assert option(client, "model", options) == "large"
        assert [one["id"] for one in options][:3] == ["gzia_agent", "gzia_isolation", "gzia_permission"]
        assert mode == {}


def test_a_list_of_options_that_the_agent_sends_keeps_gzias_in_front(repo: Path) -> None:
    own = [{"id": "x", "name": "X", "type": "select", "currentValue": "a", "options": [{"value": "a", "name": "A"}]}]
    update = {"sessionUpdate": "config_option_update", "configOptions": own}
    with editor(repo, *behind(prompt({"update": update}, DONE))) as client:
        client.prompt("go")

        sent = client.updates("config_option_update")[0]["configOptions"]
        assert [one["id"] for one in sent] == ["gzia_agent", "gzia_isolation", "gzia_permission", "x"]


def test_RIG_01_a_read_only_session_keeps_its_mode(repo: Path) -> None:
    with editor(repo, "-a", "demo", "-p", "readonly") as client:
        error = client.call("session/set_mode", sessionId=client.session, modeId="write")
        client.prompt("write new.txt hello")

        assert error["data"]["code"] == "mode-not-allowed"
        assert client.asked() == []
    assert not (repo / "new.txt").exists()


def test_RIG_01_an_agent_that_cannot_be_held_to_a_level_is_refused(repo: Path) -> None:
    with editor(repo, *behind(prompt(DONE)), "-p", "readonly", open=False) as client:
        client.call("initialize", protocolVersion=1, clientCapabilities={})
        error = client.call("session/new", cwd=str(repo), mcpServers=[])

        assert error["data"]["code"] == "permission-not-enforceable"


@pytest.mark.parametrize("by", ["mode", "option"])
def test_RIG_01_a_mode_that_would_lift_a_supervised_session_is_refused(repo: Path, by: str) -> None:
    with editor(repo, "-a", "demo") as client:
        if by == "mode":
            error = client.call("session/set_mode", sessionId=client.session, modeId="write")
        else:
            error = client.call("session/set_config_option", sessionId=client.session, configId="mode", value="write")
        stricter = client.call("session/set_mode", sessionId=client.session, modeId="read")

        assert (error["data"]["code"], stricter) == ("mode-not-allowed", {})


def test_changes_and_a_prompt_in_one_burst_are_done_one_after_another(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        set_option = {"sessionId": client.session, "configId": "gzia_isolation"}
        words = [{"type": "text", "text": "write new.txt hello"}]
        client.send(
            {"id": 90, "method": "session/set_config_option", "params": {**set_option, "value": "worktree"}},
            {"id": 91, "method": "session/set_config_option", "params": {**set_option, "value": "checkout"}},
            {"id": 92, "method": "session/set_config_option", "params": {**set_option, "value": "worktree"}},
            {"id": 93, "method": "session/prompt", "params": {"sessionId": client.session, "prompt": words}},
        )
        answers = [client.answer_to(90, 91, 92, 93) for _ in range(4)]

        assert [answer["id"] for answer in answers] == [90, 91, 92, 93]
        assert answers[3]["result"]["stopReason"] == "end_turn"
    assert (repo / ".harness/worktrees" / client.session / "new.txt").exists()


def test_a_cancel_behind_a_prompt_that_waits_for_a_change_still_counts(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        change = {"sessionId": client.session, "configId": "gzia_isolation", "value": "worktree"}
        words = [{"type": "text", "text": "hang"}]
        client.send(
            {"id": 90, "method": "session/set_config_option", "params": change},
            {"id": 91, "method": "session/prompt", "params": {"sessionId": client.session, "prompt": words}},
            {"method": "session/cancel", "params": {"sessionId": client.session}},
        )

        assert client.answer_to(91)["result"]["stopReason"] == "cancelled"


def test_a_session_that_is_closed_in_the_middle_of_a_change_leaves_nothing(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        change = {"sessionId": client.session, "configId": "gzia_isolation", "value": "worktree"}
        client.send(
            {"id": 90, "method": "session/set_config_option", "params": change},
            {"id": 91, "method": "session/close", "params": {"sessionId": client.session}},
        )
        assert client.answer_to(91)["result"] == {}

    assert git(repo, "branch", "--list", "harness/*") == ""
    assert list((repo / ".harness/sessions").glob("*.json")) == []


# -- permissions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "written"), [("allow_once", True), ("reject_once", False)])
def test_a_permission_is_asked_with_the_agents_own_options_and_the_answer_counts(
    repo: Path, kind: str, written: bool
) -> None:
    with editor(repo, "-a", "demo") as client:
        client.policy = choose(kind)
        client.prompt("write new.txt hello")

        asked = next(frame for frame in client.frames if frame.get("method") == "session/request_permission")
        assert asked["params"]["sessionId"] == client.session
        assert {one["kind"] for one in asked["params"]["options"]} == {"allow_once", "allow_always", "reject_once"}
    assert (repo / "new.txt").exists() == written


def test_an_autonomous_session_asks_nobody(repo: Path) -> None:
    with editor(repo, "-a", "demo", "-p", "autonomous") as client:
        client.prompt("write new.txt hello")

        assert client.asked() == []
    assert (repo / "new.txt").exists()


def test_a_cancel_with_an_open_question_answers_it_and_ends_the_turn(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        client.policy = lambda params: None
        turn = client.start_prompt("write new.txt hello")
        client.read_until(lambda frame: frame.get("method") == "session/request_permission")
        client.cancel()

        assert client.answer_to(turn)["result"]["stopReason"] == "cancelled"
        assert any(frame.get("method") == "$/cancel_request" for frame in client.frames)
    assert not (repo / "new.txt").exists()


@pytest.mark.parametrize("answer", [{"outcome": {"outcome": "selected", "optionId": "made-up"}}, {}, {"outcome": 5}])
def test_RIG_03_an_answer_that_makes_no_sense_is_no_permission(repo: Path, answer: Any) -> None:
    with editor(repo, "-a", "demo") as client:
        client.policy = lambda params: None
        turn = client.start_prompt("write new.txt hello")
        question = client.read_until(lambda frame: frame.get("method") == "session/request_permission")
        client.send({"id": question["id"], "result": answer})

        assert client.answer_to(turn)["result"]["stopReason"] == "end_turn"
    assert not (repo / "new.txt").exists()


# -- cancelling ------------------------------------------------------------------------------------------------------


def test_ACP_03_a_prompt_and_its_cancel_in_one_write_end_cancelled(repo: Path) -> None:
    with editor(repo, *behind(prompt({"wait": "never"}))) as client:
        ask = {"sessionId": client.session, "prompt": [{"type": "text", "text": "go"}]}
        client.send(
            {"id": 90, "method": "session/prompt", "params": ask},
            {"method": "session/cancel", "params": {"sessionId": client.session, "reason": "off the schema"}},
        )

        assert client.answer_to(90)["result"]["stopReason"] == "cancelled"


def test_a_cancelled_request_is_the_end_of_its_turn(repo: Path) -> None:
    with editor(repo, *behind(prompt({"say": "a"}, {"wait": "never"}))) as client:
        turn = client.start_prompt("go")
        client.read_until(lambda frame: frame.get("method") == "session/update")
        client.send({"method": "$/cancel_request", "params": {"requestId": turn}})

        assert client.answer_to(turn)["result"]["stopReason"] == "cancelled"


def test_a_second_prompt_waits_for_the_first_and_both_are_answered_in_order(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        first = client.start_prompt("say one")
        second = client.start_prompt("say two")

        answered = [client.answer_to(first, second)["id"], client.answer_to(first, second)["id"]]
        assert answered == [first, second]
        assert client.text() == "onetwo"


# -- files of the editor ---------------------------------------------------------------------------------------------


def test_the_agents_file_calls_go_to_an_editor_that_offers_them(repo: Path) -> None:
    call = {"request": "fs/read_text_file", "params": {"sessionId": "$session", "path": "/x.txt"}}
    with editor(repo, *behind(prompt(call, DONE)), open=False) as client:
        client.call("initialize", protocolVersion=1, clientCapabilities={"fs": {"readTextFile": True}})
        client.session = client.call("session/new", cwd=str(repo), mcpServers=[])["sessionId"]
        turn = client.start_prompt("go")
        asked = client.read_until(lambda frame: frame.get("method") == "fs/read_text_file")
        client.send({"id": asked["id"], "result": {"content": "from a buffer"}})

        assert asked["params"] == {"sessionId": client.session, "path": "/x.txt"}
        assert client.answer_to(turn)["result"]["stopReason"] == "end_turn"


# -- mistakes of the editor ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frame", "code", "words"),
    [
        ({"id": 0, "method": "session/prompt", "params": {"sessionId": "x"}}, -32602, "prompt"),
        ({"id": -1, "method": "session/new", "params": {"cwd": 5, "mcpServers": []}}, -32602, "cwd"),
        ({"id": "a", "method": "session/new", "params": {"cwd": "relative", "mcpServers": []}}, -32602, "absolute"),
        ({"id": None, "method": "no/such/method"}, -32601, "no/such/method"),
        ({"id": 3, "method": "session/new", "params": {"cwd": "/no/such/place", "mcpServers": []}}, -32602, "/no/such"),
    ],
)
def test_a_wrong_request_is_answered_with_its_own_id_and_a_reason(
    repo: Path, frame: dict[str, Any], code: int, words: str
) -> None:
    with editor(repo, "-a", "demo") as client:
        client.send(frame)
        answer = client.read_until(lambda got: "error" in got)

        assert (answer["id"], type(answer["id"])) == (frame["id"], type(frame["id"]))
        assert answer["error"]["code"] == code
        assert words in answer["error"]["message"]
        assert client.prompt("say still here") == "end_turn"


@pytest.mark.parametrize("line", [b"not json\n", b"[1,2]\n", b"\xff\xfe\n", b"7\n", b'{"jsonrpc":"2.0"}\n', b"\n\r\n"])
def test_a_line_that_is_no_message_harms_nothing(repo: Path, line: bytes) -> None:
    with editor(repo, "-a", "demo") as client:
        client.stdin.write(line)

        assert client.prompt("say still here") == "end_turn"


@pytest.mark.parametrize("id", ["../../victim", "..", "/etc/passwd", "a\\b", "CON", "x" * 5000, "x\n", "", "a\0b"])
def test_JSO_10_a_session_id_that_is_a_path_is_invalid(repo: Path, id: str) -> None:
    with editor(repo, "-a", "demo") as client:
        error = client.call("session/prompt", sessionId=id, prompt=[{"type": "text", "text": "x"}])

        assert error["code"] == -32602


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ({"initialize": [{"stderr": "FATAL: no helper\n"}, {"exit": 1}]}, "agent-exited"),
        ({"session/new": [{"error": {"code": -32000, "message": "Authentication required"}}]}, "auth-required"),
        ({"session/new": [{"result": {}}]}, "agent-refused"),
    ],
)
def test_ACP_09_an_agent_that_does_not_start_is_one_error_and_the_server_goes_on(
    repo: Path, script: dict[str, Any], code: str
) -> None:
    with editor(repo, *behind(script), open=False) as client:
        client.call("initialize", protocolVersion=1, clientCapabilities={})
        errors = [client.call("session/new", cwd=str(repo), mcpServers=[]) for _ in range(2)]

        assert [error["data"]["code"] for error in errors] == [code, code]
        assert errors[0]["code"] == (-32000 if code == "auth-required" else -32603)
    assert list((repo / ".harness/sessions").glob("*.json")) == []


def test_content_that_the_agent_cannot_take_is_refused_before_it_is_sent(repo: Path) -> None:
    with editor(repo, *behind(prompt(DONE))) as client:
        image = {"type": "image", "data": "", "mimeType": "image/png"}
        error = client.call("session/prompt", sessionId=client.session, prompt=[image])

        assert error["data"]["code"] == "unsupported-content"


@pytest.mark.parametrize("size", [65536, 1_000_000, 20_000_000])
def test_PRO_01_a_long_prompt_and_a_long_update_pass_and_the_next_frame_is_answered(repo: Path, size: int) -> None:
    with editor(repo, *behind(prompt({"say": "x", "size": size}, DONE))) as client:
        assert client.prompt("y" * size) == "end_turn"
        assert len(client.text()) == size
        assert client.call("session/set_mode", sessionId=client.session, modeId="any") == {}


# -- going on with a session -----------------------------------------------------------------------------------------


def prompted(repo: Path) -> str:
    """A session with one turn, made by an editor that has gone."""
    with editor(repo, "-a", "demo") as client:
        client.prompt("say one")
    return client.session


@pytest.mark.parametrize(("method", "replayed"), [("session/load", ["say one", "one"]), ("session/resume", [])])
def test_a_later_editor_goes_on_with_a_session(repo: Path, method: str, replayed: list[str]) -> None:
    session = prompted(repo)

    with editor(repo, "-a", "demo", open=False) as client:
        client.call("initialize", protocolVersion=1, clientCapabilities={})
        client.frames.clear()
        loaded = client.call(method, sessionId=session, cwd=str(repo), mcpServers=[])
        said = [update["content"]["text"] for update in client.updates() if "content" in update]
        client.session = session
        stop = client.prompt("say two")

        assert said == replayed
        assert loaded["_meta"]["gzia"]["session"] == session
        assert (stop, client.text()) == ("end_turn", "two")


def transcript(repo: Path, session: str) -> list[str]:
    """The lines of the journal that hold what was said."""
    lines = (repo / ".harness/sessions" / f"{session}.journal.jsonl").read_text().splitlines()
    return [line for line in lines if '"agent_message_chunk"' in line or '"kind":"input"' in line]


def test_ACP_06_loading_a_session_again_and_again_adds_nothing_to_its_transcript(repo: Path) -> None:
    session = prompted(repo)
    before = transcript(repo, session)

    replays = []
    for _ in range(3):
        with editor(repo, "-a", "demo", open=False) as client:
            client.call("initialize", protocolVersion=1, clientCapabilities={})
            client.call("session/load", sessionId=session, cwd=str(repo), mcpServers=[])
            replays.append([update["content"]["text"] for update in client.updates() if "content" in update])

    assert replays == [["say one", "one"]] * 3
    assert transcript(repo, session) == before


def test_a_strange_line_in_the_journal_does_not_keep_a_session_from_being_loaded(repo: Path) -> None:
    session = prompted(repo)
    with (repo / ".harness/sessions" / f"{session}.journal.jsonl").open("a") as journal:
        journal.write('{"n":"seven"}\n{"kind":5}\n{"kind":"update","n":90}\n')
        for kind in ("input", "turn", "prompt", "permission", "notice", "session", "steer", "new"):
            journal.write(f'{{"n":90,"kind":"{kind}"}}\n')

    with editor(repo, "-a", "demo", open=False) as client:
        client.call("initialize", protocolVersion=1, clientCapabilities={})
        client.frames.clear()
        client.call("session/load", sessionId=session, cwd=str(repo), mcpServers=[])

        assert [update["content"]["text"] for update in client.updates() if "content" in update] == ["say one", "one"]


@pytest.mark.parametrize(("id", "code"), [("nobody", -32002), ("../../victim", -32602), ("", -32602)])
def test_JSO_10_loading_what_is_no_session_is_refused(repo: Path, id: str, code: int) -> None:
    with editor(repo, "-a", "demo", open=False) as client:
        client.call("initialize", protocolVersion=1, clientCapabilities={})

        assert client.call("session/load", sessionId=id, cwd=str(repo), mcpServers=[])["code"] == code


def test_a_session_that_another_process_has_open_is_busy(repo: Path) -> None:
    with editor(repo, "-a", "demo") as first:
        first.prompt("say one")
        with editor(repo, "-a", "demo", open=False) as second:
            second.call("initialize", protocolVersion=1, clientCapabilities={})
            error = second.call("session/load", sessionId=first.session, cwd=str(repo), mcpServers=[])

        assert error["data"]["code"] == "session-running"
        assert first.prompt("say two") == "end_turn"


def test_the_sessions_of_a_project_are_listed(repo: Path) -> None:
    session = prompted(repo)

    with editor(repo, "-a", "demo", open=False) as client:
        client.call("initialize", protocolVersion=1, clientCapabilities={})
        sessions = client.call("session/list", cwd=str(repo))["sessions"]

    assert [(one["sessionId"], one["cwd"]) for one in sessions] == [(session, str(repo))]
