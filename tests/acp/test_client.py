"""What we are towards an agent."""

from __future__ import annotations

import json
import sys
from random import Random
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gzia.acp import splice
from gzia.acp.client import (
    AgentNotification,
    AgentRequest,
    Answer,
    ClientSide,
    Closed,
    Mistake,
    Noise,
    Refused,
    Update,
)
from gzia.acp.events import Event
from gzia.jsonrpc.messages import RpcError
from tests.packaging.documents import STRICT
from tests.packaging.instances import instance, spoiled
from tests.pair import SidePair

HI = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def update_line(update: Any, session: str = "s1", **more: Any) -> bytes:
    return line(method="session/update", params={"sessionId": session, "update": update, **more})


def sent(side: ClientSide) -> list[Any]:
    return [json.loads(text) for text in side.data_to_send().split(b"\n")[:-1]]


def after(method: str, **answer: Any) -> list[Event]:
    """What an answer to ``method`` becomes."""
    side = ClientSide()
    side.request(method, {})
    return side.receive_data(line(id=0, **answer))


# -- answers --


def test_a_valid_answer_comes_with_the_method_that_was_asked() -> None:
    assert after("session/new", result={"sessionId": "s1", "models": {}}) == [
        Answer(0, "session/new", {"sessionId": "s1", "models": {}}, 1)
    ]


def test_an_error_is_a_refusal() -> None:
    assert after("session/new", error={"code": -32000, "message": "log in"}) == [
        Refused(0, "session/new", RpcError(-32000, "log in"), 1)
    ]


@pytest.mark.parametrize(
    ("method", "result", "path", "words"),
    [
        ("session/new", {}, "sessionId", "sessionId is missing"),
        ("session/new", None, "sessionId", "sessionId is missing"),
        ("session/new", [], "", "the whole must be an object"),
        ("session/prompt", {"stopReason": None}, "stopReason", "stopReason must be one of end_turn, max_tokens,"),
        ("session/prompt", {"stopReason": "error"}, "stopReason", "stopReason must be one of end_turn, max_tokens,"),
        ("initialize", {"protocolVersion": "1"}, "protocolVersion", "protocolVersion must be an integer"),
    ],
)
def test_an_invalid_answer_is_a_refusal_that_names_the_path(method: str, result: Any, path: str, words: str) -> None:
    [refused] = after(method, result=result)

    assert isinstance(refused, Refused)
    assert refused.error.data == {"path": path}
    assert refused.error.message.startswith(f"the agent's answer to {method} is not valid: {words}")


@pytest.mark.parametrize("method", ["authenticate", "session/load", "session/set_mode", "session/close"])
def test_null_for_an_answer_without_required_members_is_an_empty_one(method: str) -> None:
    assert after(method, result=None) == [Answer(0, method, {}, 1)]


def test_the_result_of_an_extension_is_not_looked_at() -> None:
    assert after("_session/steering", result=None) == [Answer(0, "_session/steering", None, 1)]


@pytest.mark.parametrize("usage", [{"usage": None}, {"usage": {"inputTokens": "many"}}, {"_meta": 5}])
def test_what_the_schema_forgives_is_no_reason_to_refuse(usage: Any) -> None:
    result = {"stopReason": "cancelled", **usage}

    assert after("session/prompt", result=result) == [Answer(0, "session/prompt", result, 1)]


@pytest.mark.parametrize("version", [0, 2, 99])
def test_another_version_of_the_protocol_is_a_refusal(version: int) -> None:
    [refused] = after("initialize", result={"protocolVersion": version})

    assert isinstance(refused, Refused)
    assert refused.error.code == -32022
    assert refused.error.data == {"requested": 1, "offered": version}


def test_version_1_is_an_answer() -> None:
    assert after("initialize", result={"protocolVersion": 1}) == [Answer(0, "initialize", {"protocolVersion": 1}, 1)]


