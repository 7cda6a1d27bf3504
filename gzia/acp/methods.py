"""The methods of ACP: who receives each, and whether it is answered.

Stable is protocol version 1 as in the schema of npm ``@agentclientprotocol/sdk`` 2.4.0 (``protocol/acp/v1.json``); a
test holds the two together.  Methods that begin with ``_`` are extensions and stand in no table.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Side: TypeAlias = Literal["agent", "client", "both"]
Kind: TypeAlias = Literal["request", "notification"]

PROTOCOL_VERSION = 1

INITIALIZE = "initialize"
AUTHENTICATE = "authenticate"
LOGOUT = "logout"
SESSION_NEW = "session/new"
SESSION_LOAD = "session/load"
SESSION_LIST = "session/list"
SESSION_DELETE = "session/delete"
SESSION_RESUME = "session/resume"
SESSION_CLOSE = "session/close"
SESSION_SET_MODE = "session/set_mode"
SESSION_SET_CONFIG_OPTION = "session/set_config_option"
SESSION_PROMPT = "session/prompt"
SESSION_CANCEL = "session/cancel"
SESSION_UPDATE = "session/update"
REQUEST_PERMISSION = "session/request_permission"
READ_TEXT_FILE = "fs/read_text_file"
WRITE_TEXT_FILE = "fs/write_text_file"
TERMINAL_CREATE = "terminal/create"
TERMINAL_OUTPUT = "terminal/output"
TERMINAL_RELEASE = "terminal/release"
TERMINAL_WAIT_FOR_EXIT = "terminal/wait_for_exit"
TERMINAL_KILL = "terminal/kill"
ELICITATION_CREATE = "elicitation/create"
ELICITATION_COMPLETE = "elicitation/complete"
CANCEL_REQUEST = "$/cancel_request"


class Method(NamedTuple):
    """``side`` receives it; ``is_stable`` methods are checked, the others are only known by name."""

    side: Side
    kind: Kind
    is_stable: bool = True


_TO_AGENT = Method("agent", "request")
_TO_CLIENT = Method("client", "request")
_DRAFT_TO_AGENT = Method("agent", "request", is_stable=False)

METHODS: dict[str, Method] = {
    INITIALIZE: _TO_AGENT,
    AUTHENTICATE: _TO_AGENT,
    LOGOUT: _TO_AGENT,
    SESSION_NEW: _TO_AGENT,
    SESSION_LOAD: _TO_AGENT,
    SESSION_LIST: _TO_AGENT,
    SESSION_DELETE: _TO_AGENT,
    SESSION_RESUME: _TO_AGENT,
    SESSION_CLOSE: _TO_AGENT,
    SESSION_SET_MODE: _TO_AGENT,
    SESSION_SET_CONFIG_OPTION: _TO_AGENT,
    SESSION_PROMPT: _TO_AGENT,
    SESSION_CANCEL: Method("agent", "notification"),
    SESSION_UPDATE: Method("client", "notification"),
    REQUEST_PERMISSION: _TO_CLIENT,
    READ_TEXT_FILE: _TO_CLIENT,
    WRITE_TEXT_FILE: _TO_CLIENT,
    TERMINAL_CREATE: _TO_CLIENT,
    TERMINAL_OUTPUT: _TO_CLIENT,
    TERMINAL_RELEASE: _TO_CLIENT,
    TERMINAL_WAIT_FOR_EXIT: _TO_CLIENT,
    TERMINAL_KILL: _TO_CLIENT,
    ELICITATION_CREATE: _TO_CLIENT,
    ELICITATION_COMPLETE: Method("client", "notification"),
    CANCEL_REQUEST: Method("both", "notification"),
    "providers/list": _DRAFT_TO_AGENT,
    "providers/set": _DRAFT_TO_AGENT,
    "providers/disable": _DRAFT_TO_AGENT,
    "auth/status": _DRAFT_TO_AGENT,
    "session/fork": _DRAFT_TO_AGENT,
    "session/archive": _DRAFT_TO_AGENT,
    "session/unarchive": _DRAFT_TO_AGENT,
    "session/status": _DRAFT_TO_AGENT,
    "session/set_title": _DRAFT_TO_AGENT,
    "mcp/message": Method("both", "request", is_stable=False),
    "auth/status_update": Method("client", "notification", is_stable=False),
}


def is_stable(method: str, side: Side, kind: Kind) -> bool:
    """Whether ``side`` receives this method, in this kind, in version 1."""
    entry = METHODS.get(method)
    return entry is not None and entry.is_stable and entry.kind == kind and entry.side in (side, "both")


def is_extension(method: str) -> bool:
    """Whether a method is none of the protocol's own."""
    return method.startswith("_")
