"""Agents as processes: what they get, how they end, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gzia.errors import FAILED, NOT_FOUND, GziaError
from gzia.system import procfs
from gzia.system.identity import identity_of
from gzia.system.process import EOF_SECONDS, TAIL_BYTES, Exit, start
from tests.system.watching import BOUND, children, comes_true, in_loop, started, still_running

PATH = {"PATH": os.environ["PATH"]}
PYTHON = (sys.executable, "-I", "-S", "-c")


@pytest.fixture(autouse=True)
def _a_failed_test_leaves_nothing_to_the_next() -> Iterator[None]:
    yield
    for child in children():
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


async def failure(*argv: str, cwd: Path = Path("/")) -> GziaError:
    with pytest.raises(GziaError) as caught:
        await start(argv, cwd=cwd, env=PATH)
    return caught.value


@in_loop
async def test_what_goes_in_comes_out_and_the_end_of_input_ends_a_good_agent() -> None:
    agent, output = await started("cat")
    agent.stdin.write(b"hello\n")
    await output.lines(1)

    exit = await agent.end()

    assert (exit, output.data, output.ends) == (Exit(0, None), b"hello\n", 1)


@in_loop
async def test_the_agent_gets_exactly_what_it_was_given(tmp_path: Path) -> None:
    look = """import json, os
