"""Every frame that gzia sends to an editor is valid by the models of the official Python SDK."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from acp import schema
from pydantic import BaseModel

from tests.serve.editor import editor

PARAMS: dict[str, type[BaseModel]] = {
    "session/update": schema.SessionNotification,
    "session/request_permission": schema.RequestPermissionRequest,
    "fs/write_text_file": schema.WriteTextFileRequest,
    "fs/read_text_file": schema.ReadTextFileRequest,
}
RESULTS: dict[str, type[BaseModel]] = {
    "initialize": schema.InitializeResponse,
    "session/new": schema.NewSessionResponse,
    "session/prompt": schema.PromptResponse,
    "session/set_mode": schema.SetSessionModeResponse,
    "session/set_config_option": schema.SetSessionConfigOptionResponse,
    "session/close": schema.CloseSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/load": schema.LoadSessionResponse,
}


def validate(frame: dict[str, Any], asked: dict[Any, str]) -> None:
    """Raise when the frame is not valid; ``asked`` are the methods of the editor's requests by id."""
    assert frame["jsonrpc"] == "2.0"
    if "method" in frame:
        model = PARAMS.get(frame["method"])
        assert model or frame["method"].startswith(("_", "$")), frame
        if model:
            model.model_validate(frame["params"])
    elif "error" in frame:
        schema.Error.model_validate(frame["error"])
    else:
        RESULTS[asked[frame["id"]]].model_validate(frame["result"])


def test_every_frame_of_a_long_session_is_valid(repo: Path) -> None:
    job = "think hmm\nsay Hello\nwrite a.txt one\nedit a.txt one => two\nask May I\nrun true\nslow 3"
    asked: dict[Any, str] = {}
    seen: list[dict[str, Any]] = []

    with editor(repo, "-a", "demo", "--isolate", open=False) as client:

        def call(method: str, **params: Any) -> None:
            asked[client.last_id + 1] = method
            client.frames.clear()
            client.call(method, **params)
            seen.extend(client.frames)

        call("initialize", protocolVersion=1, clientCapabilities={})
        call("session/new", cwd=str(repo), mcpServers=[])
        session = seen[-1]["result"]["sessionId"]
        call("session/set_config_option", sessionId=session, configId="gzia_isolation", value="checkout")
        call("session/set_config_option", sessionId=session, configId="mode", value="write")
        call("session/set_mode", sessionId=session, modeId="ask")
        call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": job}])
        call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "Please tidy up a little."}])
        call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "fail because"}])
        call("session/prompt", sessionId="nobody", prompt=[{"type": "text", "text": "x"}])
        call("session/prompt", sessionId=session, prompt=[{"type": "tune"}])
        call("session/fork", sessionId=session, cwd="/")
        call("session/close", sessionId=session)

    kinds = {frame["params"]["update"]["sessionUpdate"] for frame in seen if frame.get("method") == "session/update"}
    assert {"agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"} <= kinds
    assert any(frame.get("method") == "session/request_permission" for frame in seen)
    for frame in seen:
        validate(frame, asked)


def test_the_validation_itself_can_fail() -> None:
    frame = json.loads('{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"x":1}}}')

    with pytest.raises(ValueError, match="update"):
        validate(frame, {})
