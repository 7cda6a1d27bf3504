"""The lanes of single agents over real pipes: each has a scripted peer that speaks as that agent does."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from gzia.driver.observation import PromptObservation, Question, SteerObservation, UpdateObservation
from gzia.driver.steer import SteerOutcome, SteerRequest
from gzia.system.process import PIPE_BYTES
from gzia.transports.acp import AcpAgent
from tests.transports.hearing import (
    END,
    GO,
    OVER,
    UNTIL_OVER,
    Hearer,
    Json,
    begin,
    methods,
    move,
    play,
    received,
    text,
)

INJECTED, FALLBACK = SteerOutcome.INJECTED, SteerOutcome.FALLBACK_REQUIRED
UNSUPPORTED, UNKNOWN = SteerOutcome.UNSUPPORTED, SteerOutcome.DELIVERY_UNKNOWN


def named(name: str, **rest: Any) -> Json:
    return {"protocolVersion": 1, "agentInfo": {"name": name, "version": "1"}, **rest}


def update(kind: str, **rest: Any) -> Json:
    return {"update": {"sessionUpdate": kind, **rest}}


def told(method: str, **params: Any) -> Json:
    return {"frame": {"jsonrpc": "2.0", "method": method, "params": {"sessionId": "$session", **params}}}


OPENCODE, HERMES, QWEN = named("OpenCode"), named("hermes-agent"), named("qwen-code")
GOOSE, KIRO = named("goose"), named("Kiro CLI Agent")
GROK: Json = {"protocolVersion": 1, "_meta": {"grokShell": True}}
TOOL = update("tool_call_update", toolCallId="t1", status="completed")


def steer_once(where: Path, script: Json, hello: Json, *, cancel: bool = False) -> Hearer:
    """One steer "use blue" when the turn has shown something; then the script goes on, and the turn ends."""

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(UpdateObservation)
        agent.steer("a", text())
        await move(agent)
        if cancel:
            agent.cancel()
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    return play(where, script, work, hello)


def turn(*after: Json) -> list[Json]:
    """A turn that speaks, goes on as it is told, and ends."""
    return [{"say": "working"}, {"wait": GO}, *after, *UNTIL_OVER]


def asked(where: Path) -> list[Json]:
    """What the agent was asked in its turn."""
    return [frame["params"] for frame in received(where)[1:] if "method" in frame]


# -- calls of their own ----------------------------------------------------------------------------------------------

RUN = update("session_info_update", _meta={"goose": {"activeRunId": "r7"}})
SHOWN = update("user_message_chunk", content={"type": "text", "text": "use blue"}, _meta={"goose": {"steer": True}})
STEERED_GOOSE: Json = {"_goose/unstable/session/steer": [{"result": {"runId": "r7", "messageId": "steer_1"}}]}


def test_goose_shows_a_steer_when_its_run_takes_it(tmp_path: Path) -> None:
    script = {"session/prompt": [RUN, *turn(SHOWN)], **STEERED_GOOSE}

    hearer = steer_once(tmp_path, script, GOOSE)

    blocks = [{"type": "text", "text": "use blue"}]
    assert asked(tmp_path) == [{"sessionId": "s1", "prompt": blocks, "expectedRunId": "r7"}]
    assert hearer.outcomes() == [("a", INJECTED)]
    shown = hearer.of(UpdateObservation)[2]
    assert hearer.results()["a"].response_sequence == shown.receive_sequence  # what proves it is what settles it
    assert hearer.all.index(shown) > hearer.all.index(hearer.of(SteerObservation)[0])


@pytest.mark.parametrize(
    ("prompt", "answer", "outcome"),
    [
        ([RUN, *turn()], {"result": {"runId": "r7", "messageId": "steer_1"}}, UNKNOWN),  # discarded with its run
        ([RUN, *turn()], {"error": {"code": -32602, "message": "Invalid params"}}, FALLBACK),
        ([RUN, *turn()], {"result": {}}, UNKNOWN),
        (turn(), {"result": {"messageId": "steer_1"}}, UNSUPPORTED),
        (
            [RUN, update("session_info_update", _meta={"goose": {"activeRunId": None}}), *turn()],
            {"result": {"messageId": "steer_1"}},
            UNSUPPORTED,
        ),
    ],
)
def test_goose_is_believed_only_for_the_run_that_it_named(
    tmp_path: Path, prompt: list[Json], answer: Json, outcome: SteerOutcome
) -> None:
    script = {"session/prompt": prompt, "_goose/unstable/session/steer": [answer]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(UpdateObservation, len([step for step in prompt if "update" in step or "say" in step]))
        agent.steer("a", text())
        await move(agent)
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work, GOOSE)

    assert hearer.outcomes() == [("a", outcome)]
    assert ("_goose/unstable/session/steer" in methods(tmp_path)) == (outcome is not UNSUPPORTED)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"result": {}}, INJECTED),
        ({"error": {"code": -32600, "message": "no active prompt"}}, FALLBACK),
        ({"error": {"code": -32603, "message": "Internal error"}}, UNKNOWN),
        ({"result": None}, UNKNOWN),
    ],
)
def test_reasonix_accepts_or_says_that_it_is_idle(tmp_path: Path, answer: Json, outcome: SteerOutcome) -> None:
    hello = {"protocolVersion": 1, "agentCapabilities": {"_meta": {"reasonix.io": {"sessionSteer": True}}}}

    hearer = steer_once(tmp_path, {"session/prompt": turn(), "_reasonix.io/session/steer": [answer]}, hello)

    assert hearer.outcomes() == [("a", outcome)]


def test_kimchi_takes_a_string_and_nothing_but_text(tmp_path: Path) -> None:
    hello = {
        "protocolVersion": 1,
        "agentCapabilities": {"_meta": {"kimchi.dev": {"steering": True}}, "promptCapabilities": {"image": True}},
    }
    script = {"session/prompt": turn(), "_kimchi.dev/steering": [{"result": {"status": "injected"}}]}
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.steer("picture", SteerRequest([picture]))
        agent.steer("words", text())
        await hearer.first(SteerObservation, 2)
        await move(agent)
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work, hello)

    assert hearer.outcomes() == [("picture", UNSUPPORTED), ("words", INJECTED)]
    assert asked(tmp_path) == [{"sessionId": "s1", "prompt": "use blue"}]


def consumed(words: str, kind: str = "AgentExecutionSteeringInjected", session: str = "$session") -> Json:
    news = {"sessionUpdate": kind, "messageId": "m1", "content": words}
    return told("_kiro.dev/session/update", sessionId=session, update=news)


@pytest.mark.parametrize(
    ("after", "outcome"),
    [
        ([consumed("use blue")], INJECTED),
        ([update("steering_consumed", content="use blue")], INJECTED),
        ([consumed("one of an earlier turn")], UNKNOWN),
        ([consumed("use blue", session="of a child")], UNKNOWN),
        ([consumed("use blue", "AgentExecutionUserMessageQueued")], UNKNOWN),
        ([TOOL], UNKNOWN),
        ([], UNKNOWN),
    ],
)
def test_kiro_says_when_it_has_consumed_it(tmp_path: Path, after: list[Json], outcome: SteerOutcome) -> None:
    script = {"session/prompt": turn(*after), "_session/steer": [{"result": {"queued": True}}]}

    hearer = steer_once(tmp_path, script, KIRO)

    assert asked(tmp_path) == [{"sessionId": "s1", "message": "use blue"}]
    assert hearer.outcomes() == [("a", outcome)]


def test_kiro_may_consume_it_before_it_answers_and_after_a_cancel(tmp_path: Path) -> None:
    early = {"session/prompt": turn(), "_session/steer": [consumed("use blue"), {"result": {"queued": True}}]}
    late = {
        "session/prompt": turn(),
        "session/cancel": [consumed("use blue"), {"wait": OVER}, {"result": {"stopReason": "cancelled"}}],
        "_session/steer": [{"result": {"queued": True}}],
    }

    assert steer_once(tmp_path, early, KIRO).outcomes() == [("a", INJECTED)]
    assert steer_once(tmp_path, late, KIRO, cancel=True).outcomes() == [("a", INJECTED)]


def test_what_kiro_has_acknowledged_holds_up_nothing_behind_it(tmp_path: Path) -> None:
    script = {
        "session/prompt": [{"wait": GO}, consumed("red"), consumed("blue"), *UNTIL_OVER],
        "_session/steer": [{"say": "queued"}, {"result": {"queued": True}}],
    }

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        for colour in ("blue", "red", "green"):
            agent.steer(colour, text(colour))
        await hearer.first(UpdateObservation, 3)
        await move(agent)
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work, KIRO)

    assert hearer.outcomes() == [("red", INJECTED), ("blue", INJECTED), ("green", UNKNOWN)]


CHILDS_TOOL = told("session/update", sessionId="of a child", update=TOOL["update"])
ECHO = told("_x.ai/session/interjection", text="use blue", interjectionId="a")


@pytest.mark.parametrize(
    ("after", "outcome"),
    [
        ([ECHO, TOOL], INJECTED),
        ([ECHO, CHILDS_TOOL], UNKNOWN),
        ([ECHO], UNKNOWN),  # it comes for a message too that begins a turn of its own
        ([ECHO, {"say": "the rest of what it was saying"}], UNKNOWN),
        ([], UNKNOWN),
    ],
)
def test_grok_looks_for_what_is_queued_when_a_tool_has_ended(
    tmp_path: Path, after: list[Json], outcome: SteerOutcome
) -> None:
    script = {"session/prompt": turn(*after), "_x.ai/interject": [{"result": {"status": "queued"}}]}

    hearer = steer_once(tmp_path, script, GROK)

    assert asked(tmp_path) == [{"sessionId": "s1", "text": "use blue", "interjectionId": "a"}]
    assert hearer.outcomes() == [("a", outcome)]


# -- a second prompt -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "hello",
    [
        OPENCODE,
        named("OpenHands CLI ACP Agent"),
        {"protocolVersion": 1, "authMethods": [{"id": "cursor_login", "name": "Cursor"}]},
    ],
)
def test_a_turn_with_a_second_prompt_lasts_until_both_are_answered(tmp_path: Path, hello: Json) -> None:
    second = [{"say": "both"}, {"result": {"stopReason": "end_turn", "usage": {"inputTokens": 2}}}]
    script = {"session/prompt": [[{"say": "working"}, {"wait": GO}, END], [{"wait": OVER}, *second]]}

    hearer = steer_once(tmp_path, script, hello)

    assert hearer.kinds() == ["UpdateObservation", "UpdateObservation", "SteerObservation", "PromptObservation"]
    assert hearer.outcomes() == [("a", INJECTED)]
    assert hearer.of(PromptObservation)[0].result["usage"] == {"inputTokens": 2}


def test_several_prompts_may_be_in_one_turn(tmp_path: Path) -> None:
    script = {"session/prompt": [[{"wait": OVER}, END], [{"say": "got it"}, {"wait": OVER}, END]]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        for colour in ("blue", "red", "green"):
            agent.steer(colour, text(colour))
        await hearer.first(UpdateObservation, 3)
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work, OPENCODE)

    assert hearer.outcomes() == [("blue", INJECTED), ("red", INJECTED), ("green", INJECTED)]
    assert len(hearer.of(PromptObservation)) == 1


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"error": {"code": -32600, "message": "another turn is already in progress"}}, FALLBACK),
        ({"error": {"code": -32603, "message": "Internal error"}}, UNKNOWN),
        ({"result": {"stopReason": "cancelled"}}, UNKNOWN),
        ({"result": {"stopReason": "refusal"}}, UNKNOWN),
        ({"result": {"stopReason": "max_turn_requests"}}, UNKNOWN),
    ],
)
def test_a_second_prompt_that_was_not_served_to_its_end(tmp_path: Path, answer: Json, outcome: SteerOutcome) -> None:
    script = {"session/prompt": [[{"say": "working"}, {"wait": OVER}, END], [{"wait": GO}, answer]]}

    hearer = steer_once(tmp_path, script, OPENCODE)

    assert hearer.outcomes() == [("a", outcome)]
    assert hearer.of(PromptObservation)[0].stop_reason == "end_turn"


def test_a_second_prompt_that_is_refused_late_is_not_how_the_turn_ended(tmp_path: Path) -> None:
    refused = {"error": {"code": -32600, "message": "busy"}}
    script = {"session/prompt": [[{"say": "working"}, {"wait": GO}, END], [{"wait": OVER}, refused]]}

    hearer = steer_once(tmp_path, script, OPENCODE)

    [end] = hearer.of(PromptObservation)
    assert (end.stop_reason, end.error) == ("end_turn", None)
    assert hearer.outcomes() == [("a", FALLBACK)]


def test_a_second_prompt_that_fails_after_the_first_is_how_the_turn_ended(tmp_path: Path) -> None:
    failed = {"error": {"code": -32603, "message": "Internal error"}}
    script = {"session/prompt": [[{"say": "working"}, {"wait": GO}, END], [{"wait": OVER}, failed]]}

    hearer = steer_once(tmp_path, script, OPENCODE)

    [end] = hearer.of(PromptObservation)
    assert (end.stop_reason, end.error.code) == ("", "agent-refused")
    assert hearer.outcomes() == [("a", UNKNOWN)]


def test_a_turn_that_only_its_second_prompt_keeps_can_be_cancelled(tmp_path: Path) -> None:
    script = {"session/prompt": [[{"say": "working"}, {"wait": GO}, END], [{"wait": "never"}]]}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(UpdateObservation)
        agent.steer("a", text())
        await move(agent)
        assert not hearer.of(PromptObservation)
        agent.cancel()
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work, OPENCODE)

    assert hearer.outcomes() == [("a", UNKNOWN)]  # its text may stand in the history
    assert hearer.of(PromptObservation)[0].stop_reason == "cancelled"


QUEUED = [{"say": "Steer queued for the active turn"}, END]


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        (turn(TOOL), QUEUED, INJECTED),
        (turn({"say": "no tool any more"}), QUEUED, UNKNOWN),
        (turn(), [TOOL, *QUEUED], UNKNOWN),  # it ended before the message was queued
        ([{"say": "working"}, {"wait": GO}, END, TOOL, {"wait": OVER}], QUEUED, UNKNOWN),  # and after the turn
    ],
)
def test_hermes_brings_it_to_the_model_with_the_result_of_a_tool(
    tmp_path: Path, first: list[Json], second: list[Json], outcome: SteerOutcome
) -> None:
    hearer = steer_once(tmp_path, {"session/prompt": [first, second]}, HERMES)

    assert asked(tmp_path) == [{"sessionId": "s1", "prompt": [{"type": "text", "text": "/steer use blue"}]}]
    assert hearer.outcomes() == [("a", outcome)]
    assert hearer.of(PromptObservation)[0].stop_reason == "end_turn"


@pytest.mark.parametrize(
    ("hello", "script"),
    [
        (HERMES, {"session/prompt": [turn(), QUEUED]}),
        (GROK, {"session/prompt": turn(), "_x.ai/interject": [{"result": {"status": "queued"}}]}),
    ],
)
def test_a_tool_that_a_cancel_ended_proves_nothing(tmp_path: Path, hello: Json, script: Json) -> None:
    ends = {"session/cancel": [TOOL, {"wait": OVER}, {"result": {"stopReason": "cancelled"}}]}

    hearer = steer_once(tmp_path, {**script, **ends}, hello, cancel=True)

    assert hearer.outcomes() == [("a", UNKNOWN)]


def test_what_is_queued_after_a_cancel_was_sent_is_proved_by_nothing(tmp_path: Path) -> None:
    script = {
        "session/prompt": [{"say": "working"}, {"wait": "never"}],
        "session/cancel": [{"wait": OVER}, {"result": {"stopReason": "cancelled"}}],
        "_x.ai/interject": [{"wait": GO}, {"result": {"status": "queued"}}, TOOL],
    }

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(UpdateObservation)
        agent.steer("a", text())
        agent.cancel()
        await move(agent)
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work, GROK)

    assert hearer.outcomes() == [("a", UNKNOWN)]


def test_of_several_that_may_go_only_what_the_pipe_takes_is_handed_over(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    os.mkfifo(first)
    os.mkfifo(second)
    script = {
        "session/prompt": [
            [{"say": "working"}, {"hold": str(first)}, {"wait": OVER}, END],
            [{"say": "has one"}, {"hold": str(second)}, {"wait": OVER}, END],
            [{"wait": OVER}, END],
        ]
    }

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(UpdateObservation)
        agent.steer("one", text("x" * PIPE_BYTES))
        agent.steer("two", text("y" * 4 * PIPE_BYTES))
        agent.steer("three", text())
        await asyncio.to_thread(first.write_text, "")
        await hearer.first(UpdateObservation, 2)
        assert (agent.withdraw("two"), agent.withdraw("three")) == (False, True)
        await asyncio.to_thread(second.write_text, "")
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work, OPENCODE)

    assert hearer.outcomes() == [("three", FALLBACK), ("one", INJECTED), ("two", INJECTED)]


# -- an agent that asks ----------------------------------------------------------------------------------------------

DRAIN = {"request": "craft/drainMidTurnQueue", "params": {"sessionId": "$session"}, "id": "d1"}


def drained(where: Path) -> list[Json]:
    """What we answered to the agent's questions."""
    return [frame["result"] for frame in received(where) if "method" not in frame]


