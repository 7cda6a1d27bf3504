from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gzia.acp import checking
from tests.testing.client import Client, choose, demo

STEERING: dict[str, Any] = {"steering": {"idleBehavior": "promptRequired"}}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    (tmp_path / "f.txt").write_text("one\ntwo\n")
    with demo(tmp_path) as client:
        yield client


def statuses(client: Client) -> list[str]:
    return [u["status"] for u in client.updates() if u["sessionUpdate"].startswith("tool_call")]


def steer(client: Client, text: str) -> int:
    return client.start(
        "_session/steering", sessionId=client.session, prompt=[{"type": "text", "text": text}], _meta=STEERING
    )


def is_permission(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "session/request_permission"


def test_it_says_what_it_can_do(tmp_path: Path) -> None:
    with demo(tmp_path) as client:
        facts = client.call("initialize", protocolVersion=1)
        opened = client.call("session/new", cwd=str(tmp_path), mcpServers=[])

    assert facts["protocolVersion"] == 1
    assert facts["agentCapabilities"]["loadSession"] is True
    assert facts["_meta"]["steering"] == {"supported": True, "idleBehaviors": ["promptRequired"]}
    assert opened["modes"]["currentModeId"] == "ask"
    assert [option["id"] for option in opened["configOptions"]] == ["mode", "model"]


def test_text_is_streamed_in_pieces(client: Client) -> None:
    reason = client.prompt("say hello  there\nslow 3")

    pieces = [u["content"]["text"] for u in client.updates("agent_message_chunk")]
    assert (reason, pieces) == ("end_turn", ["hello  ", "there", "\n1 ", "2 ", "3"])


def test_thoughts_big_chunks_and_usage(client: Client) -> None:
    client.prompt("think let me see\nbig 100000")

    assert client.text("agent_thought_chunk") == "let me see"
    assert client.text() == "x" * 100_000
    assert client.updates("usage_update") == [{"sessionUpdate": "usage_update", "used": 10, "size": 200_000}]


def test_an_ordinary_request_is_noted_down_after_asking(client: Client) -> None:
    reason = client.prompt("fix the test")

    assert reason == "end_turn"
    assert (client.cwd / "NOTES.md").read_text() == "# Notes\n- fix the test\n"
    assert client.asked() == ["Write NOTES.md"]
    assert statuses(client) == ["pending", "completed", "pending", "in_progress", "completed"]
    assert [e["status"] for e in client.updates("plan")[-1]["entries"]] == ["completed"] * 3
    assert client.updates("session_info_update") == [{"sessionUpdate": "session_info_update", "title": "fix the test"}]


def test_an_edit_is_asked_shown_and_done(client: Client) -> None:
    path = client.cwd / "f.txt"

    client.prompt("edit f.txt two => TWO")

    diff = {"type": "diff", "path": str(path), "oldText": "one\ntwo\n", "newText": "one\nTWO\n"}
    question = next(frame for frame in client.frames if is_permission(frame))["params"]
    assert path.read_text() == "one\nTWO\n"
    assert question["toolCall"]["content"] == client.updates()[-2]["content"] == [diff]
    assert [option["kind"] for option in question["options"]] == ["allow_once", "allow_always", "reject_once"]


@pytest.mark.parametrize("outcome", [None, {"outcome": "cancelled"}])
def test_a_change_that_is_not_allowed_is_not_done(client: Client, outcome: dict[str, Any] | None) -> None:
    reject = choose("reject_once")
    client.policy = lambda params: outcome or reject(params)

    reason = client.prompt("write new.txt x\nsay on I go")

    assert reason == "end_turn"
    assert not (client.cwd / "new.txt").exists()
    assert statuses(client) == ["pending", "failed"]
    assert client.text() == "“Write new.txt” was not done: you did not allow it.\non I go"


def test_allowed_for_the_session_is_not_asked_again(client: Client) -> None:
    client.policy = choose("allow_always")
    client.prompt("write a.txt 1")

    client.prompt("write b.txt 2\nrun true")

    assert client.asked() == ["true"]  # another kind of change
    assert (client.cwd / "b.txt").exists()


def test_in_the_mode_read_it_changes_nothing_and_does_not_ask(client: Client) -> None:
    client.call("session/set_mode", sessionId=client.session, modeId="read")

    client.prompt("write new.txt x\nrun touch made.txt\nfix the test")

    assert sorted(path.name for path in client.cwd.iterdir()) == ["f.txt"]
    assert client.asked() == []
    assert "in the mode “read” I change nothing" in client.text()


def test_in_the_mode_write_it_asks_nothing(client: Client) -> None:
    answer = client.call("session/set_config_option", sessionId=client.session, configId="mode", value="write")

    client.prompt("write new.txt x")

    assert answer["configOptions"][0]["currentValue"] == "write"
    assert client.asked() == []
    assert (client.cwd / "new.txt").read_text() == "x\n"


def test_an_unknown_mode_is_refused(client: Client) -> None:
    answer = client.call("session/set_mode", sessionId=client.session, modeId="bypass")

    assert answer["code"] == -32602


@pytest.mark.parametrize("name", ["../out.txt", "/tmp/out.txt", "link/out.txt"])
def test_files_outside_the_directory_are_left_alone(client: Client, tmp_path_factory: Any, name: str) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (client.cwd / "link").symlink_to(elsewhere)

    client.prompt(f"write {name} x")

    assert list(elsewhere.iterdir()) == []
    assert client.asked() == []
    assert "lies outside" in client.text()


def test_a_failed_edit_is_told_and_the_turn_goes_on(client: Client) -> None:
    (client.cwd / "b.bin").write_bytes(b"\xff\xfe")

    client.prompt("edit f.txt three => 3\nedit gone.txt a => b\nedit b.bin a => b\nsay still here")

    assert statuses(client) == ["pending", "failed"] * 3
    assert client.text().endswith("still here")


def test_a_command_runs_in_the_directory_and_its_output_is_reported(client: Client) -> None:
    client.prompt("run cat f.txt gone.txt")

    last = client.updates("tool_call_update")[-1]
    assert (last["status"], last["rawOutput"]) == ("failed", {"exitCode": 1})
    assert last["content"][0]["content"]["text"].startswith("one\ntwo\n")


def test_a_cancel_in_the_same_burst_as_the_prompt_counts(client: Client) -> None:
    prompt = {"id": 90, "method": "session/prompt", "params": {"sessionId": client.session, "prompt": []}}

    client.send(prompt, {"method": "session/cancel", "params": {"sessionId": client.session}})

    assert client.answer_to(90)["result"] == {"stopReason": "cancelled"}


def test_ACP_03_a_cancelled_turn_closes_its_tool_call_and_says_cancelled(client: Client) -> None:
    client.policy = lambda params: None
    ident = client.start_prompt("write new.txt x")
    client.read_until(is_permission)

    client.cancel()
    answer = client.answer_to(ident)

    assert answer["result"] == {"stopReason": "cancelled"}
    assert statuses(client) == ["pending", "failed"]
    assert not (client.cwd / "new.txt").exists()
    assert client.prompt("say next") == "end_turn"


def test_a_cancel_ends_a_command(client: Client) -> None:
    ident = client.start_prompt("run sleep 600")
    client.read_until(lambda frame: frame.get("params", {}).get("update", {}).get("status") == "in_progress")

    client.cancel()

    assert client.answer_to(ident)["result"] == {"stopReason": "cancelled"}


def test_a_cancel_also_reaches_the_prompts_that_wait_and_not_those_that_come_later(client: Client) -> None:
    first, second = client.start_prompt("hang"), client.start_prompt("say never")
    client.cancel()
    third = client.start_prompt("say after")

    answers = [client.answer_to(first, second, third) for _ in range(3)]

    assert {answer["id"]: answer["result"]["stopReason"] for answer in answers} == {
        first: "cancelled", second: "cancelled", third: "end_turn"
    }  # fmt: skip
    assert client.text() == "after"


def test_a_cancel_while_idle_changes_nothing(client: Client) -> None:
    client.cancel()

    assert client.prompt("say hello") == "end_turn"


def test_a_failure_is_an_error_and_the_session_goes_on(client: Client) -> None:
    failed = client.answer_to(client.start_prompt("fail no luck"))

    assert failed["error"] == {"code": -32603, "message": "no luck"}
    assert client.prompt("say hello") == "end_turn"


def test_a_steer_is_obeyed_in_the_running_turn(client: Client) -> None:
    ident = client.start_prompt("hang\nsay done")
    steered = client.answer_to(steer(client, "write s.txt steered"))

    client.answer_to(ident)

    assert steered["result"] == {"outcome": "injected"}
    assert client.text("user_message_chunk") == "write s.txt steered"
    assert (client.cwd / "s.txt").exists()


def test_a_steer_behind_a_cancel_is_not_taken(client: Client) -> None:
    ident = client.start_prompt("hang")
    told = {"sessionId": client.session, "prompt": [{"type": "text", "text": "say never"}]}
    client.send(
        {"method": "session/cancel", "params": {"sessionId": client.session}},
        {"id": 99, "method": "_session/steering", "params": told},
    )

    answers = {frame["id"]: frame["result"] for frame in (client.answer_to(ident, 99) for _ in range(2))}

    assert answers[ident] == {"stopReason": "cancelled"}
    assert answers[99] == {"outcome": "promptRequired", "reason": "noRunningTurn"}


def test_a_steer_while_idle_needs_a_prompt(client: Client) -> None:
    assert client.answer_to(steer(client, "hello"))["result"] == {
        "outcome": "promptRequired",
        "reason": "noRunningTurn",
    }


def test_a_steer_without_text_or_session_or_with_another_idle_behaviour_is_refused(client: Client) -> None:
    text = [{"type": "text", "text": "x"}]
    other = {"steering": {"idleBehavior": "startNewTurn"}}

    assert client.answer_to(steer(client, " "))["error"]["code"] == -32602
    assert client.call("_session/steering", sessionId=client.session, prompt=text, _meta=other)["code"] == -32602
    assert client.call("_session/steering", sessionId="nobody", prompt=text)["code"] == -32002


def test_STE_01_a_steer_around_the_end_of_a_turn_has_exactly_one_fate(client: Client) -> None:
    outcomes = set()
    for number in range(60):
        ident = client.start_prompt("slow 2")
        if number % 2:
            client.read_until(lambda frame: "usage_update" in str(frame))
        steered = steer(client, f"say steered {number}")
        answers = {frame["id"]: frame["result"] for frame in (client.answer_to(ident, steered) for _ in range(2))}
        was_obeyed = f"steered {number}" in client.text()
        outcomes.add(answers[steered]["outcome"])
        assert was_obeyed == (answers[steered]["outcome"] == "injected")

    assert outcomes == {"injected", "promptRequired"}


def test_a_later_process_loads_what_an_earlier_one_said(client: Client) -> None:
    client.prompt("say hello\nwrite new.txt x")
    live = [u for u in client.updates() if u["sessionUpdate"] != "session_info_update"]

    with demo(client.cwd) as later:
        later.frames.clear()
        opened = later.call("session/load", sessionId=client.session, cwd=str(client.cwd), mcpServers=[])
        replayed, later.session = later.updates(), client.session
        reason = later.prompt("say again")

    assert [u for u in replayed if u["sessionUpdate"] not in ("session_info_update", "user_message_chunk")] == live
    assert later_user(replayed) == ["say hello\nwrite new.txt x"]
    assert opened["modes"]["currentModeId"] == "ask"
    assert reason == "end_turn"


def later_user(updates: list[dict[str, Any]]) -> list[str]:
    return [u["content"]["text"] for u in updates if u["sessionUpdate"] == "user_message_chunk"]


def test_ACP_06_loading_writes_nothing_and_a_resume_replays_nothing(client: Client) -> None:
    client.prompt("say hello")
    place = {"sessionId": client.session, "cwd": str(client.cwd), "mcpServers": []}
    replays = []

    for method in ("session/load", "session/load", "session/resume"):
        client.frames.clear()
        client.call(method, **place)
        replays.append(client.updates())

    assert replays[0] == replays[1] != []
    assert replays[2] == []


@pytest.mark.parametrize("ident", ["0" * 32, "../../etc/passwd", "", "nobody"])
def test_JSO_10_a_session_that_was_never_made_cannot_be_loaded(client: Client, ident: str) -> None:
    answer = client.call("session/load", sessionId=ident, cwd=str(client.cwd), mcpServers=[])

    assert answer["code"] == -32002


def test_a_closed_session_is_gone(client: Client) -> None:
    client.call("session/close", sessionId=client.session)

    answer = client.answer_to(client.start_prompt("say hello"))

    assert answer["error"]["code"] == -32002


def test_every_frame_is_valid(client: Client) -> None:
    client.prompt("say hello\nthink hm\nbig 3\nedit f.txt one => 1\nrun true\nask may I\nwrite /no x")
    frames = list(client.frames)
    client.prompt("fix the test")
    client.call("session/set_mode", sessionId=client.session, modeId="write")

    sent = [(frame["method"], frame["params"]) for frame in frames + client.frames if "method" in frame]
    assert [(method, params) for method, params in sent if checking.check_params(method, params) is not None] == []
    assert len(sent) > 30


def test_the_process_ends_when_it_is_told_to(tmp_path: Path) -> None:
    with demo(tmp_path, status=3) as client:
        client.start_prompt("say goodbye\nexit 3")
        frame = client.read_until(lambda frame: "goodbye" in str(frame))

    assert frame["method"] == "session/update"


@pytest.mark.parametrize("text", ["run sleep 600", "hang", "slow 999999", "ask may I"])
def test_the_end_of_input_ends_a_running_turn_and_its_command(tmp_path: Path, text: str) -> None:
    with demo(tmp_path) as client:
        client.policy = lambda params: choose("allow_once")(params) if text.startswith("run") else None
        client.start_prompt(text)
        if text.startswith("run"):
            client.read_until(lambda frame: "in_progress" in str(frame))


def test_two_sessions_work_side_by_side(client: Client) -> None:
    one = client.session
    waiting = client.start_prompt("hang")
    client.session = client.call("session/new", cwd=str(client.cwd), mcpServers=[])["sessionId"]
    other = client.prompt("say hello")
    client.session = one
    client.cancel()

    assert other == "end_turn"
    assert client.answer_to(waiting)["result"] == {"stopReason": "cancelled"}
