"""The demo agent: an ACP agent on standard input and output that needs no network, no key and no model.

It does what an agent does, small but real: it streams text, reports tool calls, plans and usage, asks for permission,
edits files in the session's directory, can be cancelled anywhere, can be steered, and can load what an earlier process
said.  An ordinary prompt becomes a small job in NOTES.md.  One whose every line is a directive is done line by line:

    say TEXT                 stream it                        think TEXT     stream it as a thought
    slow N                   stream N words                   big N          one chunk of N characters
    write PATH TEXT          a new text for a file            edit PATH OLD => NEW
    run COMMAND              a program and its arguments      ask TITLE      only the question
    hang                     until cancelled or steered
    fail TEXT                end the turn with an error       exit N         end the process

PATH is relative to the session's directory and must contain a dot or a slash.  Modes: ``ask`` asks before every change,
``write`` asks nothing, ``read`` changes nothing.  ``--pace SECONDS`` is the pause after each word (default 0.02).
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from functools import partial
from uuid import uuid4

from gzia.acp.agent import AgentSide
from gzia.acp.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND
from gzia.acp.events import Answer, ClientNotification, ClientRequest, Refused
from gzia.jsonrpc.messages import Closed, RequestId
from gzia.system.pump import Reader, Writer
from gzia.testing.script import text_of
from gzia.testing.transcript import Transcript
from gzia.testing.turn import Failure, Json, Session, Turn
from gzia.version import VERSION

STEERING = "_session/steering"
BACKLOG = 1 << 20  # bytes that a slow client may leave unread before the demo waits for it
CHOICES = {"mode": ("ask", "read", "write"), "model": ("small", "large")}
CAPABILITIES: Json = {
    "loadSession": True,
    "promptCapabilities": {"embeddedContext": True},
    "sessionCapabilities": {"close": {}, "resume": {}},
}


class RequestError(Exception):
    """A request that is answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Demo:
    """The agent's end of the connection."""

    def __init__(self, pace: float) -> None:
        self.pace = pace
        self.side = AgentSide(handles=frozenset({STEERING}))
        self.sessions: dict[str, Session] = {}
        self.asked: dict[int, asyncio.Future[Json]] = {}
        self.gone = asyncio.Event()
        self.writer = Writer(1, lambda error: self.gone.set())
        self.methods: dict[str, Callable[[Json], Json]] = {
            "initialize": self.initialize,
            "authenticate": lambda params: {},
            "session/new": self.new,
            "session/load": partial(self.load, replay=True),
            "session/resume": partial(self.load, replay=False),
            "session/close": self.close,
            "session/set_mode": lambda params: self.configure(
                {**params, "configId": "mode", "value": params["modeId"]}
            ),
            "session/set_config_option": self.configure,
            STEERING: self.steer,
        }

    async def main(self) -> None:
        """Serve until the client closes our standard input or no longer takes what we say."""
        reader = Reader(0, self.received)
        reader.start()
        await self.gone.wait()
        reader.close()
        tasks = [task for session in self.sessions.values() for task in session.turns.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.writer.close(1.0)

    # -- what comes in

    def received(self, data: bytes) -> None:
        for event in self.side.receive_data(data):
            match event:
                case ClientRequest():
                    self.requested(event)
                case ClientNotification("session/cancel", params):
                    self.cancel(params["sessionId"])
                case Answer() | Refused():
                    self.settle(event)
                case Closed():
                    self.gone.set()
        self.flush()

    def requested(self, request: ClientRequest) -> None:
        try:
            if request.method == "session/prompt":
                self.prompt(request.id, request.params)
            else:
                self.side.reply(request.id, self.result_of(request.method, request.params))
        except RequestError as error:
            self.side.reply_error(request.id, error.code, str(error))

    def result_of(self, method: str, params: Json) -> Json:
        act = self.methods.get(method)
        if act is None:
            raise RequestError(METHOD_NOT_FOUND, f"Method not found: {method}")
        return act(params)

    def settle(self, event: Answer | Refused) -> None:
        waiting = self.asked.pop(event.id, None)
        if waiting and not waiting.done():
            waiting.set_result(event.result if isinstance(event, Answer) else {})

    # -- sessions

    def initialize(self, params: Json) -> Json:
        return {
            "protocolVersion": 1,
            "agentInfo": {"name": "gzia-demo", "title": "Demo agent", "version": VERSION},
            "agentCapabilities": CAPABILITIES,
            "authMethods": [],
            "_meta": {"steering": {"supported": True, "idleBehaviors": ["promptRequired"]}},
        }

    def new(self, params: Json) -> Json:
        ident = uuid4().hex
        session = Session(ident, params["cwd"], Transcript.create(ident, params["cwd"]))
        self.sessions[ident] = session
        return {"sessionId": ident, **settings_of(session)}

    def load(self, params: Json, *, replay: bool) -> Json:
        transcript = Transcript.find(params["sessionId"])
        if transcript is None:
            raise RequestError(RESOURCE_NOT_FOUND, f"Unknown session: {params['sessionId']}")
        session = Session(params["sessionId"], params["cwd"], transcript)
        self.sessions[session.id] = session
        for update in transcript.updates() if replay else []:
            self.update(session.id, update)
        return settings_of(session)

    def close(self, params: Json) -> Json:
        session = self.session(params)
        self.cancel(session.id)
        del self.sessions[session.id]
        return {}

    def configure(self, params: Json) -> Json:
        session, key, value = self.session(params), params["configId"], params["value"]
        if value not in CHOICES.get(key, ()):
            raise RequestError(INVALID_PARAMS, f"{value} is not a value of {key}")
        session.config[key] = value
        if key == "mode":
            self.update(session.id, {"sessionUpdate": "current_mode_update", "currentModeId": value})
        return {"configOptions": settings_of(session)["configOptions"]}

    def session(self, params: Json) -> Session:
        session = self.sessions.get(params.get("sessionId", ""))
        if session is None:
            raise RequestError(RESOURCE_NOT_FOUND, f"Unknown session: {params.get('sessionId')}")
        return session

    # -- turns

    def prompt(self, ident: RequestId, params: Json) -> None:
        session = self.session(params)
        turn = Turn(session, self, self.pace)
        task = session.turns[turn] = asyncio.create_task(turn.run(text_of(params["prompt"])))
        task.add_done_callback(partial(self.turn_ended, ident, session, turn))

    def turn_ended(self, ident: RequestId, session: Session, turn: Turn, task: asyncio.Task[None]) -> None:
        del session.turns[turn]
        if task.cancelled():
            self.side.reply(ident, {"stopReason": "cancelled"})
        elif isinstance(error := task.exception(), Failure):
            self.side.reply_error(ident, INTERNAL_ERROR, str(error))
        elif error:
            raise error
        else:
            self.side.reply(ident, {"stopReason": "end_turn"})
        self.flush()

    def cancel(self, session_id: str) -> None:
        """Cancel the running turn and those that wait behind it; nothing when there is none."""
        session = self.sessions.get(session_id)
        for turn, task in list(session.turns.items()) if session else []:
            turn.is_open = False  # a steer that comes now would never be obeyed
            task.cancel()

    def steer(self, params: Json) -> Json:
        session, text = self.session(params), text_of(params.get("prompt", []))
        behaviour = params.get("_meta", {}).get("steering", {}).get("idleBehavior", "promptRequired")
        if behaviour != "promptRequired" or not text.strip():
            raise RequestError(INVALID_PARAMS, "Expected a text and the idleBehavior promptRequired")
        running = next((turn for turn in session.turns if turn.is_open), None)
        if running is None:
            return {"outcome": "promptRequired", "reason": "noRunningTurn"}
        running.steer(text)
        return {"outcome": "injected"}

    # -- what goes out: the Wire of a turn

    def update(self, session_id: str, update: Json) -> None:
        self.side.update(session_id, update)
        self.flush()

    async def permission(self, session_id: str, tool_call: Json, options: list[Json]) -> Json:
        ident = self.side.request_permission(session_id, tool_call, options)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self.asked[ident] = answer
        self.flush()
        return await answer

    async def drained(self) -> None:
        await self.writer.drained(BACKLOG)

    def flush(self) -> None:
        self.writer.write(self.side.data_to_send())


def settings_of(session: Session) -> Json:
    """The modes and configuration options of a session, as session/new answers them."""
    options = [
        {
            "id": key,
            "name": key.capitalize(),
            "category": key,
            "type": "select",
            "currentValue": session.config[key],
            "options": [{"value": value, "name": value.capitalize()} for value in values],
        }
        for key, values in CHOICES.items()
    ]
    modes = [{"id": mode, "name": mode.capitalize()} for mode in CHOICES["mode"]]
    return {"modes": {"currentModeId": session.config["mode"], "availableModes": modes}, "configOptions": options}


async def serve(pace: float) -> None:
    await Demo(pace).main()


def main() -> None:
    """The program; its arguments are the process's."""
    parser = argparse.ArgumentParser(prog="gzia-demo", description="The demo agent of gzia, over ACP on stdio.")
    parser.add_argument("--pace", type=float, default=0.02, metavar="SECONDS", help="pause after each word")
    asyncio.run(serve(parser.parse_args().pace))


if __name__ == "__main__":
    main()
