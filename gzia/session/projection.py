"""Lines of the journal as an embedding program wants them (:mod:`gzia.driver.stream`)."""

from __future__ import annotations

from typing import Any

from gzia.driver.observation import SteerObservation
from gzia.driver.steer import SteerOutcome, SteerResult
from gzia.driver.stream import Event, Kind
from gzia.errors import GziaError

PREVIEW = 1024  # characters of a tool's result


def event(line: dict[str, Any]) -> Event | None:
    """An update as a plain event; None for what is none."""
    short = line["event"]
    match short["kind"]:
        case "text_delta" | "thinking_delta":
            return Event(Kind(short["kind"]), short["text"])
        case "tool_use":
            return Event(Kind.TOOL_USE, short.get("title", ""), short["id"])
        case "tool_result":
            return Event(Kind.TOOL_RESULT, preview(line["update"]), short["id"], is_error=short["is_error"])
    return None


def preview(update: dict[str, Any]) -> str:
    """The beginning of the text that a tool gave."""
    content = update.get("content")
    for part in content if isinstance(content, list) else []:
        inner = part.get("content") if isinstance(part, dict) else None
        if isinstance(inner, dict) and isinstance(inner.get("text"), str):
            return str(inner["text"][:PREVIEW])
    return ""


def steered(line: dict[str, Any]) -> SteerObservation:
    """What a steer line tells."""
    result = SteerResult(
        SteerOutcome(line["outcome"]), line["reason"], line["write_admitted"], line["receive_sequence"],
        line["response_sequence"], line["order_sequence"],
    )  # fmt: skip
    return SteerObservation(line["steer_id"], result, _error(line["error"]) if "error" in line else None)


def _error(document: dict[str, Any]) -> GziaError:
    data = {name: value for name, value in document.items() if name not in ("code", "message", "hint")}
    return GziaError(document["code"], document["message"], document["hint"], data=data)