def test_ACP_01_noise_does_not_hinder_the_handshake() -> None:
    side = ClientSide()
    side.request("initialize", {"protocolVersion": 1})

    events = side.receive_data(b"\x1b]0;box\x07Welcome back, ann\n\n" + line(id=0, result={"protocolVersion": 1}))

    assert events == [
        Noise(b"\x1b]0;box\x07Welcome back, ann"),
        Answer(0, "initialize", {"protocolVersion": 1}, 1),
    ]


# -- updates --


def test_updates_come_in_order_with_the_text_that_the_agent_wrote() -> None:
    texts = ['{"sessionUpdate":"plan","entries":[]}', '{ "sessionUpdate": "new_variant", "n": 1.50 }']
    data = "".join(
        f'{{"method":"session/update","params":{{"sessionId":"s1","update":{text}}}}}\n' for text in texts
    ).encode()

    events = ClientSide().receive_data(data)

    assert events == [Update("s1", json.loads(text), text, seq) for seq, text in enumerate(texts, 1)]


@pytest.mark.parametrize("size", [65535, 65536, 65537, 131072, 1_000_000, 20_000_000])
def test_PRO_01_long_lines_pass_and_a_tiny_frame_after_them_too(size: int) -> None:
    big = {**HI, "content": {"type": "text", "text": "x" * size}}
    data = update_line(big) + update_line(HI)
    side = ClientSide()

    events = [event for at in range(0, len(data), 262144) for event in side.receive_data(data[at : at + 262144])]

    assert [event.update for event in events if isinstance(event, Update)] == [big, HI]


@pytest.mark.parametrize(
    ("update", "words"),
    [
        ({**HI, "content": {"type": "text"}}, "update.content.text is missing"),
        ({"sessionUpdate": "tool_call", "title": "no id"}, "update.toolCallId is missing"),
        ({"content": {}}, "update.sessionUpdate is missing"),
        (None, "update must be an object"),
        ([], "update must be an object"),
    ],
)
def test_a_malformed_update_is_a_mistake_and_the_next_one_passes(update: Any, words: str) -> None:
    side = ClientSide()

    *_, mistake, good = side.receive_data(update_line(HI) + update_line(update) + update_line(HI))

    assert isinstance(mistake, Mistake) and mistake.why == f"session/update: {words}"
    assert isinstance(good, Update)
    assert side.data_to_send() == b""


@pytest.mark.parametrize("params", [None, [], {}, {"sessionId": 1, "update": HI}, {"sessionId": "s1"}])
def test_a_session_update_without_its_params_is_a_mistake(params: Any) -> None:
    [event] = ClientSide().receive_data(line(method="session/update", params=params))

    assert isinstance(event, Mistake)


def test_an_update_whose_text_cannot_be_found_is_written_again() -> None:
    data = b'{"method":"session/update","params":{"sessionId":"s1","upd\\u0061te":{"sessionUpdate": "new"}}}\n'

    assert ClientSide().receive_data(data) == [Update("s1", {"sessionUpdate": "new"}, '{"sessionUpdate":"new"}', 1)]


def test_two_sessions_may_alternate() -> None:
    data = b"".join(update_line(HI, session) for session in ["s1", "s2", "s1", "s2", "s1"])

    events = ClientSide().receive_data(data)

    assert [event.session_id for event in events if isinstance(event, Update)] == ["s1", "s2", "s1", "s2", "s1"]


def test_only_the_first_update_of_a_session_is_searched_for_its_text() -> None:
    side = ClientSide()
    searched: list[str] = []

    def watch(frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and frame.f_code is splice.split.__code__:
            searched.append(frame.f_locals["line"])

    sys.setprofile(watch)
    try:
        side.receive_data(b"".join(update_line(HI, session) for session in ["s1", "s1", "s2", "s1", "s2"]))
    finally:
        sys.setprofile(None)

    assert [json.loads(text)["params"]["sessionId"] for text in searched] == ["s1", "s2"]


SESSIONS = st.sampled_from(["s1", "s2", 's"3', "s\u2028", "s\ud800"])


def one_line(random: Random, session: str) -> bytes:
    update = instance(STRICT["$defs"]["SessionUpdate"], STRICT["$defs"], random)
    update = spoiled(update, random) if random.random() < 0.4 else update
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}}
    spaced = random.random() < 0.5
    return json.dumps(message, separators=(", ", ": ") if spaced else (",", ":")).encode() + b"\n"


