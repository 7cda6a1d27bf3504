"""Messages into the running turn of real agents; the witness is the log of the model's server."""

from __future__ import annotations

import pytest

from tests.real.conftest import Make
from tests.real.script import Script, at, first_received, is_kind, is_settled, is_update, script

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]  # the first run installs the agents

NATIVE = pytest.mark.parametrize("agent", ["claude", "codex"])
TALK = "{{slow 40 0.05}}"
TOOL = "{{bash sleep 1.5; echo out}}{{say finished}}"


def told(session: Script, steer_id: str) -> tuple[str, bool, str]:
    """What the journal says of a steer: its outcome, whether it was written, and what came of it."""
    line, note = session.only("steer", steer_id=steer_id), session.only("steer_note", steer_id=steer_id)
    return line["outcome"], line["write_admitted"], note["acted"]


@NATIVE
def test_a_steer_while_the_agent_speaks_is_in_its_turn(make: Make, agent: str) -> None:
    with script(make(agent)) as session:
        session.say({"prompt": TALK})
        session.until(is_update("agent_message_chunk"))
        session.say({"steer": "please use blue", "id": "one"})
        session.until(is_kind("steer_note"))

    assert told(session, "one") == ("injected", True, "yes"), session.lines[-9:]
    assert session.was_received_in(1, "please use blue")
    assert "STEERED<please use blue>" in session.text(1)


@NATIVE
def test_a_steer_while_a_tool_runs_is_in_its_turn(make: Make, agent: str) -> None:
    with script(make(agent)) as session:
        session.say({"prompt": TOOL})
        session.until(is_update("tool_call"))
        session.say({"steer": "please use blue", "id": "one"})
        session.until(is_kind("steer_note"))

    assert told(session, "one") == ("injected", True, "yes"), session.lines[-9:]
    assert session.was_received_in(1, "please use blue")
    assert "STEERED<please use blue>" in session.text(1)


@NATIVE
def test_a_steer_while_a_question_is_open_is_in_its_turn(make: Make, agent: str) -> None:
    with script(make(agent), "supervised") as session:
        session.say({"prompt": f"{{{{bash touch {session.world.worktree}/made.txt}}}}{{{{say finished}}}}"})
        asked = session.until(is_kind("permission", state="asked"))
        session.say({"steer": "please use blue", "id": "one"})
        session.until(is_settled("one"))
        session.say({"permission": asked["permission_id"], "kind": "allow_once"})
        session.until(is_kind("steer_note"))

    assert told(session, "one") == ("injected", True, "yes"), session.lines[-9:]
    assert session.was_received_in(1, "please use blue")
    assert (session.world.worktree / "made.txt").exists()


@NATIVE
def test_a_steer_in_one_burst_with_its_prompt_is_in_its_turn(make: Make, agent: str) -> None:
    with script(make(agent)) as session:
        session.say({"prompt": TALK}, {"steer": "please use blue", "id": "one"})
        session.until(is_kind("steer_note"))

    assert told(session, "one") == ("injected", True, "yes"), session.lines[-9:]
    assert session.was_received_in(1, "please use blue")


@NATIVE
def test_three_steers_in_one_burst_are_in_the_turn_in_their_order(make: Make, agent: str) -> None:
    with script(make(agent)) as session:
        session.say({"prompt": TALK})
        session.until(is_update("agent_message_chunk"))
        session.say(*({"steer": f"please use {colour}", "id": colour} for colour in ("blue", "red", "green")))
        session.until(*(is_kind("steer_note", steer_id=colour) for colour in ("blue", "red", "green")))

    assert [told(session, colour) for colour in ("blue", "red", "green")] == [("injected", True, "yes")] * 3
    assert "STEERED<please use blue> STEERED<please use red> STEERED<please use green>" in session.text(1)


