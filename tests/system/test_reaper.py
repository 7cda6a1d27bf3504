"""Process number one of a container."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gzia.system import procfs
from gzia.system.reaper import adopt_orphans
from tests.system.watching import children

NAMESPACE = ["unshare", "-pf", "--mount-proc", sys.executable, "-S", "-c"]
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": str(Path(procfs.__file__).parents[2])}


def can_unshare() -> bool:
    try:
        return (
            subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True, check=False).returncode == 0
        )
    except FileNotFoundError:
        return False


in_a_container = pytest.mark.skipif(not can_unshare(), reason="no process namespace can be made here (unshare -pf)")


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Run it as process number one, after ``adopt_orphans``."""
    code = "from gzia.system.reaper import adopt_orphans\nadopt_orphans()\n" + program
    return subprocess.run([*NAMESPACE, code], env=ENVIRONMENT, capture_output=True, text=True, check=False)


def test_any_other_process_is_left_as_it_is() -> None:
    before = (os.getpid(), signal.getsignal(signal.SIGCHLD), children())

    adopt_orphans()

    assert before == (os.getpid(), signal.getsignal(signal.SIGCHLD), children())


SESSIONS = """import asyncio, os, subprocess
from pathlib import Path
from gzia.system import procfs
from gzia.system.process import start
ORPHANS = "for i in 1 2 3; do ( (exit 3) & (setsid sh -c 'exit 4' &) ); done; read line; exit 7"
async def session():
    agent = await start(["sh", "-c", ORPHANS], cwd=Path("/"), env={"PATH": os.environ["PATH"]})
    agent.read(lambda data: None)
    agent.stdin.write(b"\\n")
    return tuple(await agent.exited), tuple(await agent.end())
def command():
    "Like git: our own child, whose orphans go to process number one; prints the pid of one."
    done = subprocess.run(["sh", "-c", "(setsid sh -c 'echo $$; exit 4' &); exit 5"], stdout=subprocess.PIPE)
    return done.returncode, int(done.stdout)
async def main():
    statuses = [await session() for _ in range(10)]
    commands = [command() for _ in range(10)]
    os.kill(1, 28)  # it collects whoever has ended before it hands this on
    print(os.getpid() > 1, set(statuses), {code for code, _ in commands})
asyncio.run(main())
from gzia.system.procfs import table
for _ in range(1000):
    zombies = [pid for pid, entry in table().items() if entry.ended]
    if not zombies: break
print(zombies)
raise SystemExit(9)"""


@in_a_container
def test_PRO_11_no_zombie_piles_up_and_every_status_is_true() -> None:
    done = run(SESSIONS)

    assert (done.stdout, done.stderr) == ("True {((7, None), (7, None))} {5}\n[]\n", "")
    assert done.returncode == 9


@in_a_container
@pytest.mark.parametrize(("end", "status"), [("raise SystemExit(0)", 0), ("os.kill(os.getpid(), 9)", 128 + 9)])
def test_the_container_ends_with_the_programs_own_status(end: str, status: int) -> None:
    assert run(f"import os; {end}").returncode == status


@in_a_container
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGWINCH])
def test_a_signal_to_process_one_reaches_the_program(number: signal.Signals) -> None:
    program = f"""from gzia.system.reaper import adopt_orphans
adopt_orphans()
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [{number}])
print(flush=True)
sys.exit(40 if signal.sigwait([{number}]) else 1)"""
    with subprocess.Popen([*NAMESPACE, program], env=ENVIRONMENT, stdout=subprocess.PIPE) as outside:
        assert outside.stdout is not None
        outside.stdout.readline()
        [first] = children(outside.pid)

        os.kill(first, number)

    assert outside.returncode == 40


@in_a_container
def test_an_interrupt_from_the_terminal_arrives_once() -> None:
    program = """from gzia.system.reaper import adopt_orphans
adopt_orphans()
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
print("ready", flush=True)
signal.sigwait([signal.SIGINT])
print("interrupt", flush=True)
sys.stdin.readline()
print(signal.sigpending())"""
    controller, terminal = os.openpty()
    with subprocess.Popen(
        ["setsid", "-c", *NAMESPACE, program], env=ENVIRONMENT, stdin=terminal, stdout=subprocess.PIPE, text=True
    ) as outside:
        os.close(terminal)
        assert outside.stdout is not None
        assert outside.stdout.readline() == "ready\n"

        os.write(controller, b"\x03")
        assert outside.stdout.readline() == "interrupt\n"
        os.write(controller, b"\n")

        assert outside.stdout.read() == "set()\n"
    os.close(controller)
    assert outside.returncode == 0
