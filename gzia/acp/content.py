"""Content blocks of a prompt."""

from __future__ import annotations

from typing import Any

Block = dict[str, Any]

_NEEDS = {"image": "image", "audio": "audio", "resource": "embeddedContext"}
"""Block types that an agent takes only if it says so, and the prompt capability that says it."""

_BASELINE = ("text", "resource_link")


def text_block(text: str) -> Block:
    """A block of text."""
    return {"type": "text", "text": text}


def plain_text(blocks: list[Block]) -> str:
    """What a person would read in valid blocks: links by their address, pictures and sound by their kind."""
    text = ""
    for part in map(_readable, blocks):
        glued = text and part and not text[-1].isspace() and not part[0].isspace()
        text += f" {part}" if glued else part
    return text


def unsupported(blocks: list[Block], capabilities: dict[str, Any]) -> str | None:
    """Why an agent with these ``promptCapabilities`` cannot take valid blocks, as a sentence; None if it can."""
    if not blocks:
        return "The prompt is empty."
    for index, block in enumerate(blocks):
        kind = block["type"]
        if kind in _BASELINE or (kind in _NEEDS and capabilities.get(_NEEDS[kind]) is True):
            continue
        return f"The agent does not take content of type {kind[:40]!r} (prompt[{index}])."
    return None


def _readable(block: Block) -> str:
    if block["type"] == "text":
        return str(block["text"])
    if block["type"] == "resource_link":
        return str(block["uri"])
    if block["type"] == "resource":
        resource = block["resource"]
        return str(resource["text"] if "text" in resource else resource["uri"])
    return f"[{block['type']}]"
