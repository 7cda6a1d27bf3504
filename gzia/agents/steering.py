"""How a running turn of each agent can be reached: a table of lanes, each with the strongest outcome its proof allows.

A lane is used only when the agent advertises it, or says a name for which it was seen to work.  A second prompt in a
turn is right for a few agents and kills, hangs or garbles the turn of others (gemini, qwen, kimi, vibe, cline, zed's
adapter of codex, pi, fast-agent, oh-my-pi, copilot): who is not in this table never gets one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple

from gzia.driver.lane import Terms, Verdict

Json = dict[str, Any]
METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST = -32601, -32602, -32600
BY_PROOF = Terms(deadline=None)  # resolved by what the agent shows, at the turn's end at last


class Kind(Enum):
    """How a message travels."""

    CALL = auto()  # a request, answered at once
    PROMPT = auto()  # a second session/prompt, answered when the agent has dealt with it; the turn lasts until then
    DRAIN = auto()  # the agent asks for what waits


class Ask(NamedTuple):
    """What a lane makes its request of; ``run_id`` is what the agent last called its running turn."""

    session_id: str
    steer_id: str
    blocks: list[Json]
    run_id: str


class Sign(NamedTuple):
    """Something that the agent did after it had the message: a notification, or an update with its kind."""

    method: str
    kind: str
    body: Json


Said = tuple[Verdict, str]  # what an answer means, and a reason for people


@dataclass(frozen=True, slots=True)
class Way:
    """One lane.

    ``advertised`` looks at the agent's answer to ``initialize``, ``names`` are what agents for which it was seen to
    work call themselves.  ``read`` says what a result means, ``refusals`` are error codes that prove that nothing was
    kept.  ``proof`` says whether a sign shows that the turn has the message, where the answer does not.
    """

    name: str
    method: str
    params: Callable[[Ask], Json]
    read: Callable[[Any], Said]
    kind: Kind = Kind.CALL
    advertised: Callable[[Json], bool] = lambda hello: False
    names: tuple[str, ...] = ()
    refusals: frozenset[int] = frozenset({METHOD_NOT_FOUND, INVALID_PARAMS})
    proof: Callable[[Sign, Ask], bool] | None = None
    text_only: bool = False
    needs_run: bool = False
    terms: Terms = Terms()  # noqa: RUF009  (a value that does not change)

    def fits(self, hello: Json) -> bool:
        """Whether an agent that answered ``initialize`` so can be reached in this way."""
        return self.advertised(hello) or name_of(hello) in self.names


def way_of(hello: Json, ways: tuple[Way, ...]) -> Way | None:
    """The first lane that fits; None: a running turn of this agent cannot be reached."""
    return next((way for way in ways if way.fits(hello)), None)


def name_of(hello: Json) -> str:
    """What the agent calls itself, in lower case."""
    info = hello.get("agentInfo")
    return str(info.get("name", "")).lower() if isinstance(info, dict) else ""


def worded(member: str, words: dict[str, Verdict]) -> Callable[[Any], Said]:
    """Reads a result whose ``member`` is one of ``words``; anything else is not known."""

    def read(result: Any) -> Said:
        word = result.get(member) if isinstance(result, dict) else None
        if isinstance(word, str) and word in words:
            return words[word], str(result.get("reason") or ("" if words[word] is Verdict.INJECTED else word))
        return Verdict.UNKNOWN, f"the agent answered without a known {member}"

    return read


def has(**members: Any) -> Callable[[Any], Said]:
    """Reads a result that acknowledges without saying more than that it is queued."""

    def read(result: Any) -> Said:
        if isinstance(result, dict) and all(result.get(name) == value for name, value in members.items()):
            return Verdict.TAKEN, ""
        return Verdict.UNKNOWN, "the agent answered without saying that it took it"

    return read


def _blocks(ask: Ask) -> Json:
    return {"sessionId": ask.session_id, "prompt": ask.blocks}


def _text(ask: Ask) -> str:
    return "\n".join(block["text"] for block in ask.blocks)


def _prompted(result: Any) -> Said:
    """A second prompt that was answered: served, or stopped with its text perhaps in the history."""
    reason = result.get("stopReason") if isinstance(result, dict) else None
    if reason in ("end_turn", "max_tokens", "max_turn_requests"):
        return Verdict.INJECTED, ""
    return Verdict.TAKEN, f"its prompt ended: {reason}"


def _vendor(hello: Json, vendor: str, capability: str) -> bool:
    capabilities = hello.get("agentCapabilities")
    meta = capabilities.get("_meta") if isinstance(capabilities, dict) else None
    own = meta.get(vendor) if isinstance(meta, dict) else None
    return isinstance(own, dict) and own.get(capability) not in (None, False)


def _tool_ended(sign: Sign, _: Ask) -> bool:
    return sign.kind == "tool_call_update" and sign.body.get("status") in ("completed", "failed")


GOOSE = Way(  # github.com/aaif-goose/goose pulls 9560, 10532: queued for the run that is named, else refused
    "goose",
    "_goose/unstable/session/steer",
    lambda ask: {**_blocks(ask), "expectedRunId": ask.run_id},
    lambda result: (
        (Verdict.INJECTED, "")
        if isinstance(result, dict) and result.get("messageId")
        else (Verdict.UNKNOWN, "the agent answered without a message id")
    ),
    names=("goose",),
    refusals=frozenset({METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST}),
    needs_run=True,
)
REASONIX = Way(  # github.com/esengine/DeepSeek-Reasonix/pull/6715: {} says accepted, InvalidRequest says idle
    "reasonix",
    "_reasonix.io/session/steer",
    _blocks,
    lambda result: (
        (Verdict.INJECTED, "") if isinstance(result, dict) else (Verdict.UNKNOWN, "the agent answered with no object")
    ),
    advertised=lambda hello: _vendor(hello, "reasonix.io", "sessionSteer"),
    refusals=frozenset({METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST}),
)
KIMCHI = Way(  # github.com/getkimchi/kimchi/pull/1029
    "kimchi",
    "_kimchi.dev/steering",
    _blocks,
    worded("status", {"injected": Verdict.INJECTED, "promptRequired": Verdict.NOT_TAKEN}),
    advertised=lambda hello: _vendor(hello, "kimchi.dev", "steering"),
    text_only=True,
)
KIRO = Way(  # github.com/kirodotdev/KiroCrew/issues/7246: acknowledged and sometimes never consumed
    "kiro",
    "_session/steer",
    lambda ask: {"sessionId": ask.session_id, "message": _text(ask)},
    has(queued=True),
    names=("kiro", "kiro-cli"),
    proof=lambda sign, _: "steering_consumed" in (sign.kind, sign.method.rpartition("/")[2]),
    text_only=True,
)
GROK = Way(  # github.com/repoprompt/repoprompt-ce/pull/313: the echo carries our id
    "grok",
    "_x.ai/interject",
    lambda ask: {"sessionId": ask.session_id, "text": _text(ask), "interjectionId": ask.steer_id},
    has(status="queued"),
    names=("grok", "grok-cli", "grok-build"),
    proof=lambda sign, ask: (
        sign.method == "_x.ai/session/interjection" and sign.body.get("interjectionId") == ask.steer_id
    ),
    text_only=True,
)
SECOND_PROMPT = Way(  # opencode and openhands measured; cursor: github.com/tiann/hapi/pull/1609
    "second-prompt",
    "session/prompt",
    _blocks,
    _prompted,
    kind=Kind.PROMPT,
    names=("opencode", "openhands cli acp agent", "cursor", "cursor-agent"),
    refusals=frozenset({METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST}),
    terms=BY_PROOF,
)
HERMES = Way(  # measured: "queued for the active turn", and then only a tool call that ends brings it to the model
    "hermes",
    "session/prompt",
    lambda ask: {"sessionId": ask.session_id, "prompt": [{"type": "text", "text": f"/steer {_text(ask)}"}]},
    lambda result: (Verdict.TAKEN, ""),
    kind=Kind.PROMPT,
    names=("hermes-agent",),
    proof=_tool_ended,
    text_only=True,
    terms=BY_PROOF,
)
QWEN = Way(  # github.com/QwenLM/qwen-code/pull/4925: it asks between its tool batches
    "qwen",
    "craft/drainMidTurnQueue",
    lambda ask: {"messages": [_text(ask)], "hasQueuedPrompt": False},
    lambda result: (Verdict.UNKNOWN, ""),  # it is we who answer
    kind=Kind.DRAIN,
    names=("qwen-code",),
    proof=lambda sign, _: True,
    text_only=True,
    terms=Terms(at_once=128, deadline=None),
)

WAYS = (GOOSE, REASONIX, KIMCHI, KIRO, GROK, SECOND_PROMPT, HERMES, QWEN)
"""Lanes of single agents; the extension that several of them share comes before these."""

LAST_WORDS = frozenset(way.name for way in WAYS if way.kind is Kind.PROMPT and way.proof is None)
"""Lanes whose answer comes when the agent is done with the message: what it does before that answer counts."""