def test_STE_03_qwen_is_told_at_once_that_nothing_waits_and_nobody_else_is_asked(tmp_path: Path) -> None:
    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, {"session/prompt": [DRAIN, END]}, work, QWEN)

    assert drained(tmp_path) == [{"messages": [], "hasQueuedPrompt": False}]
    assert not hearer.of(Question)


@pytest.mark.parametrize(
    ("after", "outcome"),
    [
        ([DRAIN, {"say": "blue it is"}], INJECTED),
        ([DRAIN, update("agent_thought_chunk", content={"type": "text", "text": "blue"})], INJECTED),
        ([DRAIN, TOOL], UNKNOWN),
        ([DRAIN], UNKNOWN),
        ([{"say": "not asked"}], FALLBACK),
    ],
)
def test_qwen_says_what_it_says_next_with_what_it_asked_for(
    tmp_path: Path, after: list[Json], outcome: SteerOutcome
) -> None:
    hearer = steer_once(tmp_path, {"session/prompt": turn(*after)}, QWEN)

    assert hearer.outcomes() == [("a", outcome)]
    assert hearer.results()["a"].write_admitted == (outcome is not FALLBACK)
    assert drained(tmp_path) == [{"messages": ["use blue"], "hasQueuedPrompt": False}] * (outcome is not FALLBACK)


