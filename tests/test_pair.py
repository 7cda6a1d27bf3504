from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gzia.jsonrpc.messages import Event, Request, Response
from tests.pair import ConnectionPair, SidePair

STEPS = st.lists(st.sampled_from(["client asks", "agent asks", "to agent", "to client"]), max_size=30)


def test_nothing_said_is_nothing_heard_and_not_the_end() -> None:
    pair, sides = ConnectionPair(), SidePair()

    assert pair.to_agent() == pair.to_client() == []
    assert sides.to_agent() == sides.to_client() == []
    assert not (pair.client.closed or pair.agent.closed or sides.client.closed or sides.agent.closed)


@settings(deadline=None)
@given(STEPS)
def test_both_sides_may_ask_at_any_time_and_each_gets_the_answers_to_its_own_questions(steps: list[str]) -> None:
    pair = ConnectionPair()
    asked: dict[str, list[int]] = {"client": [], "agent": []}
    answered: dict[str, list[int]] = {"client": [], "agent": []}

    def hear(name: str, events: list[Event]) -> None:
        end = pair.client if name == "client" else pair.agent
        for event in events:
            if isinstance(event, Request):
                end.reply(event.id, event.params)
            elif isinstance(event, Response):
                assert event.result == [name, event.id]
                answered[name].append(event.id)

    for step in [*steps, *["to agent", "to client"] * 2]:
        if step == "client asks":
            asked["client"].append(pair.client.request("m", ["client", len(asked["client"])]))
        elif step == "agent asks":
            asked["agent"].append(pair.agent.request("m", ["agent", len(asked["agent"])]))
        elif step == "to agent":
            hear("agent", pair.to_agent())
        else:
            hear("client", pair.to_client())

    assert answered == asked