open_ones = sorted(map(int, os.listdir("/proc/self/fd")))[:-1]
print(json.dumps([os.getcwd(), dict(os.environ), open_ones, os.getpgid(0) == os.getpid()]))"""
    agent, output = await started(*PYTHON, look, cwd=tmp_path, env={"LC_ALL": "C.UTF-8", "ODD": "é\udcff"})

    await output.end()

    environment = {**PATH, "LC_ALL": "C.UTF-8", "ODD": "é\udcff"}
    assert json.loads(output.data) == [str(tmp_path), environment, [0, 1, 2], True]
    assert await agent.end() == Exit(0, None)


@in_loop
async def test_no_signal_is_blocked_or_ignored_in_an_agent() -> None:
    agent, output = await started("grep", "-E", "SigBlk|SigIgn", "/proc/self/status")

    await output.end()

    assert output.data.split() == [b"SigBlk:", b"0" * 16, b"SigIgn:", b"0" * 16]
    await agent.end()


@in_loop
async def test_a_descriptor_that_is_passed_has_its_number_in_the_agent_and_is_open_nowhere_else(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    say = f"import os, sys; os.write({theirs}, b'through'); os.close({theirs}); sys.stdin.read()"
    agent = await start([*PYTHON, say], cwd=tmp_path, env=PATH, pass_fds=[theirs])
    os.close(theirs)

    with os.fdopen(ours, "rb") as pipe:
        assert pipe.read() == b"through"  # to its end, while agent and guardian live
    await agent.end()


@in_loop
async def test_a_large_command_and_environment_arrive_whole() -> None:
    agent, output = await started("printenv", "BIG", "EMPTY", env={"BIG": "x" * 100_000, "EMPTY": ""})

    await output.end()

    assert output.data == b"x" * 100_000 + b"\n\n"
    await agent.end()


@in_loop
async def test_pid_and_identity_are_the_agents_own() -> None:
    agent, output = await started("sh", "-c", "echo $$; exec cat")

    await output.lines(1)

    assert agent.pid == int(output.data)
    assert agent.identity == identity_of(agent.pid)
    await agent.end()


@pytest.mark.parametrize(
    ("script", "exit", "text"),
    [
        ("exit 0", Exit(0, None), "exit status 0"),
        ("exit 3", Exit(3, None), "exit status 3"),
        ("exit 255", Exit(255, None), "exit status 255"),
        ("kill -KILL $$", Exit(None, 9), "signal 9 (SIGKILL)"),
        ("kill -SEGV $$", Exit(None, 11), "signal 11 (SIGSEGV)"),
        ("kill -40 $$", Exit(None, 40), "signal 40"),
    ],
)
def test_the_exit_is_the_agents_own_and_true(script: str, exit: Exit, text: str) -> None:
    async def scenario() -> Exit:
        agent, _ = await started("sh", "-c", script)
        async with asyncio.timeout(BOUND):
            ended = await agent.exited
        assert await agent.end() == ended
        return ended

    ended = asyncio.run(scenario())

    assert (ended, ended.describe()) == (exit, text)
    assert ended.status == (exit.code if exit.signal is None else 128 + exit.signal)


@in_loop
async def test_an_agent_that_is_slow_to_close_is_not_interrupted() -> None:
    slow = f"cat; sleep {EOF_SECONDS / 3}; echo saved"
    agent, output = await started("sh", "-c", slow)

    exit = await agent.end()

    assert (exit, output.data) == (Exit(0, None), b"saved\n")


@in_loop
async def test_input_that_was_written_before_the_end_still_arrives() -> None:
    agent, output = await started("wc", "-c")
    agent.stdin.write(b"x" * 3_000_000)

    exit = await agent.end()

    assert (exit, output.data.strip()) == (Exit(0, None), b"3000000")


@in_loop
async def test_the_last_output_of_an_agent_that_ends_by_itself_is_not_lost_by_a_late_reader() -> None:
    agent = await start(["sh", "-c", "echo last words; exit 1"], cwd=Path("/"), env=PATH)
    await agent.exited
    await asyncio.wait_for(asyncio.shield(agent._leash.gone), BOUND)
    got: list[bytes] = []

    agent.read(got.append)
    await agent.end()

    assert b"".join(got) == b"last words\n"


LEAVERS = {
    "in the group": "sleep 600 & echo $!; wait",
    "in a session of its own": "setsid sleep 600 & echo $!; wait",
    "with stdout closed and stderr open": "sleep 600 >&- & echo $!; wait",
    "that ignores TERM": "trap '' TERM; sh -c 'echo $$; while :; do sleep 600; done' & wait",
    "in a session of its own, that ignores TERM": "trap '' TERM; setsid sh -c 'echo $$; read x; sleep 600' & wait",
    "that is stopped": "sleep 600 & kill -STOP $!; echo $!; wait",
    "whose parent is gone": "(setsid sh -c 'sleep 600 & echo $!' &); cat; sleep 600",
}


@pytest.mark.parametrize("script", LEAVERS.values(), ids=LEAVERS)
def test_PRO_03_no_grandchild_outlives_the_end_or_delays_it(script: str) -> None:
    async def scenario() -> None:
        agent, output = await started("sh", "-c", f"echo so far; {script}")
        grandchild = int((await output.lines(2))[1])
        begin = time.monotonic()

        await agent.end(grace=0.3)

        assert time.monotonic() - begin < EOF_SECONDS + 0.3 + 2
        assert (procfs.stat(grandchild), procfs.stat(agent.pid), children()) == (None, None, [])
        assert (output.data, output.ends) == (f"so far\n{grandchild}\n".encode(), 1)

    asyncio.run(scenario())


@pytest.mark.parametrize("script", LEAVERS.values(), ids=LEAVERS)
def test_PRO_03_what_an_agent_leaves_behind_is_ended_unasked(script: str) -> None:
    async def scenario() -> None:
        agent, output = await started("sh", "-c", f"echo so far; {script}", env=MARK)
        grandchild = int((await output.lines(2))[1])
        [guardian] = children()

        os.kill(agent.pid, signal.SIGKILL)

        assert await agent.exited == Exit(None, signal.SIGKILL)
        assert still_running([grandchild, guardian]) == set()
        assert await agent.end() == Exit(None, signal.SIGKILL)
        assert (procfs.stat(grandchild), output.ends, children()) == (None, 1, [])

    asyncio.run(scenario())


@in_loop
async def test_PRO_03_an_agent_that_ignores_everything_is_killed_after_the_grace() -> None:
    deaf = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(flush=True)\nwhile 1: signal.pause()"
    agent, output = await started(*PYTHON, deaf)
    await output.lines(1)
    begin = time.monotonic()

    exit = await agent.end(grace=0.5)

    assert exit == Exit(None, signal.SIGKILL)
    assert EOF_SECONDS + 0.5 <= time.monotonic() - begin < EOF_SECONDS + 0.5 + 2


@in_loop
async def test_PRO_03_somebody_elsewhere_who_holds_the_output_delays_nobody(tmp_path: Path) -> None:
    give = """import socket, sys
