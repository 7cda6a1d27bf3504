"""Starting an agent: the process, ``initialize``, then a conversation, each raced against a deadline and its death."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from gzia.acp.methods import PROTOCOL_VERSION
from gzia.agents.base import FILES, AgentSpec, Posture
from gzia.driver.agent import AgentFacts, Listener
from gzia.driver.turn import Place
from gzia.errors import DeadlineError, GziaError, NotFoundError, UsageError
from gzia.system import process, selfexec
from gzia.system.environment import agent_environment
from gzia.system.private import PrivateFiles
from gzia.transports import failures
from gzia.transports.acp import AcpAgent
from gzia.version import VERSION

DEADLINE = 30.0  # seconds for each step of the handshake

T = TypeVar("T")


async def start(
    spec: AgentSpec,
    posture: Posture,
    place: Place,
    listener: Listener,
    *,
    marks: dict[str, str],
    deadline: float = DEADLINE,
) -> AcpAgent:
    """A running agent with an open conversation in ``place``, held to ``posture``.

    ``marks`` are variables that tell the agent which session it is in.  Raises GziaError: agent-not-found,
    agent-exited, auth-required, protocol-version, agent-refused, permission-not-enforceable; DeadlineError
    handshake-timeout.  After an error nothing is left running.
    """
    running = await _spawn(spec, posture, place, listener, marks)
    try:
        await _opened(running, spec, posture, place, deadline)
    except BaseException:
        await running.close()
        raise
    return running


async def _spawn(
    spec: AgentSpec, posture: Posture, place: Place, listener: Listener, marks: dict[str, str]
) -> AcpAgent:
    refuse_if_undone(spec, posture, Path(place.directory), Path(marks.get("GZIA_ROOT", place.directory)))
    environment = agent_environment({**spec.env, **posture.env, **marks})
    files = PrivateFiles(posture.files)
    try:
        args = [arg.replace(FILES, files.directory) for arg in posture.args]
        argv, descriptors = command(spec, args)
        child = await process.start(argv, cwd=Path(place.directory), env=environment, pass_fds=descriptors)
    except BaseException:
        files.remove()
        raise
    child.exited.add_done_callback(lambda _: files.remove())
    return AcpAgent(child, listener, spec.name)


def refuse_if_undone(spec: AgentSpec, posture: Posture, directory: Path, root: Path) -> None:
    """A project must not be able to lift its agent's level, from the directory or from above it up to ``root``."""
    above = [place for place in directory.parents if place.is_relative_to(root)]
    for path in (place / name for place in (directory, *above) for name in posture.undone_by):
        if path.exists():
            raise UsageError(
                "permission-not-enforceable",
                f"{spec.name} would not be held to this permission level: {path} lets it do more.",
                "look at that file, then choose -p autonomous or move it away",
                data={"agent": spec.id, "file": str(path)},
            )


def command(spec: AgentSpec, args: Sequence[str]) -> tuple[list[str], tuple[int, ...]]:
    """The argument vector that starts an agent, and the descriptors it needs."""
    if spec.module:
        return selfexec.module_command(spec.module, *args)
    if spec.located() is None:
        raise spec.not_found()
    return [*spec.command, *args], ()


async def _opened(agent: AcpAgent, spec: AgentSpec, posture: Posture, place: Place, deadline: float) -> None:
    hello = await _within(agent, deadline, "initialize", agent.call("initialize", initialize(place)))
    refuse_unreachable(spec, place, hello.get("agentCapabilities") or {})
    try:
        session = await _conversation(agent, posture, place, hello, deadline)
    except GziaError as error:
        if error.code == "auth-required":
            error.data["authMethods"] = hello.get("authMethods", [])
        raise
    agent.opened(facts(agent.facts, hello, session), hello)
    await _held(agent, spec, posture, place, deadline)


def refuse_unreachable(spec: AgentSpec, place: Place, capabilities: dict[str, Any]) -> None:
    """An MCP server that the agent cannot reach is told, not dropped in silence."""
    reachable = capabilities.get("mcpCapabilities")
    for server in place.mcp_servers:
        kind = server.get("type", "stdio")
        if kind != "stdio" and not (isinstance(reachable, dict) and reachable.get(kind) is True):
            raise UsageError(
                "unsupported-mcp-server", f"{spec.name} cannot use the MCP server “{server.get('name')}” over {kind}.",
                "leave it out or choose another agent", data={"agent": spec.id, "server": server.get("name")},
            )  # fmt: skip


