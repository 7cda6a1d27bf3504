"""The lines of the journal that a conversation writes."""

from __future__ import annotations

from json.encoder import encode_basestring
from typing import Any

from gzia.driver.observation import Notice, PromptObservation, UpdateObservation
from gzia.driver.steer import SteerResult
from gzia.driver.turn import Block
from gzia.errors import GziaError
from gzia.session.journal import Draft, draft, dumps, made
from gzia.session.notes import Note
from gzia.session.turns import Running


def asked(turn: Running) -> Draft:
    """A turn was asked for."""
    body: dict[str, Any] = {"input": "prompt", "blocks": list(turn.blocks)}
    return draft("input", turn.number, {**body, "steer_id": turn.steer_id} if turn.steer_id else body)


def started(turn: Running) -> Draft:
    """The agent is given the turn now."""
    return draft("turn", turn.number, {"state": "started"})


def cancel(turn: int | None) -> Draft:
    """Somebody asked to stop."""
    return draft("input", turn, {"input": "cancel"})


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


def tool_closed(id: str, order: int) -> UpdateObservation:
    """An update made here: the agent left this tool call open when its turn was stopped."""
    raw = {"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "failed", "_meta": {"gzia": {"made": True}}}
    event = {"kind": "tool_result", "id": id, "status": "failed", "is_error": True}
    return UpdateObservation(event, dumps(raw), 0, order)


def prompt(turn: Running, observation: PromptObservation) -> Draft:
    """The last line of a turn."""
    stop_reason = turn.stop_reason(observation)
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
    return draft("prompt", turn.number, {**body, **_told(observation.error)})


def dropped(turn: int, order: int) -> Draft:
    """The last line of a turn that was cancelled while it waited."""
    body = {
        "receive_sequence": 0, "response_sequence": 0, "order_sequence": order, "stop_reason": "cancelled",
        "message": "", "write_admitted": False,
    }  # fmt: skip
    return draft("prompt", turn, body)


# -- steers ------------------------------------------------------------------------------------------------------------


def steer_asked(steer_id: str, blocks: list[Block], fallback: str, turn: int | None) -> Draft:
    """Somebody wants a message in the running turn."""
    return draft("input", turn, {"input": "steer", "steer_id": steer_id, "blocks": blocks, "fallback": fallback})


def steer(steer_id: str, result: SteerResult, error: GziaError | None, turn: int | None) -> Draft:
    """What became of it."""
    body = {
        "steer_id": steer_id,
        "receive_sequence": result.receive_sequence,
        "response_sequence": result.response_sequence,
        "order_sequence": result.order_sequence,
        "outcome": result.outcome,
        "write_admitted": result.write_admitted,
        "reason": result.reason,
    }
    return draft("steer", turn, {**body, **_told(error)})


def steer_note(steer_id: str, note: Note, turn: int | None) -> Draft:
    """What a turn that has ended showed of an injected one."""
    return draft("steer_note", turn, {"steer_id": steer_id, **note._asdict()})


def untracked(steer_id: str) -> Draft:
    """The agent began a turn of its own with this steer: no prompt will be answered when it ends."""
    return draft("session", None, {"state": "untracked-turn", "steer_id": steer_id})


def untracked_ended(steer_id: str, stop_reason: str) -> Draft:
    """That turn runs no more; ``stop_reason`` is empty when its agent is gone."""
    return draft("session", None, {"state": "untracked-turn-ended", "steer_id": steer_id, "stop_reason": stop_reason})


def _told(error: GziaError | None) -> dict[str, Any]:
    return error.document() if error else {}