@settings(deadline=None, max_examples=80)
@given(sessions=st.lists(SESSIONS, min_size=1, max_size=8), random=st.randoms(use_true_random=False))
def test_taught_and_untaught_roads_give_the_same_events(sessions: list[str], random: Random) -> None:
    lines = [one_line(random, session) for session in sessions]
    taught, fresh = ClientSide(), [ClientSide() for _ in lines]
    taught.receive_data(b"".join(update_line(HI, session) for session in sessions))

    with_lessons = taught.receive_data(b"".join(lines))
    without = [event for side, text in zip(fresh, lines, strict=True) for event in side.receive_data(text)]

    assert [unnumbered(event) for event in with_lessons] == [unnumbered(event) for event in without]


def unnumbered(event: Event) -> Event:
    return event._replace(seq=0) if isinstance(event, Update) else event


# -- what an agent asks and tells --


def test_a_request_of_version_1_reaches_the_owner() -> None:
    params = {"sessionId": "s1", "toolCall": {"toolCallId": "t1"}, "options": []}

    assert ClientSide().receive_data(line(id=0, method="session/request_permission", params=params)) == [
        AgentRequest(0, "session/request_permission", params)
    ]


def test_an_invalid_one_is_answered_with_the_path() -> None:
    side = ClientSide()

    [event] = side.receive_data(line(id="a", method="fs/read_text_file", params={"sessionId": "s1", "path": 7}))

    assert isinstance(event, Mistake) and event.why == "fs/read_text_file: path must be a string"
    error = {"code": -32602, "message": "Invalid params: path must be a string", "data": {"path": "path"}}
    assert sent(side) == [{"jsonrpc": "2.0", "id": "a", "error": error}]


@pytest.mark.parametrize("method", ["craft/drainMidTurnQueue", "mcp/message", "session/prompt", "session/update", "_x"])
def test_a_request_that_a_client_does_not_take_is_answered_method_not_found(method: str) -> None:
    side = ClientSide()

    [event] = side.receive_data(line(id=1, method=method, params={}))

    assert isinstance(event, Mistake)
    assert [message["error"]["code"] for message in sent(side)] == [-32601]


def test_a_request_that_the_owner_handles_reaches_it_unchecked() -> None:
    side = ClientSide(handles=frozenset({"mcp/message"}))

    assert side.receive_data(line(id=1, method="mcp/message", params=[1])) == [AgentRequest(1, "mcp/message", [1])]


def test_an_owner_may_take_every_extension_and_nothing_else() -> None:
    side = ClientSide(extensions=True)

    events = side.receive_data(line(id=1, method="_x", params=[1]) + line(id=2, method="craft/drain", params={}))

    assert events[0] == AgentRequest(1, "_x", [1])
    assert [message["id"] for message in sent(side)] == [2]


@pytest.mark.parametrize("method", ["_auth/status_update", "qwen/notify/session/mode-update", "auth/status_update"])
def test_an_unknown_notification_passes_untouched(method: str) -> None:
    assert ClientSide().receive_data(line(method=method, params=[1, {"a": None}])) == [
        AgentNotification(method, [1, {"a": None}], 1)
    ]


def test_a_request_without_an_id_is_a_mistake_and_is_not_answered() -> None:
    side = ClientSide()

    [event] = side.receive_data(line(method="fs/read_text_file", params={"sessionId": "s1", "path": "/a"}))

    assert isinstance(event, Mistake)
    assert side.data_to_send() == b""


