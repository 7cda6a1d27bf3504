"""The schemas that the checks are made from, and the checks, compiled."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gzia.packaging.checks import generate
from gzia.packaging.tolerance import tolerant

ROOT = Path(__file__).parent.parent.parent
CONDENSED = ROOT / "protocol/acp/v1.json"
OFFICIAL = os.environ.get("GZIA_ACP_SCHEMA", "")
"""Where the original lies: schema/v1/schema.json of npm @agentclientprotocol/sdk, in the version that v1.json names."""

STRICT: dict[str, Any] = json.loads(CONDENSED.read_text(encoding="utf-8"))
TOLERANT = tolerant(STRICT)

Check = Callable[[Any], tuple[str | int, ...] | None]


def official() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(Path(OFFICIAL).read_text(encoding="utf-8"))
    return document


def compiled(document: dict[str, Any]) -> dict[str, Check]:
    """The generated checks by type."""
    names: dict[str, Any] = {}
    exec(compile(generate(document), "checks", "exec"), names)
    checks: dict[str, Check] = names["TYPES"]
    return checks


def one_type(**schema: Any) -> Check:
    """The check of a type that is made up for a test."""
    methods = {"m": {"side": "agent", "params": "T"}}
    return compiled({"methods": methods, "$defs": {"T": schema}})["T"]