def test_qwen_gets_nothing_while_it_does_not_read(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    os.mkfifo(first)
    os.mkfifo(second)
    question = {"jsonrpc": "2.0", "id": "q", "method": "_test/question", "params": {}}
    drain = {"jsonrpc": "2.0", "id": "d1", "method": "craft/drainMidTurnQueue", "params": {"sessionId": "$session"}}
    holds = [{"hold": str(first)}, {"frame": drain}, {"say": "asked"}, {"hold": str(second)}]

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        agent.reply((await hearer.first(Question)).key, {"fill": "x" * 4 * PIPE_BYTES})
        agent.steer("a", text())
        await asyncio.to_thread(first.write_text, "")
        await hearer.first(UpdateObservation)
        assert agent.withdraw("a")
        await asyncio.to_thread(second.write_text, "")
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, {"session/prompt": [{"frame": question}, *holds, *UNTIL_OVER]}, work, QWEN)

    assert hearer.outcomes() == [("a", FALLBACK)]
    assert drained(tmp_path)[1:] == [{"messages": [], "hasQueuedPrompt": False}]


def test_qwen_gets_no_more_at_once_than_it_keeps(tmp_path: Path) -> None:
    again = {**DRAIN, "id": "d2"}
    script = {"session/prompt": turn(DRAIN, again, {"say": "all of them"})}

    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        begin(agent)
        for number in range(12):
            agent.steer(str(number), text(str(number)))
        await move(agent)
        await hearer.first(SteerObservation, 12)
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, script, work, QWEN)

    assert [len(answer["messages"]) for answer in drained(tmp_path)] == [10, 2]
    assert hearer.outcomes() == [(str(number), INJECTED) for number in range(12)]


# -- everybody else --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "gemini-cli", "Kimi Code CLI", "@mistralai/mistral-vibe", "cline", "codex-acp", "pi-acp", "fast-agent-acp",
        "oh-my-pi", "Copilot", "nobody knows",
    ],
)  # fmt: skip
def test_an_agent_without_a_lane_is_left_alone_in_its_turn(tmp_path: Path, name: str) -> None:
    async def work(agent: AcpAgent, hearer: Hearer) -> None:
        assert agent.facts.steering == ""
        begin(agent)
        agent.steer("a", text())
        await move(agent, OVER)
        await hearer.first(PromptObservation)

    hearer = play(tmp_path, {"session/prompt": UNTIL_OVER}, work, named(name))

    assert hearer.outcomes() == [("a", UNSUPPORTED)]
    assert methods(tmp_path) == ["session/prompt"]
