"""What gzia says of itself to an editor, and its errors in JSON-RPC's words."""

from __future__ import annotations

from typing import Any

from gzia.acp import steering
from gzia.acp.errors import AUTH_REQUIRED, INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND
from gzia.errors import NOT_FOUND, USAGE, GziaError, NotFoundError
from gzia.version import VERSION


def initialize() -> dict[str, Any]:
    """The answer to ``initialize``.  It needs no agent: which one runs is chosen by each session.

    Steering is offered whatever runs, for it is always answered truthfully.
    """
    return {
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
        },
        "authMethods": [],
        "agentInfo": {"name": "gzia", "title": "gzia", "version": VERSION},
        "_meta": steering.capability(),
    }


def error(problem: GziaError) -> tuple[int, str, dict[str, Any]]:
    """A GziaError as code, message and data.  An error that the agent gave keeps its own code."""
    data = {**problem.data, "code": problem.code, "hint": problem.hint, "status": problem.exit_status}
    return _code(problem), problem.message, data


def not_open(session_id: str) -> NotFoundError:
    """The error for a session that this client has not open."""
    return NotFoundError(
        "session-not-open", f"This connection has no open session “{session_id}”.", "load it, or open a new one"
    )


def _code(problem: GziaError) -> int:
    if problem.code == "auth-required":
        return AUTH_REQUIRED
    if "rpc" in problem.data:
        code = problem.data["rpc"]["code"]
        return code if isinstance(code, int) and code < 0 else INTERNAL_ERROR
    if problem.code in ("session-not-found", "session-not-open"):
        return RESOURCE_NOT_FOUND
    is_invalid = problem.exit_status in (USAGE, NOT_FOUND) or problem.code == "steer-id-taken"
    return INVALID_PARAMS if is_invalid else INTERNAL_ERROR
