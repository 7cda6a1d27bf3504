"""Error codes of ACP, from the official schema's ErrorCode; those of JSON-RPC itself come from ``gzia.jsonrpc``."""

from __future__ import annotations

from gzia.jsonrpc.messages import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR

REQUEST_CANCELLED = -32800
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
UNSUPPORTED_VERSION = -32022  # of the draft of version 2; data is {"requested", "supported"}

__all__ = [
    "AUTH_REQUIRED",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "METHOD_NOT_FOUND",
    "PARSE_ERROR",
    "REQUEST_CANCELLED",
    "RESOURCE_NOT_FOUND",
    "UNSUPPORTED_VERSION",
]