friend = socket.socket(socket.AF_UNIX)
friend.connect(sys.argv[1])
socket.send_fds(friend, [b"x"], [1, 2])
print("given", flush=True)
sys.stdin.read()"""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "s"))
        listening.listen()
        agent, output = await started(*PYTHON, give, str(tmp_path / "s"))
        await output.lines(1)
        taken, _ = listening.accept()
        with taken:
            _, held, _, _ = socket.recv_fds(taken, 1, 2)

        exit = await agent.end()

    assert (exit, output.data, output.ends) == (Exit(0, None), b"given\n", 1)
    for fd in held:
        os.close(fd)


@in_loop
async def test_a_second_end_with_less_grace_cuts_the_first_one_short() -> None:
    agent, output = await started("sh", "-c", "trap '' TERM; echo; cat; while :; do sleep 600; done")
    await output.lines(1)
    begin = time.monotonic()
    patient = asyncio.create_task(agent.end(grace=600))
    await agent.stdin.drained()

    assert await agent.end(grace=0) == Exit(None, signal.SIGKILL)
    assert await patient == Exit(None, signal.SIGKILL)
    assert await agent.end() == Exit(None, signal.SIGKILL)
    assert time.monotonic() - begin < BOUND


@in_loop
async def test_a_start_that_is_cancelled_leaves_nothing() -> None:
    starting = asyncio.create_task(start(["sleep", "600"], cwd=Path("/"), env=PATH))
    await asyncio.sleep(0)  # its first step
    assert len(children()) == 1

    starting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await starting
    assert children() == []


@in_loop
async def test_waiting_for_the_exit_with_a_limit_does_not_break_the_end() -> None:
    agent, _ = await started("cat")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(agent.exited, 0)

    assert await agent.end() == Exit(0, None)


MARK = {"GZIA_SESSION": "s1", "GZIA_ROOT": "/a root"}


@in_loop
async def test_a_guardian_that_is_killed_takes_the_agent_and_what_carries_its_mark_along() -> None:
    agent, output = await started("sh", "-c", "setsid sh -c 'echo $$; sleep 600; :' & wait", env=MARK)
    grandchild = int((await output.lines(1))[0])
    [guardian] = children()

    os.kill(guardian, signal.SIGKILL)

    assert await agent.exited == Exit(None, signal.SIGKILL)
    await output.end()
    assert still_running([agent.pid, grandchild]) == set()
    assert await agent.end() == Exit(None, signal.SIGKILL)


@in_loop
async def test_an_agent_without_a_mark_dies_with_its_guardian_and_so_does_its_group() -> None:
    agent, output = await started("sh", "-c", "trap '' TERM; sleep 600 & echo $!; cat; wait")
    child = int((await output.lines(1))[0])
    [guardian] = children()

    os.kill(guardian, signal.SIGKILL)

    assert still_running([agent.pid]) == set()
    assert await agent.end() == Exit(None, signal.SIGKILL)
    assert still_running([child]) == set()


@in_loop
async def test_an_agent_that_is_stopped_can_still_end_in_its_own_way() -> None:
    agent, output = await started("sh", "-c", "trap 'echo saved; exit 5' TERM; echo $$; kill -STOP $$; cat; cat")
    await output.lines(1)

    exit = await agent.end(grace=BOUND)

    assert (exit, output.data.splitlines()[1:]) == (Exit(5, None), [b"saved"])


@in_loop
async def test_a_guardian_does_not_hear_what_ends_other_programs() -> None:
    agent, output = await started("cat")
    [guardian] = children()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        os.kill(guardian, number)

    agent.stdin.write(b"still here\n")

    assert await output.lines(1) == ["still here"]
    assert os.getsid(guardian) == guardian
    assert await agent.end() == Exit(0, None)


PARENT = """import asyncio, os, sys
from pathlib import Path
from gzia.system.process import start
async def main():
    agents = []
    for script in sys.argv[1:]:
        agent = await start(["sh", "-c", script], cwd=Path("/"), env={"PATH": os.environ["PATH"]}, grace=0.3)
        agent.read(lambda data: os.write(1, data))
        agents.append(agent)
    print(*(agent.pid for agent in agents), flush=True)
    await asyncio.Event().wait()
