"""What we are towards an editor."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gzia.acp.agent import AgentSide, Answer, ClientNotification, ClientRequest, Closed, Mistake, Refused
from gzia.acp.client import AgentRequest, Update
from gzia.jsonrpc.messages import RpcError
from tests.packaging.documents import STRICT
from tests.packaging.instances import instance, spoiled
from tests.pair import SidePair

PROMPT = {"sessionId": "s1", "prompt": [{"type": "text", "text": "hi"}]}


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def sent(side: AgentSide) -> list[Any]:
    return [json.loads(text) for text in side.data_to_send().split(b"\n")[:-1]]


def test_a_valid_request_reaches_the_owner() -> None:
    assert AgentSide().receive_data(line(id=None, method="session/prompt", params=PROMPT)) == [
        ClientRequest(None, "session/prompt", PROMPT)
    ]


@pytest.mark.parametrize("method", ["session/list", "logout"])
def test_missing_params_are_empty_where_nothing_is_required(method: str) -> None:
    assert AgentSide().receive_data(line(id=1, method=method)) == [ClientRequest(1, method, {})]


@pytest.mark.parametrize(
    ("method", "params", "path", "words"),
    [
        ("session/new", {"cwd": "/repo"}, "mcpServers", "mcpServers is missing"),
        ("session/new", None, "cwd", "cwd is missing"),
        ("session/new", [], "", "the whole must be an object"),
        ("initialize", {"protocolVersion": "1"}, "protocolVersion", "protocolVersion must be an integer"),
        ("session/prompt", {"sessionId": "s1", "content": []}, "prompt", "prompt is missing"),
        (
            "session/prompt",
            {"sessionId": "s1", "prompt": [PROMPT["prompt"][0], {"type": "text"}]},
            "prompt[1].text",
            "prompt[1].text is missing",
        ),
    ],
)
def test_invalid_params_are_answered_with_the_path(method: str, params: Any, path: str, words: str) -> None:
    side = AgentSide()

    [event] = side.receive_data(line(id=7, method=method, params=params))

    assert isinstance(event, Mistake) and event.why == f"{method}: {words}"
    error = {"code": -32602, "message": f"Invalid params: {words}", "data": {"path": path}}
    assert sent(side) == [{"jsonrpc": "2.0", "id": 7, "error": error}]


def test_null_where_the_schema_forgives_it_passes() -> None:
    params = {"cwd": "/repo", "mcpServers": None, "additionalDirectories": None, "_meta": None}

    assert AgentSide().receive_data(line(id=1, method="session/new", params=params)) == [
        ClientRequest(1, "session/new", params)
    ]


@pytest.mark.parametrize(
    "method", ["session/fork", "session/set_model", "session/update", "session/cancel", "_x/y", ""]
)
def test_an_unknown_request_is_answered_method_not_found(method: str) -> None:
    side = AgentSide()

    [event] = side.receive_data(line(id="x", method=method, params={"sessionId": "s1"}))

    assert isinstance(event, Mistake)
    assert [(message["id"], message["error"]["code"]) for message in sent(side)] == [("x", -32601)]


def test_an_extension_that_the_owner_handles_reaches_it() -> None:
    side = AgentSide(handles=frozenset({"_session/steering"}))

    assert side.receive_data(line(id=1, method="_session/steering", params=PROMPT)) == [
        ClientRequest(1, "_session/steering", PROMPT)
    ]


def test_a_cancel_is_a_notification_and_may_carry_more_than_the_schema() -> None:
    params = {"sessionId": "s1", "reason": "user"}

    assert AgentSide().receive_data(line(method="session/cancel", params=params)) == [
        ClientNotification("session/cancel", params, 1)
    ]


def test_a_cancel_without_a_session_is_a_mistake_and_is_not_answered() -> None:
    side = AgentSide()

    [event] = side.receive_data(line(method="session/cancel", params={}))

    assert isinstance(event, Mistake)
    assert side.data_to_send() == b""


def test_an_unknown_notification_passes() -> None:
    assert AgentSide().receive_data(line(method="_editor/focus", params=1)) == [
        ClientNotification("_editor/focus", 1, 1)
    ]


def test_a_prompt_and_its_cancel_in_one_read_come_in_order() -> None:
    data = line(id=2, method="session/prompt", params=PROMPT) + line(
        method="session/cancel", params={"sessionId": "s1"}
    )

    assert [type(event) for event in AgentSide().receive_data(data)] == [ClientRequest, ClientNotification]


def test_a_permission_goes_to_the_editor_and_comes_back() -> None:
    pair = SidePair()
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]

    ident = pair.agent.request_permission("s1", {"toolCallId": "t1"}, options)
    [asked] = pair.to_client()
    assert isinstance(asked, AgentRequest)
    pair.client.reply(asked.id, {"outcome": {"outcome": "selected", "optionId": "y"}})

    assert asked.params == {"sessionId": "s1", "toolCall": {"toolCallId": "t1"}, "options": options}
    assert pair.to_agent() == [
        Answer(ident, "session/request_permission", {"outcome": {"outcome": "selected", "optionId": "y"}}, 1)
    ]


@pytest.mark.parametrize(
    "outcome", [{"outcome": "approved", "optionId": "y"}, {"outcome": "selected"}, "selected", None]
)
def test_RIG_03_an_outcome_that_is_not_understood_is_a_refusal(outcome: Any) -> None:
    side = AgentSide()
    side.request_permission("s1", {"toolCallId": "t1"}, [])

    [event] = side.receive_data(line(id=0, result={"outcome": outcome}))

    assert isinstance(event, Refused)
    assert event.error.message.startswith("the client's answer to session/request_permission is not valid: outcome")


def test_a_spliced_update_arrives_as_it_was() -> None:
    pair = SidePair()
    text = '{ "sessionUpdate": "new_variant", "n": 1.50, "t": "\\ud83d" }'

    head, tail = pair.agent.update_frame('null "s1" \u2028')
    pair.agent.send_text(head + text + tail)

    assert pair.to_client() == [Update('null "s1" \u2028', json.loads(text), text, 1)]


def test_an_update_arrives() -> None:
    pair = SidePair()

    pair.agent.update("s1", {"sessionUpdate": "plan", "entries": []})

    assert pair.to_client() == [
        Update("s1", {"sessionUpdate": "plan", "entries": []}, '{"sessionUpdate":"plan","entries":[]}', 1)
    ]


@pytest.mark.parametrize("size", [65535, 65536, 65537, 131072, 1_000_000, 20_000_000])
def test_PRO_01_long_prompts_pass_and_a_tiny_frame_after_them_is_answered(size: int) -> None:
    big = {"sessionId": "s1", "prompt": [{"type": "text", "text": "x" * size}]}
    data = line(id=7, method="session/prompt", params=big) + line(id=8, method="session/list", params={})
    side = AgentSide()

    events = [event for at in range(0, len(data), 262144) for event in side.receive_data(data[at : at + 262144])]

    assert events == [ClientRequest(7, "session/prompt", big), ClientRequest(8, "session/list", {})]


def test_bad_json_is_answered_and_an_over_long_line_too() -> None:
    side = AgentSide(limit=50)

    events = side.receive_data(b"{oops\n" + b"x" * 51 + b"\n[]\n")

    kinds = [event.kind for event in events if isinstance(event, Mistake)]
    assert kinds == ["no message", "too long", "no message"]
    assert [(message["id"], message["error"]["code"]) for message in sent(side)] == [
        (None, -32700),
        (None, -32600),
        (None, -32600),
    ]


def test_a_message_that_asks_for_something_wrong_is_a_message() -> None:
    side = AgentSide()

    events = side.receive_data(line(id=1, method="no/such") + line(id=2, method="session/list", params={"cwd": 5}))

    assert [event.kind for event in events if isinstance(event, Mistake)] == ["", ""]


def test_an_over_long_answer_of_the_editor_fails_what_we_asked() -> None:
    side = AgentSide(limit=100)
    ident = side.request("fs/read_text_file", {"sessionId": "s1", "path": "/a"})

    events = side.receive_data(line(id=ident, result={"content": "x" * 100}))

    assert events[1:] == [
        Refused(
            ident,
            "fs/read_text_file",
            RpcError(-32603, "an answer of the client was too long and was skipped"),
            1,
        )
    ]


@settings(deadline=None, max_examples=150)
@given(method=st.sampled_from([*STRICT["methods"], "_x", "session/fork"]), random=st.randoms(use_true_random=False))
def test_whatever_is_asked_is_either_passed_on_or_answered_once(method: str, random: Random) -> None:
    name = STRICT["methods"].get(method, {}).get("params")
    params = spoiled(instance({"$ref": f"#/$defs/{name}"} if name else {}, STRICT["$defs"], random), random)
    side = AgentSide()

    [event] = side.receive_data(line(id="x", method=method, params=params))

    answers = [message["id"] for message in sent(side)]
    assert (type(event), answers) in [(ClientRequest, []), (Mistake, ["x"])]


def test_the_end_of_the_editor() -> None:
    side = AgentSide()

    assert side.receive_data(b"") == [Closed(())]
    assert side.closed
