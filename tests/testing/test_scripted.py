from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

from gzia.testing import scripted

Json = dict[str, Any]

NEW = {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/", "mcpServers": []}}
PROMPT = {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": {"sessionId": "s1", "prompt": []}}
CANCEL = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "s1"}}
END = {"stopReason": "end_turn"}


def run(script: Json, *frames: Any) -> subprocess.CompletedProcess[bytes]:
    lines = b"".join(json.dumps(frame).encode() + b"\n" for frame in frames)
    return subprocess.run(scripted.command(script), input=lines, capture_output=True, timeout=20)


def talk(script: Json, *frames: Any) -> list[Json]:
    done = run(script, *frames)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


def logged(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def texts(frames: list[Json]) -> list[str]:
    """The message chunks, and ``<id>`` in place of each answer."""
    return [f["params"]["update"]["content"]["text"] if "params" in f else f"<{f['id']}>" for f in frames]


def test_an_empty_script_is_a_well_behaved_agent() -> None:
    frames = talk({}, {"id": 0, "method": "initialize"}, NEW, PROMPT, {"id": "x", "method": "no/such"})

    assert frames == [
        {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}},
        {"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s1"}},
        {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {
                "sessionId": "s1",
                "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}},
            },
        },
        {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn"}},
        {"jsonrpc": "2.0", "id": "x", "error": {"code": -32601, "message": "Method not found: no/such"}},
    ]


def test_an_empty_list_of_steps_never_answers() -> None:
    assert talk({"initialize": []}, {"id": 0, "method": "initialize"}, NEW) == [
        {"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s1"}}
    ]


def test_a_list_of_lists_is_one_list_for_each_time() -> None:
    script = {"session/prompt": [[{"say": "first"}, {"result": END}], [{"say": "later"}, {"result": END}]]}

    frames = talk(script, NEW, PROMPT, {**PROMPT, "id": 3}, {**PROMPT, "id": 4})

    assert texts(frames[1:]) == ["first", "<2>", "later", "<3>", "later", "<4>"]


def test_the_answer_to_a_question_chooses_the_steps() -> None:
    then = {"y": [{"say": "yes"}], "cancelled": [{"say": "gone"}], "*": [{"say": "other"}]}
    script = {"session/prompt": [{"ask": [{"optionId": "y"}], "then": then}]}
    answers: list[Json] = [
        {"id": 0, "result": {"outcome": {"outcome": "selected", "optionId": "y"}}},
        {"id": 1, "result": {"outcome": {"outcome": "cancelled"}}},
        {"id": 2, "error": {"code": -32603, "message": "no"}},
    ]

    frames = talk(script, NEW, *[frame for answer in answers for frame in (PROMPT, answer)])

    assert [f["id"] for f in frames if "id" in f] == [1, 0, 1, 2]
    assert texts([f for f in frames if f.get("method") == "session/update"]) == ["yes", "gone", "other"]


def test_ids_keep_the_type_that_the_script_gives_them() -> None:
    ids = ["q-1", -7, None, 0]
    script = {"session/prompt": [{"request": "fs/read_text_file", "id": ident} for ident in ids]}

    frames = talk(script, NEW, PROMPT, *[{"id": ident, "result": {}} for ident in ids])

    assert [f["id"] for f in frames[1:]] == ids


def test_steps_after_the_result_make_late_updates() -> None:
    script = {"session/prompt": [{"result": END}, {"say": "late"}]}

    assert texts(talk(script, NEW, PROMPT)[1:]) == ["<2>", "late"]