asyncio.run(main())"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_nothing_outlives_a_signal_to_gzias_whole_group(number: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *LEAVERS.values()],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0,
        env={**PATH, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert parent.stdout is not None
    with parent, parent.stdout as lines:
        pids = [int(pid) for _ in range(1 + len(LEAVERS)) for pid in lines.readline().split()]
        guardians = children(parent.pid)
        begin = time.monotonic()

        os.killpg(parent.pid, number)

        assert still_running([*pids, *guardians]) == set()
        assert time.monotonic() - begin < 5
    assert (len(pids), len(guardians)) == (2 * len(LEAVERS), len(LEAVERS))


@in_loop
async def test_PRO_06_a_talkative_stderr_stalls_nobody() -> None:
    talk = """import sys
def say(size): sys.stderr.buffer.write(b"\\xff\\xfe" * (size // 2)); sys.stderr.flush()
say(65538); say(5_000_000)
print("answer", sys.stdin.readline().strip(), flush=True)
say(1_000_000)
print("done", flush=True)
sys.stderr.write("x" * 10_000 + "the end")"""
    agent, output = await started(*PYTHON, talk)
    agent.stdin.write(b"question\n")

    lines = await output.lines(2)

    assert lines == ["answer question", "done"]
    assert await agent.end() == Exit(0, None)
    assert agent.stderr_tail() == "x" * (TAIL_BYTES - len("the end")) + "the end"


@in_loop
async def test_PRO_06_a_tail_that_is_not_utf8_can_still_be_read() -> None:
    agent, output = await started("sh", "-c", r"printf 'bad \377 byte' >&2")

    await output.end()

    await agent.end()
    assert agent.stderr_tail() == "bad � byte"


ORPHANS = "for i in 1 2 3; do ( (exit 3) & (setsid sh -c 'exit 4' &) ); done; read line; exit 7"


async def sessions_with_orphans(count: int) -> list[Exit]:
    exits = []
    for _ in range(count):
        agent, output = await started("sh", "-c", ORPHANS)
        agent.stdin.write(b"\n")
        await output.end()
        exits.append(await agent.end())
    return exits


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.long)])
def test_PRO_11_sessions_leave_no_zombie_and_keep_their_true_status(count: int) -> None:
    exits = asyncio.run(sessions_with_orphans(count))

    assert exits == [Exit(7, None)] * count
    assert children() == []


@in_loop
async def test_PRO_11_orphans_of_a_running_agent_are_collected() -> None:
    agent, output = await started("sh", "-c", "for i in 1 2 3 4 5; do (setsid sh -c 'echo $$' &); done; cat")
    orphans = [int(line) for line in await output.lines(5)]
    [guardian] = children()

    assert still_running(orphans) == set()
    assert await comes_true(lambda: children(guardian) == [agent.pid])
    await agent.end()


@in_loop
async def test_many_agents_at_once_end_together() -> None:
    many = await asyncio.gather(*(started("cat") for _ in range(20)))
    for number, (agent, _) in enumerate(many):
        agent.stdin.write(f"{number}\n".encode())

    exits = await asyncio.gather(*(agent.end() for agent, _ in many))

    assert exits == [Exit(0, None)] * 20
    assert [output.data for _, output in many] == [f"{number}\n".encode() for number in range(20)]


@in_loop
async def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    error = await failure("no-such-agent", cwd=tmp_path)

    assert (error.code, error.exit_status, error.data) == ("agent-not-found", NOT_FOUND, {"program": "no-such-agent"})
    assert "no-such-agent" in error.message
    assert children() == []


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [
        ("#!/bin/sh\n", 0o600, "Permission denied"),
        ("#!/no/such/interpreter\n", 0o700, "its first line names an interpreter that is not there"),
        ("no program at all", 0o700, "Exec format error"),
    ],
)
def test_a_program_that_cannot_run_says_why(tmp_path: Path, content: str, mode: int, reason: str) -> None:
    program = tmp_path / "agent"
    program.write_text(content)
    program.chmod(mode)

    error = asyncio.run(failure(str(program)))

    assert (error.code, error.exit_status) == ("agent-not-executable", FAILED)
    assert error.message == f"The program {program} could not be started: {reason}."


@in_loop
async def test_a_word_with_a_nul_byte_is_refused() -> None:
    assert (await failure("echo", "a\0b")).code == "agent-not-executable"


@in_loop
async def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    error = await failure("cat", cwd=tmp_path / "gone")

    assert (error.code, error.exit_status) == ("directory-not-found", NOT_FOUND)
    assert str(tmp_path / "gone") in error.message
    assert children() == []


FORKERS = {
    "many in its group": """
for _ in range(3): os.fork()
print(flush=True)
while 1:
    time.sleep(0.002)
    if os.fork(): os._exit(0)""",
    "one that is another process in another session each time": """
print(flush=True)
while 1:
    time.sleep(0.005)
    if os.fork(): os._exit(0)
    os.setsid()""",
}
DEAF = "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)"


@pytest.mark.parametrize("program", FORKERS.values(), ids=FORKERS)
def test_PRO_03_a_tree_that_keeps_forking_is_ended_too(program: str) -> None:
    async def scenario() -> None:
        agent, output = await started(*PYTHON, DEAF + program)
        await output.lines(1)
        begin = time.monotonic()

        await agent.end(grace=0.2)

        assert time.monotonic() - begin < 10
        assert (agent.left, children()) == ((), [])

    asyncio.run(scenario())
