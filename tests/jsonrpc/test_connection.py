"""Each rule at the head of connection.py, and attacks on it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gzia.jsonrpc.connection import KEPT, TAUGHT, Connection
from gzia.jsonrpc.messages import (
    Closed,
    Event,
    LocalMistake,
    Noise,
    Notification,
    PeerMistake,
    Request,
    Response,
    RpcError,
    Taught,
    TooLong,
)
from tests.pair import ConnectionPair


def towards_an_agent() -> Connection:
    return Connection(expects_noise=True)


def sent(connection: Connection) -> list[Any]:
    """Everything that the connection wants to send, parsed."""
    return [json.loads(line) for line in connection.data_to_send().split(b"\n")[:-1]]


def error(code: int, ident: Any = None) -> dict[str, Any]:
    return {"id": ident, "code": code}


def errors(connection: Connection) -> list[dict[str, Any]]:
    return [{"id": message["id"], "code": message["error"]["code"]} for message in sent(connection)]


# -- a conversation --


def test_a_request_crosses_and_its_answer_comes_back() -> None:
    pair = ConnectionPair()

    ident = pair.client.request("session/new", {"cwd": "/repo"})
    [request] = pair.to_agent()
    assert isinstance(request, Request)
    pair.agent.reply(request.id, {"sessionId": "s1"})

    assert request[:3] == (ident, "session/new", {"cwd": "/repo"})
    assert pair.to_client() == [Response(ident, "session/new", {"sessionId": "s1"}, None, 1)]


def test_an_error_comes_back_with_code_message_and_data() -> None:
    pair = ConnectionPair()

    ident = pair.client.request("session/load")
    pair.to_agent()
    pair.agent.reply_error(ident, -32002, "no such session", {"sessionId": "s1"})

    wanted = RpcError(-32002, "no such session", {"sessionId": "s1"})
    assert pair.to_client() == [Response(ident, "session/load", None, wanted, 1)]


def test_both_ends_may_ask_at_once_with_the_same_id() -> None:
    pair = ConnectionPair()

    ours = pair.client.request("session/prompt", {})
    theirs = pair.agent.request("session/request_permission", {})
    [prompt] = pair.to_agent()
    [permission] = pair.to_client()
    pair.agent.reply(ours, "done")
    pair.client.reply(theirs, "yes")

    assert ours == theirs == 0
    assert isinstance(prompt, Request) and prompt.method == "session/prompt"
    assert isinstance(permission, Request) and permission.method == "session/request_permission"
    assert pair.to_client() == [Response(0, "session/prompt", "done", None, 1)]
    assert pair.to_agent() == [Response(0, "session/request_permission", "yes", None, 1)]


def test_a_notification_keeps_the_text_of_its_line() -> None:
    line = '{"method": "m",  "params": [1.0, "\\u00e9"]}'

    events = Connection().receive_data(line.encode() + b"\r\n")

    assert events == [Notification("m", [1.0, "é"], 1, line)]


def test_what_is_sent_is_whole_lines_and_sent_once() -> None:
    connection = Connection()
    connection.notify("a", {"text": "one\ntwo\u2028"})
    connection.send_text('{"method":"b"}')

    data = connection.data_to_send()

    assert data == '{"jsonrpc":"2.0","method":"a","params":{"text":"one\\ntwo\u2028"}}\n{"method":"b"}\n'.encode()
    assert connection.data_to_send() == b""


def test_a_frame_with_a_newline_is_our_mistake() -> None:
    with pytest.raises(LocalMistake):
        Connection().send_text('{\n"method":"b"}')


def test_a_lone_surrogate_crosses() -> None:
    pair = ConnectionPair()

    pair.client.notify("m", "\ud800")
    [event] = pair.to_agent()

    assert isinstance(event, Notification) and event.params == "\ud800"


def test_missing_params_stay_missing() -> None:
    connection = Connection()

    connection.notify("m")

    assert sent(connection) == [{"jsonrpc": "2.0", "method": "m"}]


# -- rule 1 and 2: lines that are no messages --

NOT_OBJECTS = [b"[]", b'[{"method":"m"}]', b"null", b"7", b'"text"', b"true"]
NOT_JSON = [
    b"Welcome back, ann", b"{", b'{"a":1}}', b"{'a':1}", b'{"a":NaN}', b'{"id":1e999,"method":"m"}', b'{"a":"\x00"}',
    b"[" * 200_000, b'{"a":' * 200_000, b'{"id":' + b"9" * 5000 + b',"method":"m"}', b"\x1b[2J", b'{"method":"m"} x',
]  # fmt: skip


@pytest.mark.parametrize("line", NOT_JSON, ids=lambda line: repr(line[:20]))
def test_from_an_editor_a_line_that_is_not_json_is_answered_with_parse_error(line: bytes) -> None:
    connection = Connection()

    [event] = connection.receive_data(line + b"\n")

    assert isinstance(event, PeerMistake)
    assert event.line == line[:KEPT]
    assert errors(connection) == [error(-32700)]


@pytest.mark.parametrize("line", NOT_OBJECTS, ids=repr)
def test_from_an_editor_json_that_is_not_an_object_is_an_invalid_request(line: bytes) -> None:
    connection = Connection()

    assert connection.receive_data(line + b"\n") == [PeerMistake("not a JSON object", line, is_message=False)]
    assert errors(connection) == [error(-32600)]


@pytest.mark.parametrize("line", NOT_JSON + NOT_OBJECTS, ids=lambda line: repr(line[:20]))
def test_from_an_agent_both_are_noise_and_are_not_answered(line: bytes) -> None:
    connection = towards_an_agent()

    assert connection.receive_data(line + b'\n{"method":"m"}\n') == [
        Noise(line[:KEPT]),
        Notification("m", None, 1, '{"method":"m"}'),
    ]
    assert connection.data_to_send() == b""


@pytest.mark.parametrize("make", [Connection, towards_an_agent])
def test_blank_lines_are_nothing(make: Any) -> None:
    connection = make()

    assert connection.receive_data(b"\n  \t\r\n\r\n") == []
    assert connection.data_to_send() == b""


def test_from_an_editor_invalid_utf8_is_a_parse_error() -> None:
    connection = Connection()

    assert connection.receive_data(b'{"method":"\xff"}\n') == [
        PeerMistake("not UTF-8", b'{"method":"\xff"}', is_message=False)
    ]
    assert errors(connection) == [error(-32700)]


def test_from_an_agent_invalid_utf8_inside_an_answer_does_not_lose_the_answer() -> None:
    connection = towards_an_agent()
    connection.request("m")

    assert connection.receive_data(b'{"id":0,"result":"a\xffb"}\n') == [Response(0, "m", "a\ufffdb", None, 1)]


@pytest.mark.parametrize(
    "escape",
    [
        "\x1b]0;box\x07",
        "\x1b]0;box\x1b\\",
        "\x1b[2J\x1b[H",
        "\x1b(B\x1b[m",
        "\x1b7\x1b[?25h ",
        "\ufeff",
        "\x07",
        "\r \t",
    ],
    ids=ascii,
)
def test_ACP_01_terminal_escapes_directly_before_a_frame_are_stripped(escape: str) -> None:
    connection = towards_an_agent()
    connection.request("initialize")

    events = connection.receive_data(escape.encode() + b'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}\n')

    assert events == [Response(0, "initialize", {"protocolVersion": 1}, None, 1)]


def test_ACP_01_a_greeting_before_the_first_frame_is_skipped() -> None:
    connection = towards_an_agent()
    connection.request("initialize")

    events = connection.receive_data(b'\x1b]0;box\x07Welcome back, ann\n\n{"id":0,"result":{}}\n')

    assert events == [
        Noise(b"\x1b]0;box\x07Welcome back, ann"),
        Response(0, "initialize", {}, None, 1),
    ]


def test_megabytes_of_terminal_control_are_noise() -> None:
    line = b"\x07" * 1_000_000 + b'{"method":"m"}'

    assert towards_an_agent().receive_data(line + b"\n") == [Noise(line[:KEPT])]


def test_text_that_quotes_a_frame_is_noise_and_not_that_frame() -> None:
    line = b'debug: sent {"id":0,"result":{}}'
    connection = towards_an_agent()
    connection.request("m")

    assert connection.receive_data(line + b"\n") == [Noise(line)]


# -- rule 3: ids --

IDS = [0, 1, -7, 2**53 + 1, 10**400, "0", "", "\u00e9", "\ud800", None, 1.5, 3.0]


@pytest.mark.parametrize("ident", IDS, ids=ascii)
def test_ids_are_echoed_as_they_came(ident: Any) -> None:
    connection = Connection()

    [event] = connection.receive_data(json.dumps({"id": ident, "method": "m"}).encode() + b"\n")
    assert isinstance(event, Request)
    connection.reply(event.id, None)

    [answer] = sent(connection)
    assert (answer["id"], type(answer["id"])) == (ident, type(ident))


def test_one_and_one_point_nought_and_the_text_one_are_three_ids() -> None:
    connection = Connection()

    events = connection.receive_data(b'{"id":1,"method":"a"}\n{"id":1.0,"method":"b"}\n{"id":"1","method":"c"}\n')
    connection.reply(1.0, "b")
    connection.reply("1", "c")

    assert [type(event) for event in events] == [Request, Request, Request]
    assert [repr(message["id"]) for message in sent(connection)] == ["1.0", "'1'"]
    assert connection.owes(1) and not connection.owes(1.0)


@pytest.mark.parametrize("make", [Connection, towards_an_agent])
def test_an_id_in_use_may_not_be_used_again_until_it_is_answered(make: Any) -> None:
    connection = make()
    line = b'{"id":1,"method":"a"}\n'

    _, again = connection.receive_data(line + line)
    assert again == PeerMistake("the id 1 is already in use", line[:-1])
    assert connection.data_to_send() == b""
    connection.reply(1, None)

    assert [type(event) for event in connection.receive_data(line)] == [Request]


@pytest.mark.parametrize("ident", [True, False, [], {}, [0]], ids=repr)
def test_an_id_of_another_kind_is_an_invalid_request(ident: Any) -> None:
    connection = Connection()

    [event] = connection.receive_data(json.dumps({"id": ident, "method": "m"}).encode() + b"\n")

    assert isinstance(event, PeerMistake)
    assert errors(connection) == [error(-32600)]


@pytest.mark.parametrize("make", [Connection, towards_an_agent])
def test_a_request_whose_method_is_not_text_is_answered_under_its_id(make: Any) -> None:
    connection = make()

    [event] = connection.receive_data(b'{"id":5,"method":1}\n')

    assert isinstance(event, PeerMistake)
    assert errors(connection) == [error(-32600, 5)]


def test_answering_a_request_that_is_not_open_is_our_mistake() -> None:
    connection = Connection()
    connection.receive_data(b'{"id":1,"method":"m"}\n')
    connection.reply(1, None)

    with pytest.raises(LocalMistake):
        connection.reply(1, None)
    with pytest.raises(LocalMistake):
        connection.reply_error("1", -32603, "no")


# -- rule 4 and 5: answers --


@pytest.mark.parametrize(
    "line",
    [
        b'{"id":null,"error":{"code":-32700,"message":"Parse error"}}', b'{"error":{"code":-32601,"message":"no"}}',
        b'{"id":9,"result":1}', b'{"id":[],"result":1}', b'{"id":"x","error":null}', b'{"result":1}',
        b'{"id":{},"error":5}', b'{"id":true,"result":1}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("make", [Connection, towards_an_agent])
def test_an_answer_to_nothing_is_never_answered(make: Any, line: bytes) -> None:
    connection = make()

    [event] = connection.receive_data(line + b"\n")

    assert isinstance(event, PeerMistake) and event.why.startswith("an answer to nothing that is open")
    assert connection.data_to_send() == b""


def test_an_error_about_nothing_keeps_its_words() -> None:
    [event] = Connection().receive_data(b'{"id":null,"error":{"code":-32700,"message":"Parse error"}}\n')

    assert isinstance(event, PeerMistake) and event.why == "an answer to nothing that is open: Parse error"


def test_true_is_not_request_number_one() -> None:
    connection = towards_an_agent()
    connection.request("a")
    connection.request("b")

    mistake, answer = connection.receive_data(b'{"id":true,"result":0}\n{"id":1,"result":0}\n')

    assert isinstance(mistake, PeerMistake)
    assert answer == Response(1, "b", 0, None, 1)


@pytest.mark.parametrize("ident", ["0", "0.0", '"0"', "-0"])
def test_our_number_may_come_back_in_another_spelling(ident: str) -> None:
    connection = towards_an_agent()
    connection.request("a")

    assert connection.receive_data(b'{"id":%b,"result":7}\n' % ident.encode()) == [Response(0, "a", 7, None, 1)]


@pytest.mark.parametrize("ident", ['"٠"', '"0 "', '"+0"', '""', "0.5", "null", '"' + "0" * 30 + '"'])
def test_what_is_not_our_number_settles_nothing(ident: str) -> None:
    connection = towards_an_agent()
    connection.request("a")

    [event] = connection.receive_data(b'{"id":%b,"result":7}\n' % ident.encode())

    assert isinstance(event, PeerMistake)


def test_a_request_is_settled_once() -> None:
    connection = towards_an_agent()
    connection.request("a")

    first, second = connection.receive_data(b'{"id":0,"result":1}\n{"id":0,"result":2}\n')

    assert first == Response(0, "a", 1, None, 1)
    assert isinstance(second, PeerMistake)


BROKEN = "the peer's error has no message"


@pytest.mark.parametrize(
    ("members", "result", "wanted"),
    [
        ('"result":1,"error":null', 1, None),
        ('"result":null', None, None),
        ('"result":1,"error":{"code":5,"message":"no"}', 1, RpcError(5, "no")),
        ('"x":1', None, RpcError(-32603, "the answer has neither result nor error")),
        ('"error":"boom"', None, RpcError(-32603, BROKEN, "boom")),
        ('"error":{}', None, RpcError(-32603, BROKEN)),
        ('"error":{"code":true,"message":[],"data":0}', None, RpcError(-32603, BROKEN, 0)),
        ('"error":{"code":1.0,"message":"m"}', None, RpcError(-32603, "m")),
    ],
)
def test_an_answer_of_any_shape_settles_its_request(members: str, result: Any, wanted: RpcError | None) -> None:
    connection = towards_an_agent()
    connection.request("a")

    events = connection.receive_data(b'{"id":0,%b}\n' % members.encode())

    assert events == [Response(0, "a", result, wanted, 1)]


def test_an_owner_may_give_up_what_is_open() -> None:
    connection = towards_an_agent()
    connection.request("a")
    connection.request("b")
    lost = RpcError(-32603, "lost")

    assert connection.give_up(lost) == [Response(0, "a", None, lost, 1), Response(1, "b", None, lost, 2)]
    assert connection.give_up(lost) == []


# -- rule 6: the receive sequence --


def test_the_receive_sequence_counts_answers_and_notifications_and_nothing_else() -> None:
    connection = towards_an_agent()
    connection.request("a")
    connection.teach('{"method":"t","params":', "}", "tag")

    events = connection.receive_data(
        b'noise\n{"method":"n"}\n{"id":7,"method":"ask"}\n{"method":"t","params":1}\n{"id":9,"result":0}\n{"id":0,"result":0}\n'
    )

    assert [getattr(event, "seq", None) for event in events] == [None, 1, None, 2, None, 3]


# -- rule 7: taught forms --

HEAD = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":'


def plain(event: Event) -> Event:
    """A taught event as the notification that it stands for."""
    if not isinstance(event, Taught):
        return event
    params = {"sessionId": event.tag, "update": event.value}
    return Notification("session/update", params, event.seq, f"{HEAD}{event.text}}}}}")


def test_a_taught_line_gives_its_value_and_exactly_its_text() -> None:
    connection = towards_an_agent()
    connection.teach(HEAD, "}}", "s1")

    events = connection.receive_data(f'{HEAD}{{"a": [1.0,\t"\\u00e9"]}}}}}}\n'.encode())

    assert events == [Taught("s1", {"a": [1.0, "é"]}, '{"a": [1.0,\t"\\u00e9"]}', 1)]


@pytest.mark.parametrize(
    "rest",
    [
        "{}}}", "null}}", '"}}"}}', '{"a":"}}"}}}', " {}}}", "{} }}", "{}}} ", "{},\"x\":1}}", "{}},\"params\":{}}",
        "{}", "{}}", "{}}}}", "", "NaN}}", "{\"a\":NaN}}}", "1e999}}", "{}}},", "{}}}\r", "[" * 5000, "12}}", "1 2}}",
        '{}},"method":"other"}', '{},"update":5}}', "\ufeff{}}}",
    ],
)  # fmt: skip
def test_a_taught_form_changes_no_event(rest: str) -> None:
    taught, untaught = towards_an_agent(), towards_an_agent()
    taught.teach(HEAD, "}}", "s1")
    line = f"{HEAD}{rest}\n".encode()

    assert [plain(event) for event in taught.receive_data(line)] == untaught.receive_data(line)


def test_several_forms_are_known_at_once() -> None:
    connection = towards_an_agent()
    connection.teach("[a", "]", "a")
    connection.teach("[b", "]", "b")

    events = connection.receive_data(b"[a1]\n[b2]\n[a3]\n[a4]\n")

    assert events == [Taught("a", 1, "1", 1), Taught("b", 2, "2", 2), Taught("a", 3, "3", 3), Taught("a", 4, "4", 4)]


def test_the_form_that_was_used_longest_ago_is_forgotten() -> None:
    connection = towards_an_agent()
    for index in range(TAUGHT):
        connection.teach(f"[{index}:", "]", str(index))
    connection.receive_data(b"[0:1]\n")

    connection.teach("[new:", "]", "new")

    assert [type(event) for event in connection.receive_data(b"[0:1]\n[1:1]\n")] == [Taught, Noise]


def test_a_form_taught_at_one_line_serves_the_next_of_the_same_read() -> None:
    connection = towards_an_agent()
    seen = []

    for event in connection.events(b"[a1]\n[a2]\n"):
        seen.append(type(event))
        connection.teach("[a", "]", "a")

    assert seen == [Noise, Taught]


# -- limits and the end --


def test_a_line_over_the_limit_from_an_editor_is_answered_and_the_next_one_is_read() -> None:
    connection = Connection(limit=30)

    events = connection.receive_data(b'{"method":"a name that is too long"}\n{"method":"m"}\n')

    assert events == [TooLong(b'{"method":"a name that is too long"}'), Notification("m", None, 1, '{"method":"m"}')]
    assert errors(connection) == [error(-32600)]


def test_a_line_over_the_limit_from_an_agent_is_not_answered() -> None:
    connection = Connection(limit=10, expects_noise=True)

    assert connection.receive_data(b"x" * 11) == [TooLong(b"x" * 11)]
    assert connection.receive_data(b"x" * 11) == []
    assert connection.data_to_send() == b""


def test_the_end_of_the_stream_names_what_was_never_answered() -> None:
    connection = towards_an_agent()
    connection.request("a")
    connection.request("b")

    assert connection.receive_data(b'{"id":0,"result":1}\n') == [Response(0, "a", 1, None, 1)]
    assert connection.receive_data(b"") == [Closed((1,))]
    assert connection.closed
    assert connection.receive_data(b"") == connection.receive_data(b'{"method":"m"}\n') == []


def test_a_last_line_without_a_newline_counts() -> None:
    connection = towards_an_agent()

    connection.receive_data(b"out of memory")

    assert connection.receive_data(b"") == [Noise(b"out of memory"), Closed(())]


def test_after_the_peers_end_answers_still_go_out_and_requests_are_our_mistake() -> None:
    connection = Connection()
    connection.receive_data(b'{"id":1,"method":"m"}')
    connection.receive_data(b"")

    connection.reply(1, "late")

    assert sent(connection) == [{"jsonrpc": "2.0", "id": 1, "result": "late"}]
    with pytest.raises(LocalMistake):
        connection.request("m")
