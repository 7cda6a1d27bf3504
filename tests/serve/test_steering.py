"""``_session/steering`` as gzia answers it: every message has one fate, and the answer says which."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agents_for_tests import scripted_command
from tests.serve.editor import editor
from tests.serve.guest import guest, journal
from tests.testing.client import Client

OPT_IN = {"steering": {"idleBehavior": "promptRequired"}}
DONE: dict[str, Any] = {"result": {"stopReason": "end_turn"}}
HELLO = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "_meta": {"steering": {"supported": True}}}
HANGS: list[dict[str, Any]] = [{"say": "begun"}, {"wait": "never"}]


def behind(script: dict[str, Any]) -> tuple[str, ...]:
    return ("--agent-command", scripted_command(script))


def steerable(*answer: dict[str, Any], prompt: list[dict[str, Any]] = HANGS) -> tuple[str, ...]:
    """A scripted agent that offers steering and does this with a steer."""
    return behind({"initialize": [{"result": HELLO}], "session/prompt": prompt, "_session/steering": list(answer)})


def text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


def start_steer(client: Client, words: str, **own: Any) -> int:
    meta = {**OPT_IN, "gzia": own} if own else OPT_IN
    return client.start("_session/steering", sessionId=client.session, prompt=text(words), _meta=meta)


def steer(client: Client, words: str, **own: Any) -> Any:
    """The result, or the error."""
    answer = client.answer_to(start_steer(client, words, **own))
    return answer.get("result", answer.get("error"))


def begin(client: Client, words: str = "go") -> int:
    """A turn that has said its first word."""
    turn = client.start_prompt(words)
    client.read_until(lambda frame: frame.get("method") == "session/update")
    return turn


def stop_of(client: Client, turn: int) -> str:
    return str(client.answer_to(turn)["result"]["stopReason"])


# -- what is offered -------------------------------------------------------------------------------------------------


def test_steering_is_offered_whatever_runs(tmp_path: Path) -> None:
    with editor(tmp_path, "--agent-command", "/no/such/agent", open=False) as client:
        hello = client.call("initialize", protocolVersion=1, clientCapabilities={})

    assert hello["_meta"]["steering"] == {"supported": True, "idleBehaviors": ["promptRequired"]}


@pytest.mark.parametrize(("agent", "has_lane"), [(("-a", "demo"), True), (behind({}), False)])
def test_a_session_tells_whether_its_agent_can_be_steered(repo: Path, agent: tuple[str, ...], has_lane: bool) -> None:
    with editor(repo, *agent, open=False) as client:
        client.call("initialize", protocolVersion=1, clientCapabilities={})
        new = client.call("session/new", cwd=str(repo), mcpServers=[])

    assert (new["_meta"]["gzia"]["steering"]["lane"] is not None) == has_lane


# -- the answers -----------------------------------------------------------------------------------------------------


def test_a_steer_is_put_into_the_running_turn(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        turn = client.start_prompt("hang")
        told = steer(client, "say steered", steerId="mine")
        stop = stop_of(client, turn)
        [line] = journal(repo, client.session, "steer")

        assert (told["outcome"], stop, client.text()) == ("injected", "end_turn", "steered")
        assert told["_meta"]["gzia"] == {
            "outcome": "injected", "steerId": "mine", "writeAdmitted": True, "queued": False, "turn": None,
            "responseSequence": line["response_sequence"], "n": line["n"],
        }  # fmt: skip


def test_STE_01_a_steer_without_a_turn_needs_a_prompt_and_nothing_runs(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        before = steer(client, "say one")
        client.prompt("say two")
        after = steer(client, "say three")
        client.prompt("say four")

        assert [told["outcome"] for told in (before, after)] == ["promptRequired"] * 2
        assert after["_meta"]["gzia"]["outcome"] == "unsupported"
        assert "turn" in after["reason"]
    asked = [line["input"] for line in journal(repo, client.session, "input")]
    assert asked.count("prompt") == 2


@pytest.mark.parametrize(
    ("agents", "word", "outcome"),
    [
        ({"outcome": "injected"}, "injected", "injected"),
        ({"outcome": "promptRequired", "reason": "noRunningTurn"}, "promptRequired", "fallback_required"),
        ({"outcome": "failed"}, "promptRequired", "fallback_required"),
        ({"outcome": "startedNewTurn"}, "startedNewTurn", "delivered_untrackable"),
        ({"outcome": "fromTomorrow"}, "deliveryUnknown", "delivery_unknown"),
        ({}, "deliveryUnknown", "delivery_unknown"),
    ],
)
def test_what_the_agent_says_is_what_the_client_is_told(
    repo: Path, agents: dict[str, Any], word: str, outcome: str
) -> None:
    with editor(repo, *steerable({"result": agents})) as client:
        turn = begin(client)
        told = steer(client, "more")
        client.cancel()

        assert (told["outcome"], told["_meta"]["gzia"]["outcome"]) == (word, outcome)
        assert told["_meta"]["gzia"]["writeAdmitted"] is True
        assert stop_of(client, turn) == "cancelled"


def test_an_agent_that_cannot_be_steered_needs_a_prompt(repo: Path) -> None:
    with editor(repo, *behind({"session/prompt": HANGS})) as client:
        begin(client)
        told = steer(client, "more")
        client.cancel()

        assert (told["outcome"], told["_meta"]["gzia"]["outcome"]) == ("promptRequired", "unsupported")
        assert told["reason"]


@pytest.mark.parametrize("own", [{"hold": True}, {"fallback": "queue"}])
def test_a_steer_that_is_to_be_held_becomes_the_next_turn(repo: Path, own: dict[str, Any]) -> None:
    script = {"session/prompt": [HANGS, [{"say": "second"}, DONE]]}
    with editor(repo, *behind(script)) as client:
        turn = begin(client)
        told = steer(client, "more", **own)
        client.send({"method": "_go", "params": {}})
        waiting = client.call("_gzia/state", sessionId=client.session)
        client.cancel()

        assert (told["outcome"], told["_meta"]["gzia"]["queued"], told["_meta"]["gzia"]["turn"]) == ("queued", True, 2)
        assert (waiting["turn"], waiting["waiting"]) == (1, [2])
        assert stop_of(client, turn) == "cancelled"
    prompts = [line for line in journal(repo, client.session, "input") if line["input"] == "prompt"]
    assert [line["blocks"] for line in prompts] == [text("go"), text("more")]


def test_a_steer_may_interrupt_the_turn_and_be_the_next(repo: Path) -> None:
    script = {"session/prompt": [HANGS, [{"say": "second"}, DONE]]}
    with editor(repo, *behind(script)) as client:
        turn = begin(client)
        told = steer(client, "more", fallback="interrupt")
        stop = stop_of(client, turn)
        client.read_until(lambda frame: "second" in str(frame))

        assert (told["outcome"], told["_meta"]["gzia"]["turn"], stop) == ("queued", 2, "cancelled")


def test_more_steers_than_a_lane_takes_are_answered_at_once_and_each_once(repo: Path) -> None:
    with editor(repo, *steerable({"wait": "never"})) as client:
        turn = begin(client)
        client.send(*(
            {"id": f"s{n}", "method": "_session/steering", "params": {
                "sessionId": client.session, "prompt": text(f"more {n}"), "_meta": OPT_IN,
            }} for n in range(130)
        ))  # fmt: skip
        full = [client.answer_to("s128", "s129")["id"], client.answer_to("s128", "s129")["id"]]  # type: ignore[arg-type]
        client.cancel()
        stop = stop_of(client, turn)
        client.call("_gzia/state", sessionId=client.session)
        answers = [f for f in client.frames if str(f.get("id")).startswith("s")]

        assert (full, stop) == (["s128", "s129"], "cancelled")
        assert sorted(frame["id"] for frame in answers) == sorted(f"s{n}" for n in range(130))
        words = {frame["result"]["outcome"] for frame in answers if frame["id"] != "s0"}
        assert words == {"promptRequired"}


# -- what cannot be meant --------------------------------------------------------------------------------------------

DEEP: dict[str, Any] = {"type": "text", "text": "x"}
for _ in range(70):
    DEEP = {"type": "text", "text": "x", "_meta": {"a": DEEP}}

NO_PROMPTS: list[Any] = [
    [], None, "x", 5, {"type": "text"}, ["x"], [{}], [{"type": "tune"}], [{"type": "image"}],
    [{"type": "text", "text": 5}], text("  "), [DEEP],
]  # fmt: skip


def test_a_request_that_cannot_be_meant_is_refused_and_nothing_is_written(repo: Path) -> None:
    def request(**changed: Any) -> dict[str, Any]:
        return {"sessionId": client.session, "prompt": text("x"), "_meta": OPT_IN, **changed}

    with editor(repo, "-a", "demo") as client:
        turn = client.start_prompt("hang")
        bad: list[tuple[dict[str, Any], int, str]] = [
            (request(sessionId=5), -32602, "invalid-session-id"),
            (request(sessionId="../../x"), -32602, "invalid-session-id"),
            (request(sessionId="nobody"), -32002, "session-not-open"),
            *((request(prompt=prompt), -32602, "invalid-prompt") for prompt in NO_PROMPTS),
            *((request(_meta={"steering": {"idleBehavior": word}}), -32602, "invalid-params") for word in
              ("startNewTurn", 5, None)),
            *((request(_meta={**OPT_IN, "gzia": own}), -32602, "invalid-params") for own in
              (5, {"steerId": 5}, {"steerId": "x" * 300}, {"fallback": "guess"}, {"fallback": 5})),
            (request(prompt=[{"type": "image", "data": "", "mimeType": "image/png"}]), -32602, "unsupported-content"),
        ]  # fmt: skip
        errors = [client.call("_session/steering", **params) for params, _, _ in bad]
        missing = client.answer_to(client.start("_session/steering"))["error"]
        client.send({"id": 999, "method": "_session/steering", "params": [1, 2]})
        listed = client.answer_to(999)["error"]
        client.cancel()

        assert [(one["code"], one["data"]["code"]) for one in errors] == [(code, word) for _, code, word in bad]
        assert (missing["code"], listed["code"]) == (-32602, -32602)
        assert stop_of(client, turn) == "cancelled"
    assert [line["input"] for line in journal(repo, client.session, "input")] == ["prompt", "cancel"]


def test_a_steer_without_any_meta_is_taken_with_the_opt_in(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        idle = client.call("_session/steering", sessionId=client.session, prompt=text("x"))

        assert idle["outcome"] == "promptRequired"


def test_a_name_is_used_once(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        steer(client, "one", steerId="mine")
        again = steer(client, "two", steerId="mine")

        assert (again["code"], again["data"]["code"]) == (-32602, "steer-id-taken")


# -- order -----------------------------------------------------------------------------------------------------------


def test_the_answer_comes_after_all_updates_before_it(repo: Path) -> None:
    many = {"say": "x", "count": 3000}
    with editor(repo, *steerable(many, {"result": {"outcome": "injected"}})) as client:
        begin(client)
        client.frames.clear()
        with guest(repo, client.session) as other:
            other.join()
            told = steer(client, "more")
            seen = len(client.updates())
            theirs = steer(other, "more")
            client.cancel()

            assert (told["outcome"], seen) == ("injected", 3000)
            assert (theirs["outcome"], len(other.updates())) == ("injected", 6000)


@pytest.mark.parametrize("joined", [True, False])
def test_a_guest_steers(repo: Path, joined: bool) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        if joined:
            other.join()
        turn = client.start_prompt("hang")
        client.call("_gzia/state", sessionId=client.session)
        told = steer(other, "say steered")

        assert (told["outcome"], stop_of(client, turn), client.text()) == ("injected", "end_turn", "steered")


def test_a_prompt_and_its_steer_in_one_write_meet(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        client.send(
            {"id": 90, "method": "session/prompt", "params": {"sessionId": client.session, "prompt": text("hang")}},
            {"id": 91, "method": "_session/steering", "params": {
                "sessionId": client.session, "prompt": text("say steered"), "_meta": OPT_IN}},
        )  # fmt: skip
        answers = [client.answer_to(90, 91), client.answer_to(90, 91)]

        assert [answer["id"] for answer in answers] == [91, 90]
        assert answers[0]["result"]["outcome"] == "injected"
        assert client.text() == "steered"


def test_a_steer_behind_a_change_of_options_waits_for_it(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        change = {"sessionId": client.session, "configId": "gzia_permission", "value": "autonomous"}
        message = {"sessionId": client.session, "_meta": OPT_IN}
        client.send(
            {"id": 90, "method": "session/set_config_option", "params": change},
            {"id": 91, "method": "session/prompt", "params": {"sessionId": client.session, "prompt": text("hang")}},
            {"id": 92, "method": "_session/steering", "params": {**message, "prompt": text("say steered")}},
            {"id": 93, "method": "_session/steering", "params": {**message, "prompt": text("say withdrawn")}},
            {"method": "$/cancel_request", "params": {"requestId": 93}},
        )
        answers = {frame["id"]: frame["result"] for frame in (client.answer_to(90, 91, 92, 93) for _ in range(4))}

        assert answers[92]["outcome"] == "injected"
        assert answers[91]["stopReason"] == "end_turn"
        if answers[93]["outcome"] == "promptRequired":
            assert client.text() == "steered"


def test_prompts_and_steers_are_each_answered_in_their_order(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        turns = [client.start_prompt("hang")]
        turns += [client.start("session/prompt", sessionId=client.session, prompt=text("say two"))]
        steers = [start_steer(client, "say s1"), start_steer(client, "say s2")]
        turns += [client.start("session/prompt", sessionId=client.session, prompt=text("say three"))]
        answered = [client.answer_to(*turns, *steers) for _ in range(5)]

        order = [frame["id"] for frame in answered]
        assert [ident for ident in order if ident in turns] == turns
        assert [ident for ident in order if ident in steers] == steers
        assert order.index(steers[1]) < order.index(turns[0])
        assert [frame["result"]["outcome"] for frame in answered if frame["id"] in steers] == ["injected"] * 2
        assert client.text() == "s1s2twothree"


def test_a_cancelled_request_takes_a_waiting_steer_back(repo: Path) -> None:
    with editor(repo, *steerable({"wait": "never"})) as client:
        turn = begin(client)
        flying, waiting = start_steer(client, "one"), start_steer(client, "two")
        client.send({"method": "$/cancel_request", "params": {"requestId": waiting}})
        back = client.answer_to(waiting)["result"]
        unknown = client.answer_to(flying)["result"]
        client.cancel()

        assert (back["outcome"], back["_meta"]["gzia"]["writeAdmitted"]) == ("promptRequired", False)
        assert (unknown["outcome"], unknown["_meta"]["gzia"]["writeAdmitted"]) == ("deliveryUnknown", True)
        assert stop_of(client, turn) == "cancelled"


def test_a_steer_that_was_answered_cannot_be_taken_back(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        turn = client.start_prompt("hang")
        ident = start_steer(client, "say steered")
        client.answer_to(ident)
        client.send({"method": "$/cancel_request", "params": {"requestId": ident}})

        assert stop_of(client, turn) == "end_turn"


def test_STE_01_in_the_race_with_the_end_every_message_has_one_fate(repo: Path) -> None:
    """The steer leaves after 0, 1, 2 … frames of a turn of few, so that many meet its end."""
    fates = []
    with editor(repo, "-a", "demo") as client:
        for round in range(40):
            turn = client.start_prompt("slow 2")
            for _ in range(round % 4):
                client.read()
            ident = start_steer(client, f"say fate{round}")
            answered = [client.answer_to(turn, ident), client.answer_to(turn, ident)]
            told = next(frame["result"] for frame in answered if frame["id"] == ident)
            told_first = answered[0]["id"] == ident
            fates.append((told["outcome"], client.text().count(f"fate{round}"), told_first))
        client.prompt("say end")
        late = client.text()

    assert {fate for fate in fates if fate[0] == "injected"} == {("injected", 1, True)}
    assert {fate[:2] for fate in fates if fate[0] != "injected"} <= {("promptRequired", 0)}
    assert late == "end"


# -- what scripts ask ------------------------------------------------------------------------------------------------


def test_the_state_of_a_session_is_told(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:

        def state() -> Any:
            return other.call("_gzia/state", sessionId=client.session)

        client.policy = lambda params: None
        idle = state()
        turn = client.start_prompt("write new.txt hello")
        client.read_until(lambda frame: frame.get("method") == "session/request_permission")
        client.start("session/prompt", sessionId=client.session, prompt=text("say two"))
        client.call("session/list")
        other.policy = lambda params: None
        other.join()
        asked = state()
        cancelled = other.call("_gzia/cancel", sessionId=client.session)
        stop_of(client, turn)
        nothing = other.call("_gzia/cancel", sessionId=client.session)

        assert idle == {"state": "idle", "turn": None, "waiting": [], "attached": 0}
        assert asked == {"state": "input-needed", "turn": 1, "waiting": [2], "attached": 1}
        assert cancelled == {"running": 1, "dropped": [2]}
        assert nothing == {"running": None, "dropped": []}


# -- extensions that the agent asks of the editor --------------------------------------------------------------------


def drains(*more: dict[str, Any]) -> tuple[str, ...]:
    ask = {"request": "_vendor/drain", "params": {"sessionId": "$session"}}
    return behind({"session/prompt": [ask, *more, {"say": "done"}, DONE]})


def is_drain(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "_vendor/drain"


def test_STE_03_an_editor_that_drops_what_it_does_not_know_does_not_hang_the_turn(repo: Path) -> None:
    with editor(repo, *drains()) as client:
        stop = client.prompt("go")

        assert (stop, client.text()) == ("end_turn", "done")
        [asked] = [frame for frame in client.frames if is_drain(frame)]
        assert asked["params"]["sessionId"] == client.session
        assert any(frame.get("method") == "$/cancel_request" for frame in client.frames)


def test_STE_03_what_an_editor_does_not_know_is_asked_once(repo: Path) -> None:
    with editor(repo, *drains()) as client:
        turn = client.start_prompt("go")
        asked = client.read_until(is_drain)
        client.send({"id": asked["id"], "error": {"code": -32601, "message": "no such method"}})
        first = stop_of(client, turn)
        second = client.prompt("go")

        assert (first, second) == ("end_turn", "end_turn")
        assert not any(is_drain(frame) for frame in client.frames)


def test_STE_03_an_editor_that_knows_an_extension_answers_the_agent(repo: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = {"log": str(log), "session/prompt": [{"request": "_vendor/drain", "params": [1]}, DONE]}
    with editor(repo, *behind(script)) as client:
        turn = client.start_prompt("go")
        asked = client.read_until(is_drain)
        client.send({"id": asked["id"], "result": {"messages": ["m1"]}})

        assert stop_of(client, turn) == "end_turn"
        assert asked["params"] == [1]
    assert '"messages": ["m1"]' in log.read_text()
