"""How a running turn of each agent can be reached: a table of lanes, each with the strongest outcome its proof allows.

A lane is used only when the agent's answer to ``initialize`` advertises it, or tells that it is an agent for which it
was seen to work; the name under which gzia started it counts for nothing.  A second prompt in a turn is right for a few
agents and kills, hangs or garbles the turn of others (gemini, qwen, kimi, vibe, cline, zed's adapter of codex, pi,
fast-agent, oh-my-pi, copilot): who is not in this table never gets one.

Many agents say "queued" and mean it: nothing tells yet whether the running turn will have the message.  Such an answer
is ``Verdict.TAKEN`` here, and something that comes later has to prove it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, NamedTuple

from gzia.driver.lane import LIMIT, Terms, Verdict

Json = dict[str, Any]
METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST = -32601, -32602, -32600
UNANSWERED = Terms(at_once=LIMIT, deadline=None)  # no answer is due while the turn runs; several may be on their way


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

    @property
    def text(self) -> str:
        """The message, for lanes that take nothing but text."""
        return "\n".join(block["text"] for block in self.blocks)


class Sign(NamedTuple):
    """An update that the agent sent, by ``session/update`` or a notification of its own, with its kind."""

    kind: str
    body: Json


Said = tuple[Verdict, str]  # what an answer means, and a reason for people


@dataclass(frozen=True, slots=True)
class Way:
    """One lane.

    ``advertised`` looks at the agent's answer to ``initialize``, ``names`` are what agents for which it was seen to
    work call themselves.  ``read`` says what a result means, ``refusals`` are error codes that prove that nothing was
    kept.  ``proof`` says whether a sign shows that the turn has the message, where the answer does not; one that names
    the message (``names_it``) counts whenever it comes, any other only after the answer and before a cancel.
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
    names_it: bool = False
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


def queued(**members: Any) -> Callable[[Any], Said]:
    """Reads a result that acknowledges without saying more than that it is queued."""

    def read(result: Any) -> Said:
        if isinstance(result, dict) and all(result.get(name) == value for name, value in members.items()):
            return Verdict.TAKEN, ""
        return Verdict.UNKNOWN, "the agent answered without saying that it took it"

    return read


def _read_goose(result: Any) -> Said:
    if isinstance(result, dict) and result.get("messageId"):
        return Verdict.TAKEN, ""
    return Verdict.UNKNOWN, "the agent answered without a message id"


def _read_reasonix(result: Any) -> Said:
    if isinstance(result, dict):
        return Verdict.INJECTED, ""
    return Verdict.UNKNOWN, "the agent answered with no object"


def _read_prompt(result: Any) -> Said:
    """A second prompt that was answered: served, or stopped with its text perhaps in the history."""
    if isinstance(result, dict) and result.get("stopReason") == "end_turn":
        return Verdict.INJECTED, ""
    return Verdict.TAKEN, ""


def _blocks(ask: Ask) -> Json:
    return {"sessionId": ask.session_id, "prompt": ask.blocks}


def meta_of(holder: Any, vendor: str) -> Json:
    """What ``vendor`` put into the ``_meta`` of an object; nothing when either is none."""
    meta = holder.get("_meta") if isinstance(holder, dict) else None
    own = meta.get(vendor) if isinstance(meta, dict) else None
    return own if isinstance(own, dict) else {}


def _offers(vendor: str, capability: str) -> Callable[[Json], bool]:
    return lambda hello: meta_of(hello.get("agentCapabilities"), vendor).get(capability) not in (None, False)


def _is_grok(hello: Json) -> bool:
    meta = hello.get("_meta")
    return isinstance(meta, dict) and meta.get("grokShell") is True


def _has_cursor_login(hello: Json) -> bool:
    methods = hello.get("authMethods")
    return isinstance(methods, list) and any(isinstance(m, dict) and m.get("id") == "cursor_login" for m in methods)


def _shows(content: Any, ask: Ask) -> bool:
    """Whether what an agent shows as a user's words is (a part of) the message."""
    if isinstance(content, str):
        return ask.text.strip() in content
    shown = {content.get("text"), content.get("data")} - {None} if isinstance(content, dict) else set()
    return any(block.get("text") in shown or block.get("data") in shown for block in ask.blocks)


def _tool_ended(sign: Sign, _: Ask) -> bool:
    """A tool that ends in a turn that has the message queued: the model's next call has both."""
    return sign.kind == "tool_call_update" and sign.body.get("status") in ("completed", "failed")