def test_an_agent_may_take_its_question_back() -> None:
    side = ClientSide()
    params = {"sessionId": "s1", "toolCall": {"toolCallId": "t1"}, "options": []}

    events = side.receive_data(
        line(id="p", method="session/request_permission", params=params)
        + line(method="$/cancel_request", params={"requestId": "p"})
    )

    assert events[1] == AgentNotification("$/cancel_request", {"requestId": "p"}, 1)
    assert side.owes("p") and not side.owes("q")


# -- what we ask --


def test_every_question_of_ours_is_valid_in_the_eyes_of_the_other_side() -> None:
    pair = SidePair()
    client = pair.client

    client.prompt("s1", [{"type": "text", "text": "hi"}])
    client.cancel("s1")
    client.cancel_request(8)

    events = pair.to_agent()
    methods = [getattr(event, "method", event) for event in events]
    assert methods == ["session/prompt", "session/cancel", "$/cancel_request"]


# -- limits and the end --


def test_an_over_long_answer_fails_what_is_open_instead_of_hanging() -> None:
    side = ClientSide(limit=200)
    first, second = side.request("session/new", {}), side.prompt("s1", [])

    events = side.receive_data(line(result={"sessionId": "s" * 200}, id=first))

    assert [type(event) for event in events] == [Mistake, Refused, Refused]
    assert [event.id for event in events if isinstance(event, Refused)] == [first, second]


def test_a_lost_answer_whose_id_can_be_seen_fails_nothing_else() -> None:
    side = ClientSide(limit=200)
    turn, steer = side.prompt("s1", []), side.request("_session/steering", {})

    events = side.receive_data(line(id=steer, result={"outcome": "x" * 200}) + line(id=99, result={"x": "x" * 200}))
    answer = side.receive_data(line(id=turn, result={"stopReason": "end_turn"}))

    assert [event.id for event in events if isinstance(event, Refused)] == [steer]
    assert [event.id for event in answer if isinstance(event, Answer)] == [turn]


def test_an_over_long_update_fails_nothing() -> None:
    side = ClientSide(limit=200)
    side.prompt("s1", [])

    events = side.receive_data(update_line({"sessionUpdate": "new", "result": "x" * 200}) + line(method="_x"))

    assert [type(event) for event in events] == [Mistake, AgentNotification]


def test_the_end_names_what_was_never_answered() -> None:
    side = ClientSide()
    ident = side.request("session/new", {})

    assert side.receive_data(b"") == [Closed((ident,))]
    assert side.closed


@settings(deadline=None, max_examples=80)
@given(
    methods=st.lists(st.sampled_from([*STRICT["methods"], "_x", "session/fork"]), max_size=4),
    random=st.randoms(use_true_random=False),
)
def test_no_params_and_no_result_make_it_raise(methods: list[str], random: Random) -> None:
    side = ClientSide()
    for method in methods:
        side.request(method)
        entry = STRICT["methods"].get(method, {})
        asked, answered = (STRICT["$defs"].get(entry.get(part), {}) for part in ("params", "result"))
        params, result = (spoiled(instance(part, STRICT["$defs"], random), random) for part in (asked, answered))

        side.receive_data(line(id=method, method=method, params=params) + line(method=method, params=params))
        side.receive_data(line(id=methods.index(method), result=result))

    assert all("jsonrpc" in message for message in sent(side))


def test_an_update_nested_to_the_limit_does_not_raise_either() -> None:
    side = ClientSide()

    for depth in range(900, 1000):
        deep = "[" * depth + "]" * depth
        for key in ('"update"', '"upd\\u0061te"'):
            for update in (f'{{"sessionUpdate":"new","a":{deep}}}', deep):
                data = f'{{"method":"session/update","params":{{"sessionId":"s1",{key}:{update}}}}}\n'
                assert len(side.receive_data(data.encode())) == 1
