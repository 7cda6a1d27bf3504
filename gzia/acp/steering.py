"""The steering extension of ACP, as a client asks it and as an agent answers it: ``_session/steering``.

Wire facts: github.com/agentclientprotocol/claude-agent-acp pulls 885 and 919, codex-acp pulls 309 and 363.
"""

from __future__ import annotations

from typing import Any

METHOD = "_session/steering"
PROMPT_REQUIRED = "promptRequired"
INJECTED, STARTED_NEW_TURN, FAILED = "injected", "startedNewTurn", "failed"
DELIVERY_UNKNOWN = "deliveryUnknown"  # no word of the extension: a client that does not know it takes it for unknown

Json = dict[str, Any]


def capability() -> Json:
    """What an agent puts into ``_meta`` of its answer to ``initialize``."""
    return {"steering": {"supported": True, "idleBehaviors": [PROMPT_REQUIRED]}}


def is_advertised(hello: Json) -> bool:
    """Whether an answer to ``initialize`` offers the extension."""
    steering = (hello.get("_meta") or {}).get("steering") if isinstance(hello.get("_meta"), dict) else None
    return isinstance(steering, dict) and steering.get("supported") is True


def params(session_id: str, blocks: list[Json]) -> Json:
    """The request; always with the opt-in that keeps an idle agent from starting a turn that nobody owns."""
    return {
        "sessionId": session_id,
        "prompt": blocks,
        "_meta": {"steering": {"idleBehavior": PROMPT_REQUIRED}},
    }


def idle_behavior(given: Json) -> Any:
    """What a request wants when no turn runs; ``promptRequired`` when it does not say."""
    meta = given.get("_meta")
    steering = meta.get("steering") if isinstance(meta, dict) else None
    return steering.get("idleBehavior", PROMPT_REQUIRED) if isinstance(steering, dict) else PROMPT_REQUIRED
