"""Content blocks of a prompt."""

from __future__ import annotations

from typing import Any

_NEEDS = {"image": "image", "audio": "audio", "resource": "embeddedContext"}
"""Block types that an agent takes only if it says so, and the prompt capability that says it."""

_BASELINE = ("text", "resource_link")


def unsupported(blocks: list[dict[str, Any]], capabilities: dict[str, Any]) -> str | None:
    """Why an agent with these ``promptCapabilities`` cannot take valid blocks, as a sentence; None if it can."""
    if not blocks:
        return "The prompt is empty."
    for index, block in enumerate(blocks):
        kind = block["type"]
        if kind in _BASELINE or (kind in _NEEDS and capabilities.get(_NEEDS[kind]) is True):
            continue
        return f"The agent does not take content of type “{kind[:40]}” (prompt[{index}])."
    return None
