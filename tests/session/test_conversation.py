"""A live session, with a real agent process: its turns, their ends, and what is written down about them."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gzia.driver.turn import PermissionLevel
from gzia.errors import GziaError
from gzia.session.conversation import Conversation
from gzia.session.turns import TurnEnd
from gzia.system.identity import identity_of
from tests.session import live
from tests.session.live import say, talk, turn, until

DONE = {"result": {"stopReason": "end_turn"}}
TOOL = {
    "update": {
        "sessionUpdate": "tool_call",
        "toolCallId": "t1",
        "title": "Edit a.txt",
        "kind": "edit",
        "status": "pending",
    }
}
TOOL_DONE = {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"}}


def prompt(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"session/prompt": list(steps)}


def test_a_turn_is_asked_streamed_and_ended_in_the_journal_in_this_order(tmp_path: Path) -> None:
    end = turn(tmp_path, prompt({"say": "Hel"}, {"say": "lo"}, DONE), text="greet")

    assert (end.number, end.stop_reason, end.message, end.refused, end.error) == (1, "end_turn", "Hello", (), None)
    lines = live.lines(tmp_path)
    assert [line["n"] for line in lines] == list(range(1, len(lines) + 1))
    assert [(line["kind"], line["turn"]) for line in lines] == [
        ("session", None), ("input", 1), ("turn", 1), ("update", 1), ("update", 1), ("prompt", 1), ("session", None),
    ]  # fmt: skip
    assert lines[1]["blocks"] == say("greet")
    assert [line["event"] for line in lines[3:5]] == [
        {"kind": "text_delta", "text": "Hel"}, {"kind": "text_delta", "text": "lo"},
    ]  # fmt: skip
    assert (lines[5]["stop_reason"], lines[5]["message"], lines[5]["write_admitted"]) == ("end_turn", "Hello", True)


def test_an_update_is_kept_as_the_agent_wrote_it(tmp_path: Path) -> None:
    raw = (
        '{"content": {"text":"a\\u00e9\\ud83d\\ude00", "type":"text", "x": 1.50},'
        '"sessionUpdate":"agent_message_chunk","_meta":{"k":[]}}'
    )
    params = f'{{"sessionId":"$session","update":{raw}}}'
    frame = f'{{"jsonrpc":"2.0","method":"session/update","params":{params}}}\n'

    turn(tmp_path, prompt({"raw": frame}, {"raw": frame}, DONE))

    text = (tmp_path / ".harness/sessions/x1.journal.jsonl").read_text(encoding="utf-8")
    assert text.count(f'"update":{raw}}}\n') == 2


def test_sequences_are_those_of_the_wire_and_never_go_down(tmp_path: Path) -> None:
    turn(tmp_path, prompt({"say": "a"}, {"say": "b"}, TOOL, TOOL_DONE, DONE))

    lines = [line for line in live.lines(tmp_path) if line["kind"] in ("update", "prompt")]
    received = [line["receive_sequence"] for line in lines]
    assert received == list(range(received[0], received[0] + 5))
    assert [line["order_sequence"] for line in lines] == received
    assert lines[-1]["response_sequence"] == received[-1]


def test_updates_after_the_answer_belong_to_the_session_not_to_a_turn(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> None:
        await conversation.prompt(say())
        await until(conversation, lambda line: line["kind"] == "update" and line["event"].get("text") == "late")

    talk(tmp_path, prompt({"say": "a"}, DONE, {"say": "late"}), work)

    assert [(line["kind"], line["turn"]) for line in live.lines(tmp_path)][:6] == [
        ("session", None), ("input", 1), ("turn", 1), ("update", 1), ("prompt", 1), ("update", None),
    ]  # fmt: skip


def test_one_turn_after_another_on_one_process_in_the_order_of_the_prompts(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> list[TurnEnd]:
        return list(await asyncio.gather(*(conversation.prompt(say(text)) for text in "abc")))

    log = tmp_path / "log"
    ends = talk(tmp_path, {"log": str(log), **prompt({"say": "x"}, DONE)}, work)

    assert [(end.number, end.stop_reason) for end in ends] == [(1, "end_turn"), (2, "end_turn"), (3, "end_turn")]
    heard = [json.loads(line) for line in log.read_text().splitlines()]
    asked = [line["in"] for line in heard if "in" in line and line["in"].get("method") == "session/prompt"]
    assert [frame["params"]["prompt"][0]["text"] for frame in asked] == ["a", "b", "c"]
    assert len([line for line in heard if "start" in line]) == 1


# -- cancelling ------------------------------------------------------------------------------------------------------


def cancelled_turn(where: Path, script: dict[str, Any]) -> TurnEnd:
    async def work(conversation: Conversation) -> TurnEnd:
        ended = conversation.prompt(say())
        await until(conversation, lambda line: line["kind"] == "update")
        conversation.cancel()
        return await ended

    return talk(where, script, work)


def test_ACP_03_a_cancelled_turn_is_told_as_cancelled_and_its_open_tool_call_is_closed(tmp_path: Path) -> None:
    end = cancelled_turn(tmp_path, prompt(TOOL, {"wait": "never"}))

    assert (end.stop_reason, end.error) == ("cancelled", None)
    lines = [line for line in live.lines(tmp_path) if line["kind"] in ("input", "update", "prompt")]
    assert [line["kind"] for line in lines] == ["input", "update", "input", "update", "prompt"]
    assert lines[2]["input"] == "cancel"
    assert (lines[3]["update"]["toolCallId"], lines[3]["update"]["status"]) == ("t1", "failed")
    assert lines[4]["stop_reason"] == "cancelled"
    assert (live.record(tmp_path).status, live.record(tmp_path).reason) == ("completed", "cancelled")


@pytest.mark.parametrize(
    "answer", [DONE, {"error": {"code": -32603, "message": "boom"}}, {"result": {"stopReason": "refusal"}}]
)
def test_ACP_03_an_agent_that_answers_a_cancel_with_something_else_is_told_as_cancelled(
    tmp_path: Path, answer: dict[str, Any]
) -> None:
    end = cancelled_turn(tmp_path, {**prompt({"say": "a"}, {"wait": "never"}), "session/cancel": [answer]})

    assert (end.stop_reason, end.error) == ("cancelled", None)
    line = live.lines(tmp_path, "prompt")[0]
    assert line["stop_reason"] == "cancelled"
    assert line["agent_stop_reason"] == answer.get("result", {}).get("stopReason", "")


def test_ACP_03_a_turn_that_ended_by_itself_before_the_cancel_stays_ended(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> TurnEnd:
        end = await conversation.prompt(say())
        conversation.cancel()
        return end

    assert talk(tmp_path, prompt({"say": "a"}, DONE), work).stop_reason == "end_turn"
    assert [line["input"] for line in live.lines(tmp_path, "input")] == ["prompt"]


def test_ACP_03_a_cancel_does_not_touch_the_next_turn(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> tuple[TurnEnd, TurnEnd]:
        first = conversation.prompt(say())
        await until(conversation, lambda line: line["kind"] == "update")
        conversation.cancel()
        return await first, await conversation.prompt(say())

    script = {"session/prompt": [[{"say": "a"}, {"wait": "never"}], [{"say": "b"}, DONE]]}
    first, second = talk(tmp_path, script, work)

    assert (first.stop_reason, second.stop_reason, second.message) == ("cancelled", "end_turn", "b")


def test_ACP_03_turns_that_wait_are_cancelled_too_and_never_reach_the_agent(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def work(conversation: Conversation) -> list[TurnEnd]:
        turns = [conversation.prompt(say(text)) for text in ("first", "second")]
        await until(conversation, lambda line: line["kind"] == "update")
        conversation.cancel()
        return list(await asyncio.gather(*turns))

    ends = talk(tmp_path, {"log": str(log), **prompt({"say": "a"}, {"wait": "never"})}, work)

    assert [end.stop_reason for end in ends] == ["cancelled", "cancelled"]
    assert "second" not in log.read_text()


def test_ACP_03_a_prompt_and_its_cancel_in_one_burst_end_cancelled(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> TurnEnd:
        ended = conversation.prompt(say())
        conversation.cancel()
        return await ended

    assert talk(tmp_path, prompt({"wait": "never"}), work).stop_reason == "cancelled"


def test_an_agent_that_ignores_a_cancel_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gzia.session.runner.INTERRUPT", 0.2)

    end = cancelled_turn(tmp_path, {**prompt({"say": "a"}, {"wait": "never"}), "session/cancel": []})

    assert (end.stop_reason, end.error) == ("cancelled", None)


# -- the agent goes away ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("death", "told"),
    [({"exit": 7}, "exit status 7"), ({"exit": 0}, "exit status 0"), ({"kill": "KILL"}, "signal 9 (SIGKILL)")],
)
def test_ACP_11_an_agent_that_dies_in_the_turn_gives_one_error_with_its_status(
    tmp_path: Path, death: dict[str, Any], told: str
) -> None:
    end = turn(tmp_path, prompt(TOOL, {"say": "so far"}, {"stderr": "out of paper\n"}, death))

    assert end.error is not None
    assert (end.error.code, end.error.data["exit"]) == ("agent-exited", told)
    assert "out of paper" in end.error.message
    assert end.message == "so far"
    assert [line["error"]["code"] for line in live.lines(tmp_path, "prompt")] == ["agent-exited"]
    assert (live.record(tmp_path).status, live.record(tmp_path).pid) == ("failed", None)


async def killed(conversation: Conversation) -> TurnEnd:
    """A turn in which the agent is killed from outside."""
    ended = conversation.prompt(say())
    await until(conversation, lambda line: line["kind"] == "update")
    os.kill(conversation.facts.pid, signal.SIGKILL)
    return await ended


def test_ACP_11_the_next_turn_starts_a_fresh_process_on_the_same_conversation(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def work(conversation: Conversation) -> tuple[TurnEnd, TurnEnd]:
        first, n = await killed(conversation), conversation.journal.n
        second = conversation.prompt(say())
        await until(conversation, lambda line: line["n"] > n and line["kind"] == "update")
        conversation.cancel()
        return first, await second

    script = {
        "log": str(log),
        **prompt({"say": "a"}, {"wait": "never"}),
        "session/load": [{"say": "old"}, {"result": {}}],
    }
    first, second = talk(tmp_path, script, work)

    assert (first.error is not None, second.stop_reason, second.message) == (True, "cancelled", "a")
    started = [line for line in log.read_text().splitlines() if '"start"' in line]
    loaded = [line for line in log.read_text().splitlines() if '"session/load"' in line]
    assert (len(started), len(loaded)) == (2, 1)


@pytest.mark.parametrize("stop", ["cancel", "close"])
def test_a_turn_that_is_stopped_while_its_agent_starts_again_never_reaches_it(tmp_path: Path, stop: str) -> None:
    log, fifo = tmp_path / "log", tmp_path / "fifo"
    os.mkfifo(fifo)

    async def work(conversation: Conversation) -> TurnEnd:
        await killed(conversation)
        ended = conversation.prompt(say("second"))
        writer = await asyncio.to_thread(fifo.open, "w")  # returns when the agent is at session/load
        if stop == "cancel":
            conversation.cancel()
        else:
            await conversation.close()
        writer.close()
        return await ended

    script = {
        "log": str(log),
        **prompt({"say": "a"}, {"wait": "never"}),
        "session/load": [{"hold": str(fifo)}, {"result": {}}],
    }
    end = talk(tmp_path, script, work)

    assert (end.stop_reason, end.error) == ("cancelled", None)
    assert [line["stop_reason"] for line in live.lines(tmp_path, "prompt")] == ["", "cancelled"]
    assert "second" not in log.read_text()
    pids = [json.loads(line)["start"]["pid"] for line in log.read_text().splitlines() if '"start"' in line]
    assert [pid for pid in pids if identity_of(pid)] == []


def test_an_agent_that_does_not_start_again_ends_the_turn_once_with_the_reason(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> TurnEnd:
        await killed(conversation)
        return await conversation.prompt(say())

    script = {**prompt({"say": "a"}, {"wait": "never"}), "session/load": [{"exit": 9}]}
    end = talk(tmp_path, script, work)

    assert end.error is not None
    assert (end.error.code, end.error.data["exit"]) == ("agent-exited", "exit status 9")
    assert [line["turn"] for line in live.lines(tmp_path, "prompt")] == [1, 2]


def test_ACP_11_an_agent_that_cannot_load_says_so_instead_of_starting_afresh(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> tuple[TurnEnd, TurnEnd]:
        return await conversation.prompt(say()), await conversation.prompt(say())

    script = {"initialize": [{"result": {"protocolVersion": 1}}], "session/prompt": [{"exit": 1}]}
    _, second = talk(tmp_path, script, work)

    assert second.error is not None
    assert second.error.code == "not-resumable"


def test_the_replay_of_a_loaded_conversation_is_not_written_down_again(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> None:
        await conversation.close()

    script = {"session/load": [{"say": "old"}, {"say": "older"}, {"result": {}}]}

    async def reopen() -> None:
        conversation = live.build(tmp_path, script, PermissionLevel.SUPERVISED)
        await conversation.open("s1")
        await conversation.close()

    asyncio.run(reopen())

    assert live.lines(tmp_path, "update") == []


# -- permissions -----------------------------------------------------------------------------------------------------


def asking(kind: str, options: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    call = {"toolCallId": "t1", "title": "Write out.txt", "kind": kind}
    return prompt({"ask": options or [], "toolCall": call, "then": {"yes": [{"write": ["out.txt", "written"]}]}}, DONE)


@pytest.mark.parametrize(
    ("level", "kind", "written", "refused"),
    [
        (PermissionLevel.AUTONOMOUS, "edit", True, ()),
        (PermissionLevel.SUPERVISED, "edit", False, ("Write out.txt",)),
        (PermissionLevel.READONLY, "edit", False, ("Write out.txt",)),
        (PermissionLevel.READONLY, "execute", False, ("Write out.txt",)),
        (PermissionLevel.READONLY, "read", True, ()),
    ],
)
def test_RIG_08_what_nobody_could_be_asked_about_is_decided_by_the_level_and_told(
    tmp_path: Path, level: PermissionLevel, kind: str, written: bool, refused: tuple[str, ...]
) -> None:
    end = turn(tmp_path, asking(kind), level)

    assert (end.stop_reason, end.refused) == ("end_turn", refused)
    assert (tmp_path / "out.txt").exists() == written
    asked, answered = live.lines(tmp_path, "permission")
    assert (asked["state"], asked["tool_call"]["title"]) == ("asked", "Write out.txt")
    assert (answered["state"], answered["allowed"], answered["by"]) == ("answered", written, f"policy:{level}")


def test_RIG_03_a_no_without_an_option_for_it_is_cancelled(tmp_path: Path) -> None:
    only_yes = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]

    turn(tmp_path, asking("edit", only_yes))

    assert live.lines(tmp_path, "permission")[1]["outcome"] == {"outcome": "cancelled"}
    assert not (tmp_path / "out.txt").exists()


def test_RIG_03_a_yes_is_never_made_of_an_option_that_means_something_else(tmp_path: Path) -> None:
    options = [
        {"optionId": "yes", "name": "Yes, always", "kind": "allow_always"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]

    end = turn(tmp_path, asking("edit", options), PermissionLevel.AUTONOMOUS)

    assert end.refused == ("Write out.txt",)
    assert not (tmp_path / "out.txt").exists()


def answered_turn(where: Path, outcome: dict[str, Any]) -> TurnEnd:
    async def work(conversation: Conversation) -> TurnEnd:
        conversation.permissions.answerers = 1
        ended = conversation.prompt(say())
        question = await until(conversation, lambda line: line["kind"] == "permission")
        conversation.answer(question["permission_id"], outcome, "ann")
        conversation.answer(question["permission_id"], {"outcome": "cancelled"}, "too late")
        return await ended

    return talk(where, asking("edit"), work)


def test_a_person_that_can_be_asked_decides(tmp_path: Path) -> None:
    end = answered_turn(tmp_path, {"outcome": "selected", "optionId": "yes"})

    assert (end.refused, (tmp_path / "out.txt").read_text()) == ((), "written")
    assert [line.get("by") for line in live.lines(tmp_path, "permission")] == [None, "ann"]


def test_RIG_03_an_answer_that_was_not_offered_counts_as_cancelled(tmp_path: Path) -> None:
    answered_turn(tmp_path, {"outcome": "selected", "optionId": "made up"})

    assert live.lines(tmp_path, "permission")[1]["outcome"] == {"outcome": "cancelled"}
    assert not (tmp_path / "out.txt").exists()


def test_a_cancel_answers_the_open_questions_with_cancelled(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> TurnEnd:
        conversation.permissions.answerers = 1
        ended = conversation.prompt(say())
        await until(conversation, lambda line: line["kind"] == "permission")
        conversation.cancel()
        return await ended

    assert talk(tmp_path, asking("edit"), work).stop_reason == "cancelled"
    assert live.lines(tmp_path, "permission")[1]["outcome"] == {"outcome": "cancelled"}


def test_a_question_that_the_agent_takes_back_is_closed(tmp_path: Path) -> None:
    frames: list[dict[str, Any]] = [
        {"frame": {"jsonrpc": "2.0", "id": 5, "method": "session/request_permission", "params": {
            "sessionId": "$session", "toolCall": {"toolCallId": "t1"}, "options": []}}},
        {"frame": {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 5}}},
        DONE,
    ]  # fmt: skip

    async def work(conversation: Conversation) -> TurnEnd:
        conversation.permissions.answerers = 1
        return await conversation.prompt(say())

    talk(tmp_path, prompt(*frames), work)

    assert [line["state"] for line in live.lines(tmp_path, "permission")] == ["asked", "withdrawn"]


def test_a_read_only_agent_may_not_write_through_its_client_either(tmp_path: Path) -> None:
    params = {"sessionId": "$session", "path": str(tmp_path / "out.txt"), "content": "x"}
    script = prompt({"request": "fs/write_text_file", "params": params}, DONE)

    async def work(conversation: Conversation) -> TurnEnd:
        conversation.calls.taker = lambda call: pytest.fail("it was passed on")
        return await conversation.prompt(say())

    assert talk(tmp_path, script, work, PermissionLevel.READONLY).refused == ("fs/write_text_file",)


def test_a_call_that_nobody_takes_is_answered_method_not_found(tmp_path: Path) -> None:
    log = tmp_path / "log"
    call = {"request": "terminal/create", "params": {"sessionId": "$session", "command": "ls"}}

    turn(tmp_path, {"log": str(log), **prompt(call, DONE)})

    answers = [json.loads(line)["in"] for line in log.read_text().splitlines() if '"error"' in line]
    assert [answer["error"]["code"] for answer in answers] == [-32601]


# -- what is left ----------------------------------------------------------------------------------------------------


def test_tool_calls_permissions_and_turns_leave_action_events(tmp_path: Path) -> None:
    turn(
        tmp_path,
        prompt(TOOL, {"ask": [], "toolCall": {"toolCallId": "t1"}}, TOOL_DONE, DONE),
        PermissionLevel.AUTONOMOUS,
    )

    assert live.events(tmp_path) == [
        ("agent", "FINISH", "OK"), ("turn", "PENDING", None), ("edit", "PENDING", None), ("permission", "FINISH", "OK"),
        ("edit", "FINISH", "OK"), ("turn", "FINISH", "OK"),
    ]  # fmt: skip


def test_the_record_says_what_is(tmp_path: Path) -> None:
    title = {"update": {"sessionUpdate": "session_info_update", "title": "A greeting"}}

    turn(tmp_path, prompt({"say": "Hello\n"}, title, DONE))

    record = live.record(tmp_path)
    assert (record.status, record.exit_code, record.title, record.summary) == ("completed", 0, "A greeting", "Hello")
    assert record.agent_session_id


@pytest.mark.parametrize("size", [65535, 65536, 65537, 131072, 1_000_000, 20_000_000])
def test_PRO_01_long_messages_pass_whole_in_both_directions(tmp_path: Path, size: int) -> None:
    log = tmp_path / "log"

    end = turn(
        tmp_path, {"log": str(log), **prompt({"say": "x", "size": size}, {"say": "tiny"}, DONE)}, text="y" * size
    )

    assert (end.stop_reason, end.message[-4:]) == ("end_turn", "tiny")
    assert [len(line["event"]["text"]) for line in live.lines(tmp_path, "update")] == [size, 4]
    assert f'"text": "{"y" * size}"' in log.read_text() or f'"text":"{"y" * size}"' in log.read_text()


def test_a_record_that_cannot_be_written_is_told_at_the_end_of_the_turn(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> TurnEnd:
        conversation.permissions.answerers = 1
        ended = conversation.prompt(say())
        question = await until(conversation, lambda line: line["kind"] == "permission")
        sessions = tmp_path / ".harness/sessions"
        sessions.rename(tmp_path / "away")
        sessions.touch()
        conversation.answer(question["permission_id"], {"outcome": "cancelled"}, "ann")
        return await ended

    end = talk(tmp_path, prompt({"say": "a"}, {"ask": []}, DONE), work)

    assert end.error is not None
    assert (end.stop_reason, end.message) == ("end_turn", "a")


# -- lines that cannot be read ---------------------------------------------------------------------------------------

NAN = '"x":NaN'
DEEP = '"x":' + "[" * 5000 + "]" * 5000
LONG = '"x":' + "9" * 5000


@pytest.mark.parametrize("broken", [NAN, DEEP, LONG, '"x":1e999'], ids=["NaN", "deep", "long number", "too large"])
def test_an_answer_that_cannot_be_read_fails_the_turn_instead_of_hanging_it(tmp_path: Path, broken: str) -> None:
    line = f'{{"jsonrpc":"2.0","id":2,"result":{{"stopReason":"end_turn",{broken}}}}}\n'

    end = turn(tmp_path, prompt({"raw": line}, {"wait": "never"}))

    assert end.error is not None
    assert "could not be read" in end.error.message
    assert [line["state"] for line in live.lines(tmp_path, "session") if line["state"] == "unreadable"] == [
        "unreadable"
    ]


def test_a_question_that_cannot_be_read_is_answered_and_told(tmp_path: Path) -> None:
    log = tmp_path / "log"
    ask = (
        '"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","rawInput":NaN}}'
    )

    end = turn(tmp_path, {"log": str(log), **prompt({"raw": f'{{"jsonrpc":"2.0","id":77,{ask}}}\n'}, DONE)})

    assert end.stop_reason == "end_turn"
    answers = [json.loads(line)["in"] for line in log.read_text().splitlines() if '"error"' in line]
    assert [(answer["id"], answer["error"]["code"]) for answer in answers] == [(77, -32700)]


def test_an_update_that_cannot_be_read_is_told_in_the_journal(tmp_path: Path) -> None:
    params = '{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[],"x":NaN}}'
    raw = f'{{"jsonrpc":"2.0","method":"session/update","params":{params}}}\n'

    turn(tmp_path, prompt({"raw": raw}, {"say": "after"}, DONE))

    kinds = [(line["kind"], line.get("state")) for line in live.lines(tmp_path) if line["turn"] == 1]
    assert kinds == [
        ("input", None), ("turn", "started"), ("session", "unreadable"), ("update", None), ("prompt", None),
    ]  # fmt: skip


# -- a disk that refuses ---------------------------------------------------------------------------------------------


@contextmanager
def full(where: Path) -> Iterator[None]:
    """No file of this process may become larger than the journal is now."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(
        resource.RLIMIT_FSIZE, ((where / ".harness/sessions/x1.journal.jsonl").stat().st_size, before[1])
    )
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_turn_that_cannot_be_written_down_fails_with_the_reason_and_its_agent_is_ended(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    async def work(conversation: Conversation) -> TurnEnd:
        ended = conversation.prompt(say())
        writer = await asyncio.to_thread(fifo.open, "w")
        with full(tmp_path):
            writer.close()
            return await ended

    end = talk(tmp_path, prompt({"say": "a"}, {"hold": str(fifo)}, {"say": "b"}, DONE), work)

    assert end.error is not None
    assert end.error.code == "journal-not-writable"
    assert live.record(tmp_path).status == "failed"


def test_a_prompt_that_cannot_be_written_down_is_not_sent(tmp_path: Path) -> None:
    log = tmp_path / "log"

    async def work(conversation: Conversation) -> None:
        with full(tmp_path), pytest.raises(GziaError, match="journal"):
            await conversation.prompt(say("never sent"))

    talk(tmp_path, {"log": str(log), **prompt(DONE)}, work)

    assert "never sent" not in log.read_text()


def test_after_the_disk_has_room_again_the_next_turn_is_told_as_it_is(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> TurnEnd:
        with full(tmp_path), pytest.raises(GziaError):
            await conversation.prompt(say())
        return await conversation.prompt(say())

    assert talk(tmp_path, prompt({"say": "a"}, DONE), work).error is None
