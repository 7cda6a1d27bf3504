"""Compares what a session did with what its vector tells, and with the rules that hold for every session.

Pure; ../README.md tells the format.  ``judge`` gives one sentence for everything that is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

Json = dict[str, Any]

ALWAYS = ("input", "turn", "prompt", "steer", "steer_note", "permission")  # kinds that a vector tells in full
OPENING = ("initialize", "authenticate", "session/new", "session/load", "session/resume", "session/close")
SETTINGS = ("session/set_mode", "session/set_config_option", "session/set_model")
TABLE = {  # outcome -> the pairs (write_admitted, is there a response) that can be true
    "injected": {(True, True)},
    "fallback_required": {(False, False), (True, True)},
    "unsupported": {(False, False)},
    "admission_unknown": {(False, False)},
    "delivery_unknown": {(True, False), (True, True)},
    "delivered_untrackable": {(True, True)},
}
RETRY_SAFE = ("fallback_required", "unsupported")


def judge(vector: Json, lines: list[Json], received: list[Json]) -> list[str]:
    """What is wrong; ``lines`` came from the program, ``received`` is what its agent got."""
    wanted = list(unfolded(vector["lines"]))
    journal = [line for line in lines if "kind" in line]
    problems = list(differences("line", wanted, [line for line in journal if is_told(line, wanted)]))
    if "errors" in vector:
        problems += differences("error line", vector["errors"], [line for line in lines if is_refusal(line)])
    if "received" in vector:
        asked = list(unfolded(vector["received"]))
        problems += differences("frame at the agent", asked, [frame for frame in received if is_of_a_turn(frame)])
    for unwanted in vector.get("never", []):
        problems += [f"must never come: {short(line)}" for line in journal if covers(line, unwanted)]
    return [*problems, *broken_rules(journal)]


def unfolded(entries: list[Json]) -> Iterator[Json]:
    """``{"repeat": [ENTRY, N]}`` stands for N times that entry."""
    for entry in entries:
        match entry:
            case {"repeat": [again, int(times)]}:
                yield from [again] * times
            case _:
                yield entry


def is_told(line: Json, wanted: list[Json]) -> bool:
    """Whether the vector tells all lines like this one."""
    kind = line["kind"]
    same = [one for one in wanted if one["kind"] == kind]
    return kind in ALWAYS or any(kind != "session" or one["state"] == line.get("state") for one in same)


def is_refusal(line: Json) -> bool:
    """Whether a line answers an input line with an error."""
    return "kind" not in line and covers(line, {"error": {}}) and "line" in line["error"]


def is_of_a_turn(frame: Json) -> bool:
    """Whether a frame is more than the opening of a conversation, its settings and its end."""
    return frame.get("method") not in OPENING + SETTINGS


def differences(what: str, wanted: list[Json], came: list[Json]) -> Iterator[str]:
    """Where two lists part; what follows would only repeat it."""
    for number, (one, other) in enumerate(zip(wanted, came, strict=False), 1):
        if not covers(other, one):
            yield f"{what} {number} should be: {short(one)}\n{' ' * 16}but came: {short(other)}"
            return
    for one in wanted[len(came) :]:
        yield f"{what} that did not come: {short(one)}"
    for other in came[len(wanted) :]:
        yield f"{what} too many: {short(other)}"


def covers(came: Any, wanted: Any) -> bool:
    """Objects may hold more than is wanted; everything else is equal, with its type: 1, 1.0, true and "1" differ."""
    if isinstance(wanted, dict):
        return isinstance(came, dict) and all(
            name in came and covers(came[name], part) for name, part in wanted.items()
        )
    if isinstance(wanted, list):
        same_length = isinstance(came, list) and len(came) == len(wanted)
        return same_length and all(covers(a, b) for a, b in zip(came, wanted, strict=True))
    return type(came) is type(wanted) and bool(came == wanted)


def short(line: Json) -> str:
    """A line or frame for a person."""
    dull = ("v", "at", "session", "record", "jsonrpc")
    text = json.dumps({name: value for name, value in line.items() if name not in dull}, ensure_ascii=False)
    return text if len(text) <= 400 else f"{text[:400]}…"


# -- rules of every session --------------------------------------------------------------------------------------------


def broken_rules(journal: list[Json]) -> Iterator[str]:
    """The rules of ../README.md, "What holds in every vector"."""
    yield from broken_numbers(journal)
    yield from broken_sequences(journal)
    for steer in of_kind(journal, "steer"):
        yield from broken_outcome(steer)
    for turn in of_kind(journal, "input", input="prompt"):
        if "steer_id" in turn:
            yield from broken_promise(journal, turn)
    yield from broken_pairs(journal)


def of_kind(journal: list[Json], kind: str, **members: Any) -> list[Json]:
    """The lines of a kind with these members."""
    return [line for line in journal if covers(line, {"kind": kind, **members})]


def broken_numbers(journal: list[Json]) -> Iterator[str]:
    """``n`` counts without gaps, in one session."""
    for before, line in pairwise(journal):
        if line.get("n") != before.get("n", 0) + 1:
            yield f"n must count up by 1: {short(line)}"
    if len({line.get("session") for line in journal}) > 1:
        yield "the lines name more than one session"
    yield from (f"v must be 1: {short(line)}" for line in journal if line.get("v") != 1)


def broken_sequences(journal: list[Json]) -> Iterator[str]:
    """What was received counts up, and the order never goes down, while one process of the agent runs."""
    received = order = 0
    for line in journal:
        if covers(line, {"kind": "session", "state": "agent-started"}):
            received = order = 0
        if "order_sequence" not in line:
            continue
        number, place = line["receive_sequence"], line["order_sequence"]
        if place < max(order, number):
            yield f"order_sequence must not go down, nor be below receive_sequence: {short(line)}"
        if number and number < received and line["kind"] == "update":
            yield f"receive_sequence must not go down: {short(line)}"
        order = place
        received = max(received, number) if line["kind"] == "update" else received


def broken_outcome(steer: Json) -> Iterator[str]:
    """The table of outcomes."""
    response = steer["response_sequence"]
    if (steer["write_admitted"], response != 0) not in TABLE.get(steer["outcome"], set()):
        yield f"outcome, write_admitted and response_sequence do not go together: {short(steer)}"
    if response != steer["receive_sequence"]:
        yield f"response_sequence must be receive_sequence: {short(steer)}"


def broken_promise(journal: list[Json], turn: Json) -> Iterator[str]:
    """Only what was certainly not delivered is sent again."""
    for steer in of_kind(journal, "steer", steer_id=turn["steer_id"]):
        if steer["outcome"] not in RETRY_SAFE:
            yield f"a steer that may have been delivered must not become a turn: {short(turn)}"


def broken_pairs(journal: list[Json]) -> Iterator[str]:
    """Each input has its one end, in its place."""
    for asked in of_kind(journal, "input", input="prompt"):
        if [line for line in of_kind(journal, "prompt", turn=asked["turn"]) if line["n"] > asked["n"]] == []:
            yield f"a turn without an end: {short(asked)}"
    for asked in of_kind(journal, "input", input="steer"):
        ends = of_kind(journal, "steer", steer_id=asked["steer_id"])
        if len(ends) != 1 or ends[0]["n"] < asked["n"]:
            yield f"a steer must have one steer line, after it: {short(asked)}"
    for steer in of_kind(journal, "steer"):
        notes = of_kind(journal, "steer_note", steer_id=steer["steer_id"])
        ends = of_kind(journal, "prompt", turn=steer["turn"])
        if any(end["n"] < steer["n"] for end in ends):
            yield f"a steer line after the end of its turn: {short(steer)}"
        if len(notes) != (steer["outcome"] == "injected") or any(
            note["n"] < end["n"] for note in notes for end in ends
        ):
            yield f"an injected steer, and no other, has one note after its turn: {short(steer)}"
