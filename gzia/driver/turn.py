"""What a turn is given, and what a session tells an agent about itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Block = dict[str, Any]  # an ACP content block, for example {"type": "text", "text": "…"}


class PermissionLevel(StrEnum):
    """How much an agent may do without being asked.

    ``readonly``: it changes nothing.  ``supervised``: a person answers before it changes anything.
    ``autonomous``: its questions are answered with yes.
    """

    READONLY = "readonly"
    SUPERVISED = "supervised"
    AUTONOMOUS = "autonomous"


@dataclass(frozen=True, slots=True)
class Turn:
    """One prompt: ``number`` counts from 1 over the whole session."""

    number: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where an agent works and which conversation it goes on with.

    ``resume`` is the agent's own conversation id; empty starts a new one.
    """

    directory: str
    resume: str = ""
    mcp_servers: tuple[dict[str, Any], ...] = ()
    client_capabilities: dict[str, Any] = field(default_factory=dict)
    model: str = ""
