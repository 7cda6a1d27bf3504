"""Both ends of a connection joined by a wire that is a function call, for tests that need both."""

from __future__ import annotations

from gzia.acp import events
from gzia.acp.agent import AgentSide
from gzia.acp.client import ClientSide
from gzia.jsonrpc import messages
from gzia.jsonrpc.connection import Connection


class ConnectionPair:
    """Two JSON-RPC ends; ``to_agent`` and ``to_client`` carry what was said and give what the other end makes of it."""

    def __init__(self) -> None:
        self.client = Connection(expects_noise=True)
        self.agent = Connection()

    def to_agent(self) -> list[messages.Event]:
        data = self.client.data_to_send()
        return self.agent.receive_data(data) if data else []

    def to_client(self) -> list[messages.Event]:
        data = self.agent.data_to_send()
        return self.client.receive_data(data) if data else []


class SidePair:
    """Both sides of ACP, likewise."""

    def __init__(self) -> None:
        self.client = ClientSide()
        self.agent = AgentSide()

    def to_agent(self) -> list[events.Event]:
        data = self.client.data_to_send()
        return self.agent.receive_data(data) if data else []

    def to_client(self) -> list[events.Event]:
        data = self.agent.data_to_send()
        return self.client.receive_data(data) if data else []
