"""What went wrong on an agent's side, as errors that a person can act on."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from gzia.acp.errors import AUTH_REQUIRED, UNSUPPORTED_VERSION
from gzia.errors import FAILED, QUOTA, GziaError
from gzia.jsonrpc.messages import RpcError
from gzia.system.process import Exit

QUOTA_WORDS = re.compile(
    r"\b(rate.?limit|usage limit|too many requests|(?<!disk )quota (exceeded|exhausted)|exceeded your .*quota)", re.I
)
LAST_LINES = 5


class Stray:
    """The last lines an agent wrote on stdout that were no messages, bounded."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=LAST_LINES)

    def keep(self, line: str) -> None:
        """Remember one line, its beginning."""
        self._lines.append(line[:300])

    def __str__(self) -> str:
        return "\n".join(self._lines)


def last_lines(text: str) -> str:
    """The last few lines that are not blank."""
    return "\n".join([line for line in text.splitlines() if line.strip()][-LAST_LINES:])


def said(stderr: str, stray: Stray) -> dict[str, str]:
    """What the agent left behind, for the error's data and message."""
    return {"stderr": last_lines(stderr), "stdout": str(stray)}


def gone(name: str, exit: Exit, stderr: str, stray: Stray) -> GziaError:
    """The agent's process ended when it should not have."""
    words = said(stderr, stray)
    tail = words["stderr"] or words["stdout"]
    quoted = f", after saying:\n{tail}" if tail else ", saying nothing"
    return GziaError(
        "agent-exited", f"{name} ended with {exit.describe()}{quoted}",
        "start the agent by hand to see what it needs", data={"exit": exit.describe(), "status": exit.status, **words},
    )  # fmt: skip


def refused(name: str, method: str, error: RpcError) -> GziaError:
    """The agent answered a request with an error; its code and data are kept."""
    data: dict[str, Any] = {"method": method, "rpc": {"code": error.code, "message": error.message}}
    if error.data is not None:
        data["rpc"]["data"] = error.data
    if error.code == UNSUPPORTED_VERSION:
        return GziaError("protocol-version", f"{name}: {error.message}.", "update the agent or gzia", data=data)
    if error.code == AUTH_REQUIRED:
        return GziaError(
            "auth-required", f"{name} wants you to log in: {error.message}",
            "log in with the agent's own program, then try again", data=data,
        )  # fmt: skip
    if error.code == 429 or QUOTA_WORDS.search(error.message):
        return GziaError(
            "quota-exhausted", f"{name} has used up its quota: {error.message}", "try again later", status=QUOTA,
            data=data,
        )  # fmt: skip
    hint = "look at what it said so far: gzia read ID" if method == "session/prompt" else "try it with its own program"
    return GziaError("agent-refused", f"{name} refused {method}: {error.message}", hint, status=FAILED, data=data)
