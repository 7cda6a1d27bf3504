"""The short form of a raw update, for whoever only wants to know what happened.

``{"kind": "text_delta", "text"}``, ``thinking_delta`` likewise; ``tool_use`` with ``id`` and, as far as the agent says,
``title``, ``tool_kind``, ``status``; ``tool_result`` with ``is_error`` once the status is final; for the rest
``{"kind": "other", "update"}``.

Agents send tool updates before or without a tool call, without kind or status, and the final one twice: each update is
described by what it says itself, and a reader keeps the latest by ``id``.
"""

from __future__ import annotations

from typing import Any

FINAL = {"completed": False, "failed": True}
"""Final tool statuses, and whether each is an error."""

_CHUNKS = {"agent_message_chunk": "text_delta", "agent_thought_chunk": "thinking_delta"}
_TOOLS = ("tool_call", "tool_call_update")


def describe(update: dict[str, Any]) -> dict[str, Any]:
    """The short form of an update that came as ``Update``; never raises for one."""
    name = update["sessionUpdate"]
    kind = _CHUNKS.get(name)
    if kind is not None:
        content = update["content"]
        if content["type"] == "text":
            return {"kind": kind, "text": content["text"]}
    elif name in _TOOLS:
        return _tool(update)
    return {"kind": "other", "update": name}


def _tool(update: dict[str, Any]) -> dict[str, Any]:
    event: dict[str, Any] = {"kind": "tool_use", "id": update["toolCallId"]}
    for name, member in (("title", "title"), ("tool_kind", "kind"), ("status", "status")):
        value = update.get(member)
        if isinstance(value, str):  # receivers take anything else for absent, the schema says
            event[name] = value
    if event.get("status") in FINAL:
        event["kind"] = "tool_result"
        event["is_error"] = FINAL[event["status"]]
    return event
