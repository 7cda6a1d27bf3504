"""A turn as a stream that is read: what comes, in which order, and what it costs who does not read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gzia.driver.errors import DecodeError, ExitError, HistoryError, SpawnError
from gzia.driver.observation import Observation, PromptObservation, SteerObservation, UpdateObservation
from gzia.driver.steer import SteerOutcome, SteerRequest, SteerResult
from gzia.driver.stream import Closer, Event, History, Kind, OrderedStream, Step, Stream, ToolCall
from gzia.session.conversation import Conversation
from gzia.session.layout import Layout
from gzia.session.stream import spawn
from tests.session.fake import Able, Stage, played
from tests.session.live import ID, say, talk

T = TypeVar("T")
CAN = {"steering": {"supported": True, "idleBehaviors": ["promptRequired"]}}
HELLO = {"result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "_meta": CAN}}
DONE = {"result": {"stopReason": "end_turn"}}
MORE = SteerRequest(say("more"))
TOOL = {"update": {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Look", "status": "pending"}}
FOUND = {"type": "content", "content": {"type": "text", "text": "three files"}}
LOOKED = {
    "update": {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed", "content": [FOUND]}
}


def prompt(*steps: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"initialize": [HELLO], "session/prompt": [*steps], **others}


def journal(where: Path) -> Path:
    return Layout(where).journal(ID)


async def all_of(stream: AsyncIterator[T]) -> list[T]:
    return [one async for one in stream]


async def observed(conversation: Conversation) -> list[Observation]:
    return await all_of(spawn(conversation, say()).observations())


async def told(conversation: Conversation) -> list[Event]:
    return await all_of(spawn(conversation, say()).events())


def last(found: list[Observation]) -> PromptObservation:
    assert isinstance(found[-1], PromptObservation)
    assert not [one for one in found[:-1] if isinstance(one, PromptObservation)]
    return found[-1]


def test_a_turn_is_a_stream_in_the_sense_of_the_contract(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> tuple[bool, bool]:
        stream = spawn(conversation, say())
        as_stream: Stream = stream
        await as_stream.close()
        return isinstance(stream, OrderedStream), isinstance(conversation, Closer)

    assert talk(tmp_path, {}, work) == (True, True)


# -- the two projections -----------------------------------------------------------------------------------------------


def test_the_events_of_a_turn_tell_its_steps_and_end_with_the_answer(tmp_path: Path) -> None:
    script = prompt({"say": "let me "}, {"say": "see"}, TOOL, LOOKED, {"say": "done"}, DONE)

    assert talk(tmp_path, script, told) == [
        Event(Kind.INIT),
        Event(Kind.TEXT_DELTA, "let me "),
        Event(Kind.TEXT_DELTA, "see"),
        Event(Kind.TOOL_USE, "Look", "t1"),
        Event(Kind.TOOL_RESULT, "three files", "t1"),
        Event(Kind.STEP_COMPLETE),
        Event(Kind.TEXT_DELTA, "done"),
        Event(Kind.STEP_COMPLETE),
        Event(Kind.TERMINAL_OK, "done", stop_reason="end_turn"),
    ]


def test_observations_are_in_order_and_a_steer_comes_before_the_end_of_its_turn(tmp_path: Path) -> None:
    script = prompt(
        {"say": "a"}, {"wait": "_session/steering"}, {"say": "b"}, DONE,
        **{"_session/steering": [{"result": {"outcome": "injected"}}]},
    )  # fmt: skip

    async def work(conversation: Conversation) -> tuple[list[Observation], SteerResult]:
        stream = spawn(conversation, say())
        first = await anext(stream.observations())
        result = await stream.steer(MORE)
        return [first, *await all_of(stream.observations())], result

    found, result = talk(tmp_path, script, work)

    assert [type(one) for one in found].count(SteerObservation) == 1
    assert SteerObservation("s1", result) in found
    assert result.validate().outcome is SteerOutcome.INJECTED
    assert [one.event["text"] for one in found if isinstance(one, UpdateObservation)] == ["a", "b"]
    assert last(found).stop_reason == "end_turn"
    assert (last(found).result, last(found).write_admitted, last(found).error) == (
        {"stopReason": "end_turn"},
        True,
        None,
    )
    orders = [one.order_sequence for one in found]
    assert orders == sorted(orders)


def test_an_update_is_told_as_the_agent_sent_it(tmp_path: Path) -> None:
    raw = '{"sessionUpdate":"agent_message_chunk", "content":{"type":"text","text":"a"}, "_meta":{"x":1.50}}'
    line = f'{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"$session","update":{raw}}}}}\n'

    found = talk(tmp_path, prompt({"raw": line.replace("$session", "s1")}, DONE), observed)

    assert [one.text for one in found if isinstance(one, UpdateObservation)] == [raw]


@pytest.mark.parametrize("first", ["events", "observations"])
def test_only_the_projection_that_was_asked_for_first_carries_anything(tmp_path: Path, first: str) -> None:
    second = {"events": "observations", "observations": "events"}[first]

    async def work(conversation: Conversation) -> tuple[bool, list[Any], bool]:
        stream = spawn(conversation, say())
        chosen, other = getattr(stream, first)(), getattr(stream, second)()
        return bool(await all_of(chosen)), await all_of(other), getattr(stream, first)() is chosen

    assert talk(tmp_path, {}, work) == (True, [], True)


def test_each_turn_has_a_stream_of_its_own(tmp_path: Path) -> None:
    script = {"session/prompt": [[{"say": "one"}, DONE], [{"say": "two"}, DONE]]}

    async def work(conversation: Conversation) -> list[list[Event]]:
        first = spawn(conversation, say())
        events = await all_of(first.events())
        second = spawn(conversation, say())
        return [events, await all_of(second.events())]

    found = talk(tmp_path, script, work)

    assert [[one.text for one in events if one.kind is Kind.TEXT_DELTA] for events in found] == [["one"], ["two"]]


# -- readers that are slow, late or gone -------------------------------------------------------------------------------


def test_who_reads_only_after_the_end_misses_nothing_and_memory_holds_a_part_of_it(tmp_path: Path) -> None:
    async def work(stage: Stage) -> tuple[list[Observation], int]:
        stream = spawn(stage.conversation, say())
        for at in range(24):
            stage.agent.says(f"{at} " + "x" * (1 << 20))
        stage.agent.answers()
        oldest = stage.journal.oldest_remembered
        return await all_of(stream.observations()), oldest

    found, oldest = played(tmp_path, work)

    assert oldest > 10  # the beginning was on the disk only
    words = [one.event["text"].split()[0] for one in found if isinstance(one, UpdateObservation)]
    assert words == [str(at) for at in range(24)]
    assert last(found).error is None


def test_lines_that_were_lost_before_they_were_read_are_told(tmp_path: Path) -> None:
    async def work(stage: Stage) -> list[Observation]:
        stream = spawn(stage.conversation, say())
        for _ in range(24):
            stage.agent.says("x" * (1 << 20))
        stage.agent.answers()
        whole = journal(tmp_path).read_bytes()
        journal(tmp_path).write_bytes(whole[: 3 << 20] + b"\n" + whole[1 + (3 << 20) :])
        found = await all_of(stream.observations())
        journal(tmp_path).write_bytes(whole)  # what the stage looks at in the end
        return found

    error = last(played(tmp_path, work)).error

    assert isinstance(error, DecodeError)
    assert error.code == "journal-damaged"


def test_a_reader_that_gives_up_can_come_back(tmp_path: Path) -> None:
    async def work(stage: Stage) -> list[Event]:
        stream = spawn(stage.conversation, say())
        events = [await anext(stream.events())]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(stream.events()), 0.01)
        stage.agent.says("a")
        stage.agent.answers()
        return events + await all_of(stream.events())

    assert [one.kind for one in played(tmp_path, work)] == [
        Kind.INIT, Kind.TEXT_DELTA, Kind.STEP_COMPLETE, Kind.TERMINAL_OK,
    ]  # fmt: skip


# -- ends that are not good --------------------------------------------------------------------------------------------


def test_an_agent_that_ends_is_an_exit_error_with_its_status(tmp_path: Path) -> None:
    error = last(talk(tmp_path, prompt({"say": "a"}, {"exit": 7}), observed)).error

    assert isinstance(error, ExitError)
    assert (error.code, error.exit_code) == ("agent-exited", 7)


def test_an_agent_that_cannot_be_started_again_is_a_spawn_error(tmp_path: Path) -> None:
    async def work(conversation: Conversation) -> list[Observation]:
        await all_of(spawn(conversation, say()).events())
        return await observed(conversation)

    found = last(talk(tmp_path, prompt({"exit": 7}, **{"session/load": [{"exit": 9}]}), work))

    assert isinstance(found.error, SpawnError)
    assert (found.error.code, found.write_admitted) == ("agent-exited", False)


def test_an_answer_that_cannot_be_read_is_a_decode_error_and_a_model_may_be_told_of_the_line(tmp_path: Path) -> None:
    script = prompt({"raw": '{"jsonrpc":"2.0","id":$id,"result":/home/ann\n'}, {"raw": "{"})
    script["session/prompt"] = [{"raw": '{"jsonrpc":"2.0","result":NaN}\n'}]

    def both(where: Path) -> tuple[list[Observation], list[Event]]:
        return talk(where / "a", script, observed), talk(where / "b", script, told)

    observations, events = both(tmp_path)

    assert isinstance(last(observations).error, DecodeError)
    assert [one.kind for one in events] == [Kind.INIT, Kind.MODEL_FACING_ERROR, Kind.TERMINAL_ERROR]
    assert events[-1].is_error


def test_what_an_agent_refuses_is_an_error_for_people_only(tmp_path: Path) -> None:
    script = prompt({"error": {"code": -32603, "message": "see /var/log"}})

    events = talk(tmp_path, script, told)

    assert [one.kind for one in events] == [Kind.INIT, Kind.TERMINAL_ERROR]
    assert "see /var/log" in events[-1].text


def test_a_turn_whose_end_cannot_be_written_ends_all_the_same(tmp_path: Path) -> None:
    async def work(stage: Stage) -> list[Observation]:
        stream = spawn(stage.conversation, say())
        stage.agent.says("a")
        reading = asyncio.ensure_future(all_of(stream.observations()))
        await asyncio.sleep(0)
        stage.journal.is_full = True
        stage.agent.says("b")
        found = await reading
        stage.journal.is_full = False
        return found

    found = played(tmp_path, work)

    error = last(found).error
    assert error is not None
    assert error.code == "journal-not-writable"
    assert [one.order_sequence for one in found] == [1, 2]


def test_a_turn_is_not_started_beside_another_nor_in_a_session_that_is_closed(tmp_path: Path) -> None:
    async def work(stage: Stage) -> list[str]:
        first = spawn(stage.conversation, say())
        codes = []
        for _ in range(2):
            with pytest.raises(SpawnError) as caught:
                spawn(stage.conversation, say())
            codes.append(caught.value.code)
            await stage.conversation.close()
        await first.close()
        return codes

    assert played(tmp_path, work) == ["session-busy", "session-closed"]


# -- stopping and steering ---------------------------------------------------------------------------------------------


def test_close_cancels_the_turn_once_and_its_end_is_still_observed(tmp_path: Path) -> None:
    async def work(stage: Stage) -> tuple[list[Observation], int]:
        stream = spawn(stage.conversation, say())
        closing = [asyncio.ensure_future(stream.close()) for _ in range(2)]
        await asyncio.sleep(0)
        stage.agent.answers("cancelled")
        await asyncio.gather(*closing)
        await stream.close()
        return await all_of(stream.observations()), stage.agent.cancels

    found, cancels = played(tmp_path, work)

    assert (last(found).stop_reason, cancels) == ("cancelled", 1)


def test_close_after_the_end_cancels_nobody_elses_turn(tmp_path: Path) -> None:
    async def work(stage: Stage) -> int:
        first = spawn(stage.conversation, say())
        stage.agent.answers()
        second = spawn(stage.conversation, say())
        await first.close()
        stage.agent.answers()
        await second.close()
        return stage.agent.cancels

    assert played(tmp_path, work) == 0


def test_a_steer_reaches_only_its_own_turn(tmp_path: Path) -> None:
    async def work(stage: Stage) -> tuple[SteerResult, dict[str, Any]]:
        first = spawn(stage.conversation, say())
        stage.agent.answers()
        second = spawn(stage.conversation, say())
        result = await first.steer(MORE)
        stage.agent.answers()
        await second.close()
        return result, stage.agent.steers

    result, given = played(tmp_path, work)

    assert (result.validate().outcome, given) == (SteerOutcome.UNSUPPORTED, {})


def test_who_gives_up_waiting_for_a_steer_takes_it_back(tmp_path: Path) -> None:
    async def work(stage: Stage) -> list[Observation]:
        stream = spawn(stage.conversation, say())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(stream.steer(MORE), 0.01)
        stage.agent.answers()
        return await all_of(stream.observations())

    found = played(tmp_path, work, kind=Able)

    assert [(one.steer_id, one.result.outcome) for one in found if isinstance(one, SteerObservation)] == [
        ("s1", SteerOutcome.FALLBACK_REQUIRED)
    ]


# -- history -----------------------------------------------------------------------------------------------------------


def test_the_history_tells_each_message_and_what_came_of_it(tmp_path: Path) -> None:
    script = {
        "initialize": [HELLO],
        "session/prompt": [
            [{"say": "let me "}, {"say": "see"}, TOOL, LOOKED, DONE],
            [{"say": "a"}, {"wait": "session/set_mode"}, {"say": "b"}, DONE],
        ],
        "_session/steering": [[{"result": {"outcome": "injected"}}]],
    }

    async def work(conversation: Conversation) -> History:
        await all_of(spawn(conversation, say("look")).events())
        image = {"type": "image", "data": "", "mimeType": "image/png"}
        second = spawn(conversation, [*say("go on"), image])
        await anext(second.observations())
        await second.steer(MORE)
        await conversation.call("session/set_mode", {"modeId": "any"})
        await all_of(second.observations())
        return await second.history()

    assert talk(tmp_path, script, work) == History(
        (
            Step("look", "let me see", (ToolCall("t1", "Look", "completed"),)),
            Step("go on\n[image]", "a", ()),
            Step("more", "b", ()),
        )
    )


@pytest.mark.parametrize("harm", ["a line that is none", "a line that is missing", "the file is gone", "it is no file"])
def test_a_history_with_a_hole_is_an_error(tmp_path: Path, harm: str) -> None:
    async def work(stage: Stage) -> None:
        stream = spawn(stage.conversation, say())
        stage.agent.says("a")
        stage.agent.answers()
        path = journal(tmp_path)
        found = path.read_bytes().splitlines(keepends=True)
        if harm == "a line that is none":
            found[2] = b"{\n"
        elif harm == "a line that is missing":
            del found[2]
        path.unlink()
        if harm == "it is no file":
            path.mkdir()
        elif harm != "the file is gone":
            path.write_bytes(b"".join(found))
        with pytest.raises(HistoryError):
            await stream.history()
        if path.is_dir():
            path.rmdir()
        path.write_bytes(b"")  # what the stage looks at in the end

    played(tmp_path, work, crash=True)
