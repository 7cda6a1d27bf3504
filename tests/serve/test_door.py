"""The socket of a live session: who comes in sees what the editor sees, does what it does, and disturbs nobody."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gzia.agents.registry import Registry
from gzia.serve.door import GUESTS, Door
from gzia.session.host import Host, Live, Wanted
from gzia.system import local_socket
from tests.agents_for_tests import scripted, scripted_command
from tests.conftest import git
from tests.serve.editor import ENDS, editor
from tests.serve.guest import SOON, guest, journal, socket_of, unanswered
from tests.testing.client import Client, choose

T = TypeVar("T")
DONE: dict[str, Any] = {"result": {"stopReason": "end_turn"}}
WAITS: list[dict[str, Any]] = [{"say": "begun"}, {"wait": "_go"}, {"say": "more"}, DONE]


def behind(script: dict[str, Any]) -> tuple[str, ...]:
    return ("--agent-command", scripted_command(script))


def prompt(*steps: dict[str, Any]) -> tuple[str, ...]:
    return behind({"session/prompt": list(steps)})


def said(client: Client) -> list[str]:
    """The texts that the client was sent, with whose they are."""
    short = {"user_message_chunk": "person: ", "agent_message_chunk": "agent: "}
    return [short[one["sessionUpdate"]] + one["content"]["text"] for one in client.updates() if "content" in one]


def is_update(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "session/update"


def is_question(frame: dict[str, Any]) -> bool:
    return frame.get("method") == "session/request_permission"


# -- joining ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "before_the_answer", "history"),
    [
        ("session/new", [], ["person: say one", "agent: one"]),
        ("session/load", ["person: say one", "agent: one"], []),
        ("session/resume", [], []),
    ],
)
def test_a_guest_joins_with_what_was_said_before(
    repo: Path, method: str, before_the_answer: list[str], history: list[str]
) -> None:
    with editor(repo, "-a", "demo") as client:
        client.prompt("say one")
        with guest(repo, client.session) as other:
            joined = other.join(method)
            early = said(other)
            client.prompt("say two")
            other.read_until(lambda frame: is_update(frame) and said(other)[-1:] == ["agent: two"])

            assert (early, joined["_meta"]["gzia"]["session"]) == (before_the_answer, client.session)
            assert said(other)[len(early) :] == [*history, "person: say two", "agent: two"]


def test_what_a_guest_is_told_of_the_session_is_what_the_agent_offers(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        joined = other.join("session/new")
        listed = other.call("session/list")["sessions"]

        assert joined["sessionId"] == client.session
        assert [one["id"] for one in joined["configOptions"]] == ["mode", "model"]
        assert joined["modes"]["currentModeId"] == "ask"
        assert [(one["sessionId"], one["cwd"]) for one in listed] == [(client.session, str(repo))]


def test_every_client_sees_every_update_in_the_agents_order(repo: Path) -> None:
    steps = [{"say": f"{n} "} for n in range(200)]
    with editor(repo, *prompt(*steps, DONE)) as client, ExitStack() as stack:
        others = [stack.enter_context(guest(repo, client.session)) for _ in range(3)]
        for other in others:
            other.join()
        client.prompt("go")
        for other in others:
            other.read_until(lambda frame: is_update(frame) and "199 " in str(frame))

        assert client.text() == "".join(f"{n} " for n in range(200))
        assert [other.text() for other in others] == [client.text()] * 3


def test_a_guest_that_joins_in_mid_turn_misses_nothing(repo: Path) -> None:
    with editor(repo, *prompt(*WAITS)) as client, guest(repo, client.session) as other:
        turn = client.start_prompt("go")
        client.read_until(is_update)
        other.join("session/load")
        client.cancel()
        client.answer_to(turn)

        assert said(other) == ["person: go", "agent: begun"]


def test_what_a_guest_asks_the_editor_sees_and_the_guest_is_answered_after_its_updates(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        other.join()
        stop = other.prompt("say hello")
        client.frames.clear()
        client.prompt("say bye")

        assert (stop, other.text()) == ("end_turn", "hello")
        assert said(other) == ["agent: hello"]
        assert said(client) == ["person: say hello", "agent: hello", "agent: bye"]


def test_what_another_client_asks_is_shown_when_its_turn_starts(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        other.join()
        first = client.start_prompt("hang")
        client.call("session/list")
        second = other.start_prompt("say two")
        other.call("session/list")
        told = client.call("_session/steering", sessionId=client.session, prompt=[{"type": "text", "text": "say one"}])
        client.answer_to(first)
        other.answer_to(second)
        client.read_until(lambda frame: is_update(frame) and "'two'" in str(frame))

        assert told["outcome"] == "injected"
        assert said(client) == ["person: say one", "agent: one", "person: say two", "agent: two"]
        assert said(other) == ["person: hang", "person: say one", "agent: one", "agent: two"]


def test_a_guest_need_not_join_to_prompt_and_to_cancel(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        first = other.prompt("say hello")
        turn = other.start_prompt("hang")
        other.cancel()

        assert (first, other.answer_to(turn)["result"]["stopReason"]) == ("end_turn", "cancelled")
        assert other.updates() == []


def test_prompts_of_several_clients_run_one_after_another(repo: Path) -> None:
    with editor(repo, *prompt({"wait": "_go"}, {"say": "done"}, DONE)) as client, guest(repo, client.session) as other:
        turns = [client.start_prompt("one"), other.start_prompt("two")]
        other.call("session/list")  # so that both have arrived
        client.cancel()

        assert client.answer_to(turns[0])["result"]["stopReason"] == "cancelled"
        assert other.answer_to(turns[1])["result"]["stopReason"] == "cancelled"
    assert len(journal(repo, client.session, "prompt")) == 2


def test_a_guest_that_closes_the_session_only_leaves_it(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        other.join()
        left = other.call("session/close", sessionId=client.session)
        client.prompt("say unseen")
        other.frames.clear()
        other.join()
        client.prompt("say seen")
        other.read_until(is_update)

        assert left == {}
        assert said(other)[0] == "person: say seen"


BLOCKS = [{"type": "text", "text": "x"}]
ELSEWHERE: list[tuple[str, dict[str, Any]]] = [
    ("session/prompt", {"prompt": BLOCKS}),
    ("session/load", {"cwd": "/", "mcpServers": []}),
    ("session/resume", {"cwd": "/"}),
    ("session/close", {}),
    ("session/set_mode", {"modeId": "ask"}),
    ("session/set_config_option", {"configId": "a", "value": "b"}),
    ("_gzia/answer", {"permissionId": "p"}),
]


def test_a_guest_reaches_no_other_session(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        second = client.call("session/new", cwd=str(repo), mcpServers=[])["sessionId"]
        with guest(repo, client.session) as other:
            refused = [other.call(method, sessionId=second, **params) for method, params in ELSEWHERE]
            other.send({"method": "session/cancel", "params": {"sessionId": second}})
            paths = [other.call(method, sessionId="../x", **params) for method, params in ELSEWHERE]

            assert [(one["code"], one["data"]["code"]) for one in refused] == [(-32002, "session-not-open")] * 7
            assert [(one["code"], one["data"]["code"]) for one in paths] == [(-32602, "invalid-session-id")] * 7


def test_a_guest_changes_the_agents_options_but_not_those_of_gzia(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        change = {"sessionId": client.session, "configId": "model", "value": "large"}
        changed = other.call("session/set_config_option", **change)
        ours = other.call("session/set_config_option", **{**change, "configId": "gzia_permission"})
        lifted = other.call("session/set_mode", sessionId=client.session, modeId="write")

        assert [one["currentValue"] for one in changed["configOptions"]] == ["ask", "large"]
        assert (ours["data"]["code"], lifted["data"]["code"]) == ("option-settled", "mode-not-allowed")


def test_a_connection_joins_once(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        other.join()

        for method in ("session/new", "session/load", "session/resume"):
            assert other.join(method)["data"]["code"] == "session-open"


def test_a_change_of_choices_ends_the_guests_and_the_session_can_be_joined_again(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        with guest(repo, client.session) as other:
            other.join()
            choice = {"configId": "gzia_permission", "value": "autonomous"}
            client.call("session/set_config_option", sessionId=client.session, **choice)
            assert other.is_dropped()
        with guest(repo, client.session) as again:
            again.join()
            client.prompt("say hello")

            again.read_until(lambda frame: is_update(frame) and "agent_message_chunk" in str(frame))


# -- questions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["editor", "guest 1"])
def test_the_first_answer_counts_and_the_other_client_is_told(repo: Path, first: str) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session, policy=unanswered) as other:
        client.policy = unanswered
        other.join()
        turn = client.start_prompt("write new.txt hello")
        asked = {"editor": client.read_until(is_question), "guest 1": other.read_until(is_question)}
        fast, slow = (client, other) if first == "editor" else (other, client)
        fast.send({"id": asked[first]["id"], "result": {"outcome": choose("allow_once")(asked[first]["params"])}})
        taken_back = slow.read_until(lambda frame: frame.get("method") == "$/cancel_request")

        assert client.answer_to(turn)["result"]["stopReason"] == "end_turn"
        assert taken_back["params"]["requestId"] in [asked[name]["id"] for name in asked if name != first]
        assert [line["by"] for line in journal(repo, client.session, "permission") if "by" in line] == [first]
    assert (repo / "new.txt").exists()


def test_a_late_answer_changes_nothing(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session, policy=unanswered) as other:
        other.join()
        client.policy = choose("reject_once")
        client.prompt("write new.txt hello")
        question = other.read_until(is_question)
        other.send({"id": question["id"], "result": {"outcome": choose("allow_once")(question["params"])}})

        assert other.prompt("say still here") == "end_turn"
    assert not (repo / "new.txt").exists()


@pytest.mark.parametrize("method", ["session/new", "session/load", "session/resume"])
def test_a_guest_that_joins_is_asked_what_is_open(repo: Path, method: str) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        client.policy = unanswered
        turn = client.start_prompt("write new.txt hello")
        client.read_until(is_question)
        other.join(method)
        if not other.asked():
            other.read_until(is_question)

        assert client.answer_to(turn)["result"]["stopReason"] == "end_turn"
        assert len(other.asked()) == 1
    assert (repo / "new.txt").exists()


def test_a_guest_that_cannot_answer_leaves_the_question_to_the_others(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session, policy=unanswered) as other:
        client.policy = unanswered
        other.join()
        turn = client.start_prompt("write new.txt hello\nwrite two.txt hello")
        mine, theirs = client.read_until(is_question), other.read_until(is_question)
        other.send({"id": theirs["id"], "error": {"code": -32601, "message": "no such method"}})
        other.call("session/list")
        client.send({"id": mine["id"], "result": {"outcome": choose("allow_once")(mine["params"])}})
        client.policy = choose("allow_once")

        assert client.answer_to(turn)["result"]["stopReason"] == "end_turn"
        other.call("session/list")
        assert len(other.asked()) == 1
    assert (repo / "two.txt").exists()


def test_a_question_is_cancelled_when_nobody_is_left_to_answer(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session, policy=unanswered) as other:
        client.policy = unanswered
        other.join()
        other.start_prompt("write new.txt hello")
        other.read_until(is_question)
        client.stdin.close()
        other.call("session/close", sessionId=client.session)
        other.is_dropped()

        [answer] = [line for line in journal(repo, client.session, "permission") if line["state"] == "answered"]
        assert (answer["outcome"], answer["allowed"]) == ({"outcome": "cancelled"}, False)
    assert not (repo / "new.txt").exists()


def test_a_question_can_be_answered_by_its_name_without_joining(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        client.policy = unanswered
        turn = client.start_prompt("write new.txt hello")
        client.read_until(is_question)
        [line] = journal(repo, client.session, "permission")
        ask = {"sessionId": client.session, "permissionId": line["permission_id"]}
        wrong = other.call("_gzia/answer", **ask, outcome={"outcome": "selected", "optionId": "made-up"})
        yes = next(one["optionId"] for one in line["options"] if one["kind"] == "allow_once")
        taken = other.call("_gzia/answer", **ask, outcome={"outcome": "selected", "optionId": yes})
        late = other.call("_gzia/answer", **ask, outcome={"outcome": "cancelled"})

        assert client.answer_to(turn)["result"]["stopReason"] == "end_turn"
        assert (wrong["data"]["code"], taken, late) == ("unknown-option", {"taken": True}, {"taken": False})
    assert (repo / "new.txt").exists()


def test_an_answer_that_makes_no_sense_is_refused(repo: Path) -> None:
    bad: list[dict[str, Any]] = [{}, {"permissionId": 5}, {"permissionId": "p1"}]
    bad.append({"permissionId": "p1", "outcome": {"outcome": "yes"}})
    with editor(repo, "-a", "demo") as client:
        errors = [client.call("_gzia/answer", sessionId=client.session, **params) for params in bad]

        assert [(one["code"], one["data"]["code"]) for one in errors] == [(-32602, "invalid-params")] * 4


# -- guests that behave badly ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "garbage",
    [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n[]\n", b"\xff\n\xfe\n\xfd\n", b"{}\n7\n[1]\n", b"x" * (65 << 20)],
    ids=["http", "bytes", "json", "endless line"],
)
def test_a_guest_that_sends_garbage_is_dropped_alone(repo: Path, garbage: bytes) -> None:
    with editor(repo, *prompt(*WAITS)) as client, guest(repo, client.session) as other:
        other.join()
        turn = client.start_prompt("go")
        client.read_until(is_update)
        with guest(repo, client.session) as bad:
            bad.join()
            try:
                bad.connection.sendall(garbage)
            except ConnectionError:
                pass  # dropped before all of it was taken
            assert bad.is_dropped()
        client.cancel()

        assert client.answer_to(turn)["result"]["stopReason"] == "cancelled"
        assert other.call("session/list")["sessions"]


def test_wrong_requests_are_only_answered(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        codes = [other.call("no/such/method", x=1)["code"] for _ in range(10)]
        codes += [other.call("session/prompt", sessionId=client.session)["code"] for _ in range(10)]

        assert codes == [-32601] * 10 + [-32602] * 10
        assert other.prompt("say still here") == "end_turn"


def test_a_guest_that_hangs_up_in_mid_turn_harms_nobody(repo: Path) -> None:
    with editor(repo, *prompt(*WAITS)) as client:
        with guest(repo, client.session) as other:
            other.join()
            other.start_prompt("go")
            other.read_until(is_update)
        client.read_until(lambda frame: is_update(frame) and "begun" in str(frame))
        turn = client.start_prompt("next")
        client.cancel()

        assert client.answer_to(turn)["result"]["stopReason"] == "cancelled"
    assert [line["stop_reason"] for line in journal(repo, client.session, "prompt")] == ["cancelled"] * 2


def test_a_prompt_and_garbage_in_one_write_leave_the_prompt(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        words = f'{{"sessionId":"{client.session}","prompt":[{{"type":"text","text":"say from a guest"}}]}}'
        frame = f'{{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{words}}}\n'
        other.connection.sendall(frame.encode() + b"x\nx\nx\n")
        assert other.is_dropped()

        client.read_until(lambda frame: is_update(frame) and "from a guest" in str(frame))
        assert client.prompt("say still here") == "end_turn"


def test_no_more_than_a_number_of_guests_come_in(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, ExitStack() as stack:
        for _ in range(GUESTS):
            stack.enter_context(guest(repo, client.session))
        with socket.socket(socket.AF_UNIX) as one_more:
            one_more.settimeout(ENDS)
            one_more.connect(str(socket_of(repo, client.session)))

            assert one_more.recv(1) == b""
        assert client.prompt("say still here") == "end_turn"


STRANGER = """
import os, socket, sys
client = socket.socket(socket.AF_UNIX)
os.setgid(54321), os.setuid(54321)
client.connect(sys.argv[1])
sys.exit(len(client.recv(1)))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_not_let_in_even_where_the_files_would_allow_it(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        path = socket_of(repo, client.session)
        for above in (path.parent, *path.parent.parents):
            above.chmod(above.stat().st_mode | 0o011)
        path.chmod(0o666)

        assert subprocess.run([sys.executable, "-c", STRANGER, str(path)], timeout=ENDS, check=False).returncode == 0
        path.parent.chmod(0o700)
        with guest(repo, client.session) as other:
            assert other.prompt("say still here") == "end_turn"


def test_a_guest_that_takes_nothing_is_dropped_and_the_others_get_everything(repo: Path) -> None:
    script = {"session/prompt": [{"say": "x", "size": 4 << 20, "count": 4}, DONE]}

    async def work(live: Live) -> tuple[bool, int, int]:
        door = Door(live, mistaken, patience=0.3)
        door.open()
        stalled, reading = await joined(live), await joined(live)
        taking = asyncio.create_task(everything(reading))
        await live.conversation.prompt(BLOCKS)
        is_dropped = await asyncio.to_thread(hung_up, stalled)
        still = door.attached
        door.shut()
        await live.end()
        await door.close()
        stalled.close()
        return is_dropped, still, await taking

    is_dropped, still, taken = with_live(repo, script, work)

    assert (is_dropped, still, taken > 16 << 20) == (True, 1, True)


def with_live(where: Path, script: dict[str, Any], work: Callable[[Live], Coroutine[Any, Any, T]]) -> T:
    """Run ``work`` with a live session of this process, which it ends."""

    async def all() -> T:
        host = Host(Registry({"scripted": scripted(script)}))
        return await work(await host.begin(Wanted(where, "scripted", isolate=False)))

    return asyncio.run(asyncio.wait_for(all(), SOON))


def mistaken(bug: Exception) -> None:
    raise bug


async def joined(live: Live) -> socket.socket:
    """A connection that has joined the session and read its answer."""
    loop = asyncio.get_running_loop()
    connection = local_socket.connect(socket_of(live.service.root, live.id))
    params = {"sessionId": live.id, "cwd": "/"}
    frame = {"jsonrpc": "2.0", "id": 1, "method": "session/resume", "params": params}
    await loop.sock_sendall(connection, json.dumps(frame).encode() + b"\n")
    answer = b""
    while not answer.endswith(b"\n"):
        answer += await loop.sock_recv(connection, 4096)
    return connection


async def everything(connection: socket.socket) -> int:
    """Read to the end; how many bytes that were."""
    taken = 0
    with connection:
        while data := await asyncio.get_running_loop().sock_recv(connection, 1 << 20):
            taken += len(data)
    return taken


def hung_up(connection: socket.socket) -> bool:
    """Wait, reading nothing, until the other side has gone."""
    poll = select.poll()
    poll.register(connection, 0)  # hanging up is always told
    return bool(poll.poll(SOON * 1000))


# -- the end ---------------------------------------------------------------------------------------------------------


def test_when_the_session_ends_a_guest_gets_the_rest_and_then_the_end(repo: Path) -> None:
    with editor(repo, *prompt(*WAITS)) as client, guest(repo, client.session) as other:
        other.join()
        turn = other.start_prompt("go")
        other.read_until(is_update)
        client.call("session/close", sessionId=client.session)

        assert other.answer_to(turn)["result"]["stopReason"] == "cancelled"
        assert other.is_dropped()
        assert not socket_of(repo, client.session).exists()


def test_the_editors_end_leaves_the_session_to_its_guests_until_they_leave(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        client.prompt("say one")
        with guest(repo, client.session) as other:
            other.join()
            client.stdin.close()
            stop = other.prompt("write new.txt hello")

            assert (stop, other.asked()) == ("end_turn", ["Write new.txt"])
            assert client.process.poll() is None
        assert client.process.wait(ENDS) == 0
    assert (repo / "new.txt").exists()


def test_a_turn_that_runs_when_the_editor_goes_goes_on_for_the_guests(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        client.policy = unanswered
        other.policy = unanswered
        other.join()
        client.start_prompt("write new.txt hello")
        question = other.read_until(is_question)
        client.stdin.close()
        client.stdout.close()
        other.send({"id": question["id"], "result": {"outcome": choose("allow_once")(question["params"])}})
        other.prompt("say after")

        assert (repo / "new.txt").exists()


def test_a_guest_that_has_not_joined_holds_nothing(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        client.stdin.close()

        assert client.process.wait(ENDS) == 0
        assert other.is_dropped()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_session_also_under_guests(repo: Path, number: int) -> None:
    with editor(repo, "-a", "demo") as client, guest(repo, client.session) as other:
        other.join()
        client.stdin.close()
        other.call("session/list")
        client.process.send_signal(number)

        assert client.process.wait(ENDS) == 128 + number
        assert other.is_dropped()
        client.process.returncode = 0  # what the fixture expects of an editor that just goes


# -- the place -------------------------------------------------------------------------------------------------------


def test_directory_and_socket_are_private_and_go_with_the_session(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        path = socket_of(repo, client.session)
        modes = [stat.S_IMODE(one.lstat().st_mode) for one in (path.parent, path)]

        assert modes == [0o700, 0o600]
    assert list(path.parent.iterdir()) == []


def open_to_others(directory: Path) -> None:
    directory.mkdir()
    directory.chmod(0o755)


def link(directory: Path) -> None:
    (directory.parent / "elsewhere").mkdir(mode=0o700)
    directory.symlink_to("elsewhere")


@pytest.mark.parametrize("spoil", [open_to_others, link])
def test_without_a_private_directory_the_session_goes_on_and_says_so(repo: Path, spoil: Callable[[Path], None]) -> None:
    spoil(Path(os.environ["XDG_RUNTIME_DIR"]) / "gzia")

    with editor(repo, "-a", "demo") as client:
        assert client.prompt("say hello") == "end_turn"
        [told] = [line for line in journal(repo, client.session, "session") if line["state"] == "no-socket"]

    assert told["error"]["code"] == "directory-not-private"


def test_what_a_killed_process_left_is_replaced_by_the_next(repo: Path) -> None:
    with editor(repo, "-a", "demo") as client:
        client.prompt("say one")
        client.process.kill()
        client.process.wait(ENDS)
    session = client.session
    assert socket_of(repo, session).exists()

    with editor(repo, "-a", "demo", open=False) as client:
        client.call("initialize", protocolVersion=1, clientCapabilities={})
        client.call("session/load", sessionId=session, cwd=str(repo), mcpServers=[])
        with guest(repo, session) as other:
            assert other.join()["_meta"]["gzia"]["session"] == session


def test_a_session_in_a_worktree_is_found_from_the_project(repo: Path) -> None:
    with editor(repo, "-a", "demo", "--isolate") as client, guest(repo, client.session) as other:
        joined = other.join()

        assert joined["_meta"]["gzia"]["directory"] == str(repo / ".harness/worktrees" / client.session)
        assert git(repo, "status", "--porcelain") == ""