@NATIVE
def test_a_steer_without_a_turn_never_reaches_the_agent(make: Make, agent: str) -> None:
    with script(make(agent)) as session:
        session.turn("{{say first}}")
        session.say({"steer": "please use blue", "id": "one"})
        line = session.until(is_settled("one"))
        session.turn("{{say second}}")

    assert (line["outcome"], line["write_admitted"], line["turn"]) == ("unsupported", False, None)
    assert first_received(session.world, "please use blue") is None


@NATIVE
def test_a_steer_without_a_turn_becomes_one_where_that_is_wanted(make: Make, agent: str) -> None:
    with script(make(agent)) as session:
        session.turn("{{say first}}")
        session.say({"steer": "{{say blue it is}}", "id": "one", "fallback": "queue"})
        session.until(is_kind("prompt"))

    assert session.only("steer")["outcome"] == "unsupported"
    assert session.only("input", input="prompt", turn=2)["steer_id"] == "one"
    assert session.text(2) == "blue it is"


# -- opencode: a second prompt joins the first -------------------------------------------------------------------------


@pytest.mark.parametrize("prompt", [TALK, TOOL], ids=["text", "tool"])
def test_opencode_takes_a_second_prompt_into_its_turn(make: Make, prompt: str) -> None:
    with script(make("opencode")) as session:
        session.say({"prompt": prompt})
        session.until(is_update("tool_call" if prompt == TOOL else "agent_message_chunk"))
        session.say({"steer": "please use blue", "id": "one"})
        session.until(is_kind("steer_note"))

    assert told(session, "one") == ("injected", True, "yes"), session.lines[-9:]
    assert session.was_received_in(1, "please use blue")


def test_opencode_ends_its_turn_at_a_refusal_and_did_not_act_on_what_it_took(make: Make) -> None:
    with script(make("opencode"), "supervised") as session:
        session.say({"prompt": f"{{{{bash touch {session.world.worktree}/made.txt}}}}{{{{say finished}}}}"})
        asked = session.until(is_kind("permission", state="asked"))
        session.say({"steer": "please use blue", "id": "one"})
        session.say({"permission": asked["permission_id"], "kind": "reject_once"})
        session.until(is_kind("prompt"), is_settled("one"))
        session.turn("{{say second}}")

    line, acted = session.only("steer"), [note["acted"] for note in session.of("steer_note")]
    in_turn = session.was_received_in(1, "please use blue")
    assert (line["outcome"], acted) in [("injected", ["yes" if in_turn else "unlikely"]), ("delivery_unknown", [])]


def test_opencode_keeps_no_promise_after_a_cancel(make: Make) -> None:
    with script(make("opencode")) as session:
        session.say({"prompt": TALK})
        session.until(is_update("agent_message_chunk"))
        session.say({"steer": "please use blue", "id": "one"}, {"cancel": True})
        session.until(is_kind("prompt"), is_settled("one"))
        session.turn("{{say second}}")

    line = session.only("steer")
    in_turn = session.was_received_in(1, "please use blue")
    assert (line["outcome"], in_turn) != ("injected", False), session.lines[-9:]
    if line["outcome"] in ("fallback_required", "unsupported"):
        assert first_received(session.world, "please use blue") is None


# -- agents whose turn a second prompt would end or garble -------------------------------------------------------------


@pytest.mark.parametrize("agent", ["gemini", "pi"])
def test_an_agent_without_a_lane_gets_nothing_before_its_turn_has_ended(make: Make, agent: str) -> None:
    with script(make(agent)) as session:
        session.say({"prompt": TALK})
        session.until(is_update("agent_message_chunk"))
        session.say({"steer": "please use red", "id": "refused"})
        session.say({"steer": "please use blue", "id": "queued", "fallback": "queue"})
        session.until(is_kind("prompt", turn=2))

    assert [line["outcome"] for line in session.of("steer")] == ["unsupported", "unsupported"], session.lines[-9:]
    assert session.only("prompt", turn=1)["stop_reason"] == "end_turn"
    assert session.text(1).split()[-1] == "w39"
    received = first_received(session.world, "please use blue")
    assert received is not None and received > at(session.only("prompt", turn=1))
    assert first_received(session.world, "please use red") is None
