"""The table of lanes: who is reached how, what each answer means, and what is a proof."""

from __future__ import annotations

from typing import Any

import pytest

from gzia.agents import steering
from gzia.agents.steering import WAYS, Ask, Kind, Sign, Way, way_of
from gzia.driver.lane import Verdict

Json = dict[str, Any]
ASK = Ask("s1", "steer-1", [{"type": "text", "text": "use blue"}, {"type": "text", "text": "please"}], "run-1")
WORDS = {"type": "text", "text": "use blue"}


def named(name: str) -> Json:
    return {"protocolVersion": 1, "agentInfo": {"name": name, "version": "1"}}


def offering(vendor: str, capability: str, value: Any = True) -> Json:
    return {"protocolVersion": 1, "agentCapabilities": {"_meta": {vendor: {capability: value}}}}


KNOWN: list[tuple[Json, str]] = [
    (named("goose"), "goose"),
    (named("OpenCode"), "second-prompt"),  # the case is the agent's
    (named("OpenHands CLI ACP Agent"), "second-prompt"),
    (named("hermes-agent"), "hermes"),
    (named("qwen-code"), "qwen"),
    (named("Kiro CLI Agent"), "kiro"),
    ({"protocolVersion": 1, "_meta": {"grokShell": True}}, "grok"),
    ({"protocolVersion": 1, "authMethods": [{"id": "cursor_login", "name": "Cursor Login"}]}, "second-prompt"),
    (offering("reasonix.io", "sessionSteer"), "reasonix"),
    (offering("reasonix.io", "sessionSteer", {"methods": ["steer"]}), "reasonix"),
    (offering("kimchi.dev", "steering"), "kimchi"),
]
UNKNOWN: list[Json] = [
    {},
    *map(named, ("gemini-cli", "Kimi Code CLI", "@mistralai/mistral-vibe", "cline", "codex-acp", "pi-acp", "copilot")),
    *map(named, ("", "opencode-fork", "not goose", "fast-agent-acp", "oh-my-pi")),
    offering("reasonix.io", "sessionSteer", False),
    offering("kimchi.dev", "steering", None),
    {"_meta": {"grokShell": "yes"}},
    {"authMethods": [{"id": "login"}, "cursor_login", None]},
    {"agentInfo": None, "agentCapabilities": None, "_meta": [], "authMethods": {}},
    {"agentInfo": "goose", "agentCapabilities": {"_meta": {"reasonix.io": True, "kimchi.dev": []}}},
    {"agentInfo": {"name": None}},
]


@pytest.mark.parametrize(("hello", "name"), KNOWN)
def test_an_agent_is_known_by_what_it_says_of_itself(hello: Json, name: str) -> None:
    way = way_of(hello, WAYS)

    assert way and way.name == name


@pytest.mark.parametrize("hello", UNKNOWN)
def test_who_is_not_in_the_table_is_never_sent_anything_into_a_turn(hello: Json) -> None:
    assert way_of(hello, WAYS) is None


def test_what_an_agent_advertises_comes_before_what_its_name_tells() -> None:
    native = Way("native", "_session/steering", lambda ask: {}, lambda result: (Verdict.INJECTED, ""),
                 advertised=lambda hello: "steering" in hello)  # fmt: skip

    assert way_of({**named("opencode"), "steering": True}, (native, *WAYS)) is native


