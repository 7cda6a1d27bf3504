"""The lines of the journal that a conversation writes."""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import Any

from gzia.driver.observation import Notice, PromptObservation, Sequencer, UpdateObservation
from gzia.session.journal import Draft, draft, dumps, made
from gzia.session.turns import Running


def update(item: UpdateObservation, turn: int | None, connection: int) -> Draft:
    """An update line; the raw update is spliced in untouched."""
    event, text, received, order = item
    if event["kind"] == "text_delta" and len(event) == 2:
        short = f'{{"kind":"text_delta","text":{encode_basestring(event["text"])}}}'
    else:
        short = dumps(event)
    fields = (
        f'"conn":{connection},"receive_sequence":{received},"order_sequence":{order},"event":{short},"update":{text}'
    )
    return made(Draft, ("update", turn, fields, text))


def notice(item: Notice, turn: int | None, connection: int) -> Draft:
    """A notification of the agent that is no update."""
    body = {"conn": connection, "receive_sequence": item.receive_sequence, "method": item.method, "params": item.params}
    return draft("notice", turn, body)


def tool_closed(id: str, sequencer: Sequencer) -> UpdateObservation:
    """An update made here: the agent left this tool call open when its turn was stopped."""
    raw = {"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "failed", "_meta": {"gzia": {"made": True}}}
    event = {"kind": "tool_result", "id": id, "status": "failed", "is_error": True}
    return UpdateObservation(event, dumps(raw), 0, sequencer.local())


def prompt(turn: Running, observation: PromptObservation, stop_reason: str) -> Draft:
    """The last line of a turn."""
    body: dict[str, Any] = {
        "receive_sequence": observation.receive_sequence,
        "response_sequence": observation.response_sequence,
        "order_sequence": observation.order_sequence,
        "stop_reason": stop_reason,
        "message": turn.message,
        "write_admitted": observation.write_admitted,
    }
    if stop_reason != observation.stop_reason:
        body["agent_stop_reason"] = observation.stop_reason
    if observation.result.get("usage"):
        body["usage"] = observation.result["usage"]
    return draft("prompt", turn.number, {**body, **(observation.error.document() if observation.error else {})})