GOOSE = Way(
    # github.com/aaif-goose/goose pulls 9560, 9957 and crates/goose/src/acp/server.rs: queued for the run that is named,
    # -32602 for another.  Shown as the user's, marked as a steer, when the loop takes it; discarded if the run ends.
    "goose",
    "_goose/unstable/session/steer",
    lambda ask: {**_blocks(ask), "expectedRunId": ask.run_id},
    _read_goose,
    names=("goose",),
    refusals=frozenset({METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST}),
    proof=lambda sign, ask: (
        sign.kind == "user_message_chunk"
        and meta_of(sign.body, "goose").get("steer") is True
        and _shows(sign.body.get("content"), ask)
    ),
    names_it=True,
    needs_run=True,
)
REASONIX = Way(
    # github.com/esengine/DeepSeek-Reasonix/pull/6715: {} says accepted, InvalidRequest says that no prompt is active.
    "reasonix",
    "_reasonix.io/session/steer",
    _blocks,
    _read_reasonix,
    advertised=_offers("reasonix.io", "sessionSteer"),
    refusals=frozenset({METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST}),
)
KIMCHI = Way(
    # github.com/getkimchi/kimchi pull 1029, issue 1037: the prompt is a string.  A cancel drops what it had "injected".
    "kimchi",
    "_kimchi.dev/steering",
    lambda ask: {"sessionId": ask.session_id, "prompt": ask.text},
    worded("status", {"injected": Verdict.INJECTED, "promptRequired": Verdict.NOT_TAKEN}),
    advertised=_offers("kimchi.dev", "steering"),
    text_only=True,
)
KIRO = Way(
    # github.com/kirodotdev/KiroCrew/issues/7246: acknowledged, and sometimes never consumed; what was not may turn up
    # in a later turn, so the words are compared.  They come by _kiro.dev/session/update; the second name is older.
    "kiro",
    "_session/steer",
    lambda ask: {"sessionId": ask.session_id, "message": ask.text},
    queued(queued=True),
    names=("kiro cli agent",),
    proof=lambda sign, ask: (
        sign.kind in ("AgentExecutionSteeringInjected", "steering_consumed") and _shows(sign.body.get("content"), ask)
    ),
    names_it=True,
    text_only=True,
)
GROK = Way(
    # github.com/repoprompt/repoprompt-ce/pull/313.  Its echo _x.ai/session/interjection comes whether a turn takes the
    # message or not: after the turn's last look at its queue, and without a turn, it begins one of its own
    # ("interject-fallback-…").  A tool that ends is followed by such a look.
    "grok",
    "_x.ai/interject",
    lambda ask: {"sessionId": ask.session_id, "text": ask.text, "interjectionId": ask.steer_id},
    queued(status="queued"),
    advertised=_is_grok,
    proof=_tool_ended,
    text_only=True,
)
SECOND_PROMPT = Way(
    # opencode 1.18 and openhands 1.16 measured; cursor: github.com/tiann/hapi/pull/1609, alookai/alook/pull/656 (it
    # tells no name, only how to log in to it).
    "second-prompt",
    "session/prompt",
    _blocks,
    _read_prompt,
    kind=Kind.PROMPT,
    advertised=_has_cursor_login,
    names=("opencode", "openhands cli acp agent"),
    refusals=frozenset({METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST}),
    terms=UNANSWERED,
)
HERMES = Way(
    # hermes-agent 0.19 measured; github.com/NousResearch/hermes-agent/pull/18258.  "Queued for the active turn", and
    # then only the result of a tool that ends brings it to the model.
    "hermes",
    "session/prompt",
    lambda ask: {"sessionId": ask.session_id, "prompt": [{"type": "text", "text": f"/steer {ask.text}"}]},
    lambda result: (Verdict.TAKEN, ""),
    kind=Kind.PROMPT,
    names=("hermes-agent",),
    proof=_tool_ended,
    text_only=True,
    terms=UNANSWERED,
)
QWEN = Way(
    # qwen-code 0.24 measured; github.com/QwenLM/qwen-code pulls 2854, 4925.  It asks after each batch of tools, waits
    # 2 s for the answer, and throws away what is more than ten messages; what the model says next, it says with them.
    "qwen",
    "craft/drainMidTurnQueue",
    lambda ask: {"messages": [ask.text], "hasQueuedPrompt": False},
    lambda result: (Verdict.UNKNOWN, ""),  # it is we who answer
    kind=Kind.DRAIN,
    names=("qwen-code",),
    proof=lambda sign, _: sign.kind in ("agent_message_chunk", "agent_thought_chunk"),
    text_only=True,
    terms=Terms(at_once=10, deadline=None),
)

WAYS = (GOOSE, REASONIX, KIMCHI, KIRO, GROK, SECOND_PROMPT, HERMES, QWEN)
"""Lanes of single agents; the extension that several of them share comes before these."""

LAST_WORDS = frozenset(way.name for way in WAYS if way.kind is Kind.PROMPT and way.proof is None)
"""Lanes whose answer comes when the agent is done with the message: what it does before that answer counts."""
