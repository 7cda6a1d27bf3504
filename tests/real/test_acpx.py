"""``acpx``, an ACP client from npm that is not ours, drives ``gzia acp serve``."""

from __future__ import annotations

import pytest

from tests.real.conftest import Make
from tests.real.world import World, lines

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]  # the first run installs the agents


@pytest.fixture
def demo(make: Make) -> World:
    return make("demo")


def test_one_prompt(demo: World) -> None:
    done = demo.run(*demo.acpx("exec", "say hello from acpx"))

    assert (done.returncode, "hello from acpx" in done.stdout, "[done] end_turn" in done.stdout) == (0, True, True), (
        done
    )


def test_the_frames_of_both_directions(demo: World) -> None:
    done = demo.run(*demo.acpx("--format", "json", "--json-strict", "exec", "say hello"))

    frames = lines(done.stdout)
    texts = [frame["params"]["update"].get("content") for frame in frames if frame.get("method") == "session/update"]
    assert {"type": "text", "text": "hello"} in texts
    assert [f["result"]["stopReason"] for f in frames if "stopReason" in (f.get("result") or {})] == ["end_turn"]
    assert done.returncode == 0


def test_an_allowed_change_is_made(demo: World) -> None:
    done = demo.run(*demo.acpx("--approve-all", "exec", "edit f.txt one => two"))

    assert (done.returncode, (demo.repo / "f.txt").read_text()) == (0, "two\n"), done


def test_a_denied_change_is_not_made(demo: World) -> None:
    done = demo.run(*demo.acpx("--deny-all", "exec", "edit f.txt one => two"))

    assert (done.returncode, (demo.repo / "f.txt").read_text()) == (5, "one\n"), done


def test_a_session_that_lasts_takes_turns_and_can_be_cancelled(demo: World) -> None:
    name = ("-s", "one")
    assert demo.run(*demo.acpx("--ttl", "60", "sessions", "new", "--name", "one")).returncode == 0
    first = demo.run(*demo.acpx("--ttl", "60", "prompt", *name, "say first"))

    with demo.start(*demo.acpx("--ttl", "60", "--format", "json", "prompt", *name, "say started\nhang")) as waiting:
        assert waiting.stdout is not None
        while "started" not in waiting.stdout.readline():
            pass
        cancelled = demo.run(*demo.acpx("cancel", *name))
        rest = waiting.stdout.read()
    second = demo.run(*demo.acpx("--ttl", "60", "prompt", *name, "say second"))
    closed = demo.run(*demo.acpx("sessions", "close", "one"))

    assert "first" in first.stdout
    assert (cancelled.returncode, '"stopReason":"cancelled"' in rest) == (0, True), rest
    assert "second" in second.stdout
    assert closed.returncode == 0


@pytest.mark.parametrize("agent", ["opencode", "claude"])
def test_a_real_agent_behind_us(make: Make, agent: str) -> None:
    world = make(agent)
    script = f"{{{{read {world.repo}/f.txt}}}}{{{{edit {world.repo}/f.txt one=>two}}}}{{{{say finished}}}}"

    done = world.run(*world.acpx("--approve-all", "exec", script))

    assert (done.returncode, (world.repo / "f.txt").read_text()) == (0, "two\n"), done
    assert "finished" in done.stdout