def initialize(place: Place) -> dict[str, Any]:
    """What gzia says of itself.  Files and terminals are offered only when the client behind gzia offers them."""
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": place.client_capabilities or {"fs": {"readTextFile": False, "writeTextFile": False}},
        "clientInfo": {"name": "gzia", "title": "gzia", "version": VERSION},
    }


async def _conversation(
    agent: AcpAgent, posture: Posture, place: Place, hello: dict[str, Any], deadline: float
) -> dict[str, Any]:
    params: dict[str, Any] = {"cwd": place.directory, "mcpServers": list(place.mcp_servers)}
    if posture.meta:
        params["_meta"] = posture.meta
    if not place.resume:
        return dict(await _within(agent, deadline, "session/new", agent.call("session/new", params)))
    method = resuming(agent.facts.name, hello.get("agentCapabilities") or {})
    agent.replaying = True  # an agent may replay on resume, too
    try:
        call = agent.call(method, {**params, "sessionId": place.resume})
        answer = await _within(agent, deadline, method, call)
    finally:
        agent.replaying = False
    return {**(answer or {}), "sessionId": place.resume}


def resuming(name: str, capabilities: dict[str, Any]) -> str:
    """The method by which an agent goes on with an earlier conversation; NotFoundError when it cannot."""
    if capabilities.get("loadSession"):
        return "session/load"
    offered = capabilities.get("sessionCapabilities")
    if isinstance(offered, dict) and offered.get("resume") is not None:
        return "session/resume"
    raise NotFoundError(
        "not-resumable", f"{name} cannot go on with a conversation of an earlier process.", "start a new session"
    )


def facts(known: AgentFacts, hello: dict[str, Any], session: dict[str, Any]) -> AgentFacts:
    """The two answers of the handshake as one value."""
    info = hello.get("agentInfo") or {}
    return replace(
        known,
        agent_session_id=session["sessionId"],
        name=info.get("title") or info.get("name") or known.name,
        version=str(info.get("version", "")),
        capabilities=hello.get("agentCapabilities") or {},
        modes=session.get("modes"),
        config_options=tuple(session.get("configOptions") or ()),
    )


async def _held(agent: AcpAgent, spec: AgentSpec, posture: Posture, place: Place, deadline: float) -> None:
    """Put the agent into the mode of its permission level; refuse rather than pretend."""
    if posture.mode:
        offered = [mode.get("id") for mode in (agent.facts.modes or {}).get("availableModes", [])]
        if posture.mode not in offered:
            raise UsageError(
                "permission-not-enforceable",
                f"{spec.name} does not offer the mode “{posture.mode}” that this permission level needs.",
                f"it offers: {', '.join(map(str, offered)) or 'no modes'}; choose another permission level",
            )  # fmt: skip
        await _set(agent, deadline, "session/set_mode", {"modeId": posture.mode})
    wanted = dict(posture.config)
    if place.model:
        wanted[_model_option(agent.facts)] = place.model
    for option, value in wanted.items():
        await _set(agent, deadline, "session/set_config_option", {"configId": option, "value": value})


def _model_option(facts: AgentFacts) -> str:
    for option in facts.config_options:
        if option.get("category") == "model" or option.get("id") == "model":
            return str(option["id"])
    raise UsageError("model-not-selectable", f"{facts.name} does not offer a choice of model.", "leave out --model")


async def _set(agent: AcpAgent, deadline: float, method: str, params: dict[str, str]) -> None:
    params = {"sessionId": agent.facts.agent_session_id, **params}
    await _within(agent, deadline, method, agent.call(method, params))


async def _within(agent: AcpAgent, deadline: float, step: str, answer: Awaitable[T]) -> T:
    try:
        return await asyncio.wait_for(answer, deadline)
    except TimeoutError:
        words = failures.last_lines(agent.process.stderr_tail())
        tail = f", after saying:\n{words}" if words else ""
        raise DeadlineError(
            "handshake-timeout", f"{agent.facts.name} did not answer {step} within {deadline:g} s{tail}",
            "start the agent by hand to see what it waits for",
        ) from None  # fmt: skip