def test_a_cancel_answers_the_open_prompt() -> None:
    script = {"session/prompt": [{"wait": "never"}, {"say": "lost"}]}

    assert talk(script, NEW, PROMPT, CANCEL)[1:] == [{"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "cancelled"}}]


def test_a_script_may_answer_a_cancel_with_anything_or_ignore_it() -> None:
    stubborn = {"session/cancel": [], "session/prompt": [{"wait": "go"}, {"result": END}]}
    wrong = {"session/cancel": [{"say": "bye"}, {"result": END}], "session/prompt": [{"wait": "go"}]}

    assert texts(talk(stubborn, NEW, PROMPT, CANCEL, {"method": "go"})[1:]) == ["<2>"]
    assert texts(talk(wrong, NEW, PROMPT, CANCEL)[1:]) == ["bye", "<2>"]


def test_a_steer_is_served_while_a_prompt_waits() -> None:
    script = {"_session/steering": [{"result": {"outcome": "injected"}}], "session/prompt": [{"wait": "never"}]}

    frames = talk(script, NEW, PROMPT, {"id": 9, "method": "_session/steering", "params": {"sessionId": "s1"}})

    assert frames[1:] == [{"jsonrpc": "2.0", "id": 9, "result": {"outcome": "injected"}}]


def test_an_agent_that_offers_steering_takes_a_steer_while_a_prompt_is_open() -> None:
    hello = {"id": 0, "method": "initialize"}
    steered = [{"id": id, "method": "_session/steering", "params": {"sessionId": "s1"}} for id in (8, 9)]
    offer = [{"result": {"protocolVersion": 1, "_meta": {"steering": {"supported": True}}}}]
    script: Json = {"session/prompt": [{"wait": "go"}, {"result": END}], "initialize": offer}

    frames = talk(script, hello, NEW, PROMPT, steered[0], {"method": "go"}, steered[1])
    silent = talk({"session/prompt": [{"wait": "go"}]}, hello, NEW, PROMPT, steered[0])

    assert [frame["result"] for frame in frames[2:]] == [{"outcome": "injected"}, END, {"outcome": "promptRequired"}]
    assert silent[2]["error"]["code"] == -32601


def test_frames_may_name_the_session_and_the_request() -> None:
    script = {"session/prompt": [{"frame": {"id": "$id", "result": {"of": "<$session>"}}}, {"frame": [1, "$id"]}]}

    assert talk(script, NEW, PROMPT)[1:] == [{"id": 2, "result": {"of": "<s1>"}}, [1, 2]]


def test_noise_may_hold_any_byte_and_stderr_any_amount() -> None:
    done = run({"start": [{"raw": "\x1b]0;box\x07\udcff"}, {"stderr": "e", "size": 65537}]})

    assert (done.stdout, len(done.stderr)) == (b"\x1b]0;box\x07\xff", 65537)


def test_a_chunk_may_be_long_and_repeated() -> None:
    script = {"session/prompt": [{"say": "ab", "size": 100_001, "count": 3}]}

    assert [len(text) for text in texts(talk(script, NEW, PROMPT)[1:])] == [100_001] * 3


def test_it_ends_with_the_status_or_signal_that_it_is_told() -> None:
    assert run({"start": [{"exit": 3}]}).returncode == 3
    assert run({"session/prompt": [{"kill": "KILL"}]}, NEW, PROMPT).returncode == -signal.SIGKILL
    assert run({"eof": [{"exit": 4}]}).returncode == 4


def test_it_writes_files_into_the_directory_of_the_session(tmp_path: Path) -> None:
    new = {**NEW, "params": {"cwd": str(tmp_path), "mcpServers": []}}

    talk({"session/prompt": [{"write": ["out.txt", "written\n"]}, {"result": END}]}, new, PROMPT)

    assert (tmp_path / "out.txt").read_text() == "written\n"


def test_the_log_holds_the_start_and_every_line_that_came_in(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = scripted.command({"log": str(log)})

    subprocess.run(command, input=b'{"method":"x"}\nnot json\n', env={"A": "b"}, cwd=tmp_path, check=True)
    start, *rest = logged(log)

    assert start["start"]["env"]["A"] == "b"
    assert start["start"]["cwd"] == str(tmp_path)
    assert rest == [{"in": {"method": "x"}}, {"in": "not json"}, {"eof": True}]


def test_a_child_that_it_leaves_holds_the_pipe_in_a_session_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = {"log": str(log), "start": [{"spawn": ["sleep", "600"], "setsid": True}, {"exit": 0}]}

    with subprocess.Popen(scripted.command(script), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        process.wait(20)
        pid = logged(log)[1]["spawned"]
        leader = os.getsid(pid)
        os.kill(pid, signal.SIGKILL)

    assert leader == pid
    assert process.returncode == 0


def test_ignored_signals_are_only_logged(tmp_path: Path) -> None:
    log, ready = tmp_path / "log", {"raw": "ready\n"}
    script = {"log": str(log), "start": [{"ignore": ["TERM"]}, ready]}

    with subprocess.Popen(scripted.command(script), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout and process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        process.communicate(b'{"method":"x"}\n', timeout=20)

    assert process.returncode == 0
    assert {"signal": signal.SIGTERM} in logged(log)


def test_a_hold_ends_when_the_fifo_was_written_and_closed(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    script = {"start": [{"hold": str(fifo)}, {"raw": "on\n"}]}

    with subprocess.Popen(scripted.command(script), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        fifo.write_text("")
        out, _ = process.communicate(timeout=20)

    assert out == b"on\n"


def test_a_step_that_does_not_exist_is_an_error() -> None:
    done = run({"start": [{"sya": "hello"}]})

    assert done.returncode == 1
    assert b"no such step" in done.stderr


def test_after_waits_and_goes_on_reading() -> None:
    script: Json = {"session/prompt": [{"after": 0.05}, {"result": END}], "initialize": [{"result": {}}]}
    lines = b"".join(json.dumps(frame).encode() + b"\n" for frame in (NEW, PROMPT, {"id": 3, "method": "initialize"}))

    with subprocess.Popen(scripted.command(script), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as agent:
        assert agent.stdin and agent.stdout
        agent.stdin.write(lines)
        agent.stdin.flush()
        answered = [json.loads(agent.stdout.readline())["id"] for _ in range(3)]

    assert answered == [1, 3, 2]


def test_an_agent_that_is_frozen_for_a_time_reads_nothing_in_it() -> None:
    script: Json = {"session/prompt": [{"freeze": 0.05}, {"result": END}]}

    frames = talk(script, NEW, PROMPT, {"id": 3, "method": "initialize"})

    assert [frame["id"] for frame in frames] == [1, 2, 3]


def test_a_cancel_stops_no_other_request_of_the_session() -> None:
    steered = {"jsonrpc": "2.0", "id": 3, "method": "_session/steering", "params": {"sessionId": "s1"}}
    script: Json = {"session/prompt": [{"wait": "never"}], "_session/steering": [{"wait": "never"}]}

    frames = talk(script, NEW, PROMPT, steered, CANCEL)

    assert [frame["id"] for frame in frames] == [1, 2]
