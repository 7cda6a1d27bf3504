"""Whether an agent acted on a message that it said to have put into its turn.

Measured: agents answer ``injected`` in the last milliseconds of a turn and then end it without another word of the
model; and after a cancel no such answer means anything.  So the evidence counts, not the answer.
"""

from __future__ import annotations

import json
from collections.abc import Container
from typing import Literal, NamedTuple

from gzia.driver.observation import UpdateObservation

SPEECH = {"agent_message_chunk": "the agent spoke", "agent_thought_chunk": "the agent thought"}
DELTAS = {"text_delta": "agent_message_chunk", "thinking_delta": "agent_thought_chunk"}
SILENCE = "no agent output between ack and end_turn"


class Note(NamedTuple):
    """``acted``: ``unlikely`` is a turn that ended as usual and showed nothing; ``evidence`` says why, for people."""

    acted: Literal["yes", "unlikely", "unknown"]
    evidence: str


def evidence(item: UpdateObservation, begun: Container[str]) -> str:
    """What an update after the agent's answer shows of the message being acted on; empty: nothing.

    ``begun`` are the tool calls of this turn before it: what they still tell was under way already.
    """
    event = item.event
    kind = event["kind"]
    if kind in DELTAS:
        return _at(SPEECH[DELTAS[kind]], item) if event["text"] else ""
    if kind == "other":
        return _at(SPEECH[event["update"]], item) if event.get("update") in SPEECH else ""
    if event["id"] in begun or json.loads(item.text)["sessionUpdate"] != "tool_call":
        return ""
    return _at(f"the agent began the tool call {event['id']}", item)


def judge(shown: str, stop_reason: str, *, failed: bool) -> Note:
    """The note for a turn that ended so; ``shown`` is its first :func:`evidence`."""
    if failed:
        return Note("unknown", "the turn failed")
    if stop_reason == "cancelled":
        return Note("unknown", "the turn was cancelled")
    if shown:
        return Note("yes", shown)
    if stop_reason == "end_turn":
        return Note("unlikely", SILENCE)
    return Note("unknown", f"the turn ended early: {stop_reason}")


def _at(what: str, item: UpdateObservation) -> str:
    return f"{what} after the ack, at {item.receive_sequence}"