@pytest.mark.parametrize(
    ("way", "method", "params"),
    [
        (
            steering.GOOSE,
            "_goose/unstable/session/steer",
            {"sessionId": "s1", "prompt": ASK.blocks, "expectedRunId": "run-1"},
        ),
        (steering.REASONIX, "_reasonix.io/session/steer", {"sessionId": "s1", "prompt": ASK.blocks}),
        (steering.KIMCHI, "_kimchi.dev/steering", {"sessionId": "s1", "prompt": "use blue\nplease"}),
        (steering.KIRO, "_session/steer", {"sessionId": "s1", "message": "use blue\nplease"}),
        (
            steering.GROK,
            "_x.ai/interject",
            {"sessionId": "s1", "text": "use blue\nplease", "interjectionId": "steer-1"},
        ),
        (steering.SECOND_PROMPT, "session/prompt", {"sessionId": "s1", "prompt": ASK.blocks}),
        (
            steering.HERMES,
            "session/prompt",
            {"sessionId": "s1", "prompt": [{"type": "text", "text": "/steer use blue\nplease"}]},
        ),
        (
            steering.QWEN,
            "craft/drainMidTurnQueue",
            {"messages": ["use blue\nplease"], "hasQueuedPrompt": False},
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Way) else "",
)
def test_each_is_asked_in_its_own_words(way: Way, method: str, params: Json) -> None:
    assert (way.method, way.params(ASK)) == (method, params)


def test_lanes_that_send_words_take_nothing_but_text() -> None:
    assert {way.name for way in WAYS if way.text_only} == {"kimchi", "kiro", "grok", "hermes", "qwen"}


@pytest.mark.parametrize(
    ("way", "result", "verdict"),
    [
        (steering.GOOSE, {"runId": "run-1", "messageId": "steer_1"}, Verdict.TAKEN),
        (steering.GOOSE, {"runId": "run-1"}, Verdict.UNKNOWN),
        (steering.GOOSE, None, Verdict.UNKNOWN),
        (steering.REASONIX, {}, Verdict.INJECTED),
        (steering.REASONIX, None, Verdict.UNKNOWN),
        (steering.KIMCHI, {"status": "injected"}, Verdict.INJECTED),
        (steering.KIMCHI, {"status": "promptRequired"}, Verdict.NOT_TAKEN),
        (steering.KIMCHI, {"status": "Injected"}, Verdict.UNKNOWN),
        (steering.KIMCHI, {"outcome": "injected"}, Verdict.UNKNOWN),
        (steering.KIMCHI, {"status": ["injected"]}, Verdict.UNKNOWN),
        (steering.KIRO, {"queued": True}, Verdict.TAKEN),
        (steering.KIRO, {"queued": False}, Verdict.UNKNOWN),
        (steering.KIRO, {}, Verdict.UNKNOWN),
        (steering.GROK, {"status": "queued"}, Verdict.TAKEN),
        (steering.GROK, {"status": "dropped"}, Verdict.UNKNOWN),
        (steering.GROK, "queued", Verdict.UNKNOWN),
        (steering.SECOND_PROMPT, {"stopReason": "end_turn"}, Verdict.INJECTED),
        (steering.SECOND_PROMPT, {"stopReason": "cancelled"}, Verdict.TAKEN),
        (steering.SECOND_PROMPT, {"stopReason": "max_turn_requests"}, Verdict.TAKEN),
        (steering.SECOND_PROMPT, {"stopReason": "refusal"}, Verdict.TAKEN),
        (steering.HERMES, {"stopReason": "end_turn"}, Verdict.TAKEN),
    ],
)
def test_an_answer_means_no_more_than_it_says(way: Way, result: Any, verdict: Verdict) -> None:
    assert way.read(result)[0] is verdict


def test_an_invalid_request_proves_that_nothing_was_kept_only_where_the_agent_says_idle_so() -> None:
    lenient = {way.name for way in WAYS if steering.INVALID_REQUEST in way.refusals}

    assert lenient == {"goose", "reasonix", "second-prompt"}
    assert all({steering.METHOD_NOT_FOUND, steering.INVALID_PARAMS} <= way.refusals for way in WAYS)


def tool(status: str) -> Sign:
    return Sign("tool_call_update", {"toolCallId": "t1", "status": status})


def shown(content: Any, **goose: Any) -> Sign:
    return Sign("user_message_chunk", {"content": content, "_meta": {"goose": goose}})


def kiro(kind: str, content: Any) -> Sign:
    return Sign(kind, {"messageId": "m1", "content": content})


@pytest.mark.parametrize(
    ("way", "sign", "proves"),
    [
        (steering.GOOSE, shown(WORDS, steer=True), True),
        (steering.GOOSE, shown(WORDS), False),  # somebody's prompt, played again
        (steering.GOOSE, shown({"type": "text", "text": "another"}, steer=True), False),
        (steering.GOOSE, shown({"type": "text"}, steer=True), False),
        (steering.GOOSE, shown(None, steer=True), False),
        (steering.GOOSE, Sign("session_info_update", {"_meta": {"goose": {"queuedSteer": {}}}}), False),
        (steering.KIRO, kiro("AgentExecutionSteeringInjected", "use blue\nplease"), True),
        (steering.KIRO, kiro("AgentExecutionSteeringInjected", "<user_message>use blue\nplease</user_message>"), True),
        (steering.KIRO, kiro("steering_consumed", "use blue\nplease"), True),
        (steering.KIRO, kiro("AgentExecutionSteeringInjected", "an earlier one"), False),
        (steering.KIRO, kiro("AgentExecutionUserMessageQueued", "use blue\nplease"), False),
        (steering.KIRO, kiro("steering_consumed", None), False),
        (steering.GROK, tool("completed"), True),
        (steering.GROK, tool("failed"), True),
        (steering.GROK, tool("in_progress"), False),
        (steering.GROK, Sign("agent_message_chunk", {"content": WORDS}), False),
        (steering.HERMES, tool("completed"), True),
        (steering.HERMES, Sign("tool_call", {"toolCallId": "t2", "status": "completed"}), False),
        (steering.QWEN, Sign("agent_message_chunk", {"content": WORDS}), True),
        (steering.QWEN, Sign("agent_thought_chunk", {"content": WORDS}), True),
        (steering.QWEN, tool("completed"), False),
        (steering.QWEN, Sign("usage_update", {"used": 1}), False),
    ],
)
def test_only_what_cannot_be_without_the_message_is_a_proof(way: Way, sign: Sign, proves: bool) -> None:
    assert way.proof and way.proof(sign, ASK) is proves


def test_a_picture_that_is_shown_is_a_proof_too() -> None:
    picture = {"type": "image", "mimeType": "image/png", "data": "aGk="}
    ask = ASK._replace(blocks=[picture])

    assert steering.GOOSE.proof
    assert steering.GOOSE.proof(shown(picture, steer=True), ask)
    assert not steering.GOOSE.proof(shown({**picture, "data": "b2g="}, steer=True), ask)


def test_only_a_proof_that_names_the_message_counts_out_of_its_place() -> None:
    assert {way.name for way in WAYS if way.names_it} == {"goose", "kiro"}


def test_qwen_never_gets_more_than_it_keeps() -> None:
    assert (steering.QWEN.kind, steering.QWEN.terms) == (Kind.DRAIN, (10, None))


def test_the_answer_to_a_plain_second_prompt_is_the_last_word_of_the_agent() -> None:
    assert sorted(steering.LAST_WORDS) == ["second-prompt"]
