"""Whether an agent acted on a message that it said to have put into its turn.

Measured with claude-agent-acp 0.101.0 and codex-acp 2.6.0, the model's server as witness.  Codex says ``injected`` in
the last milliseconds of a turn and ends it without another word of the model (69 of the 69 that were lost).  Whenever
something began after the answer, in a turn that ended as usual, the model had the message (1552 of 1552).  After a
cancel nothing can be told: the model had 201 of 1890 in their turn, and with claude more of them in a call of its own
when the turn had been answered.

A word after the answer is no sign by itself: it may be the rest of a message that began before.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from gzia.driver.observation import UpdateObservation

MESSAGE, THOUGHT = "agent_message_chunk", "agent_thought_chunk"
SPEECH = {MESSAGE: "the agent spoke", THOUGHT: "the agent thought"}
DELTAS = {"text_delta": MESSAGE, "thinking_delta": THOUGHT}
SILENCE = "no agent output between ack and end_turn"
WENT_ON = "the agent went on with what it had begun before, as far as can be told"


class Note(NamedTuple):
    """``acted``: ``unlikely`` is a turn that ended as usual and showed nothing; ``evidence`` says why, for people."""

    acted: Literal["yes", "unlikely", "unknown"]
    evidence: str


class Shown(NamedTuple):
    """What an update shows: ``is_new`` when the model must have been asked again for it."""

    is_new: bool
    what: str


@dataclass(slots=True)
class Begun:
    """What the agent has begun in a turn so far."""

    tools: set[str] = field(default_factory=set)
    _speech: str = ""  # its latest words, as the raw update; read only when it matters
    _has_paused: bool = False  # a tool came since

    def spoke(self, raw: str) -> None:
        """It said or thought something; ``raw`` is the update."""
        self._speech, self._has_paused = raw, False

    def used(self, tool: str) -> None:
        """It told something of a tool call."""
        self.tools.add(tool)
        self._has_paused = True

    def goes_on(self, update: dict[str, Any]) -> bool:
        """Whether words continue what it was saying.  Without ids, a tool or a thought ends a message."""
        if not self._speech:
            return False
        last = json.loads(self._speech)
        if update.get("messageId"):
            return bool(update["messageId"] == last.get("messageId"))
        is_second_thought = (last["sessionUpdate"], update["sessionUpdate"]) == (MESSAGE, THOUGHT)
        return not (self._has_paused or is_second_thought)


def evidence(item: UpdateObservation, begun: Begun, since: str = "the ack") -> Shown | None:
    """What an update after ``since`` shows of the message being acted on; ``begun`` is what came before it."""
    event = item.event
    name = DELTAS.get(event["kind"], event.get("update", ""))
    if name in SPEECH:
        if event.get("text") == "":
            return None
        if begun.goes_on(json.loads(item.text)):
            return Shown(False, WENT_ON)
        return Shown(True, f"{SPEECH[name]} after {since}, at {item.receive_sequence}")
    if event["kind"] == "other" or event["id"] in begun.tools or json.loads(item.text)["sessionUpdate"] != "tool_call":
        return None
    return Shown(True, f"the agent began the tool call {event['id']} after {since}, at {item.receive_sequence}")


def judge(shown: Shown | None, stop_reason: str, *, failed: bool) -> Note:
    """The note for a turn that ended so."""
    if failed:
        return Note("unknown", "the turn failed")
    if stop_reason == "cancelled":
        return Note("unknown", "the turn was cancelled")
    if stop_reason != "end_turn":
        return Note("unknown", f"the turn ended early: {stop_reason}")
    if shown is None:
        return Note("unlikely", SILENCE)
    return Note("yes" if shown.is_new else "unknown", shown.what)
