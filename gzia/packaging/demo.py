"""``./build.sh demo``: the main job with the embedded demo agent, as a person sees it, in a throw-away repository.

    python -m gzia.packaging.demo dist/gzia

Everything is real: the file that was just built, git, and a terminal, on which the question for a permission is
answered.  Ends with a status other than 0 when a command does not do its part.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path

PROMPT = "Look around and note down what you find"
RESULT = "NOTES.md"  # what the demo agent makes of any ordinary prompt

PROJECT = """
git init --quiet --initial-branch main
git config user.name Ann
git config user.email ann@example.org
git config commit.gpgsign false
git config core.pager cat
git add README.md
git commit --quiet --message "A small project"
"""

QUESTION, END_OF_QUESTION, ANSWER = b"Allow?", b"> ", b"y\n"
DEADLINE = 60  # seconds for one command


def main(file: str) -> None:
    with tempfile.TemporaryDirectory(prefix="gzia-demo-") as name:
        folder = Path(name)
        demo = Demo(folder / "project", environment(folder, Path(file).resolve()))
        demo.prepare()
        demo.show(f"gzia run -a demo {shlex.quote(PROMPT)}")
        session = json.loads(demo.ask("gzia", "--json", "list"))["sessions"][0]["id"]
        demo.show("gzia list")
        demo.show(f"gzia diff {session}")
        if (demo.directory / RESULT).exists():
            raise SystemExit("demo: the checkout was changed before the merge")
        demo.show("ls")
        demo.show(f"gzia merge {session}")
        demo.show(f"cat {RESULT}")
        demo.show("git log --oneline")
        demo.show("gzia run -a demo --id talk --detach hang")  # the demo agent waits until it is cancelled or steered
        demo.show("gzia steer talk --wait 'say Thank you.'")
        demo.show("gzia wait talk")
        demo.show("gzia read talk --stat")
    say("\nThat was dist/gzia with its demo agent; the repository is gone again.  Next: dist/gzia --help\n")


def environment(folder: Path, file: Path) -> dict[str, str]:
    """The caller's environment with ``gzia`` in PATH, and with settings and state that go when ``folder`` goes."""
    (folder / "bin").mkdir()
    (folder / "run").mkdir(mode=0o700)
    (folder / "bin/gzia").symlink_to(file)
    named = {"XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run", "TMPDIR": ""}
    own = {variable: str(folder / name) for variable, name in named.items()}
    plain = {} if sys.stdout.isatty() else {"NO_COLOR": "1", "TERM": "dumb"}
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "GZIA_SESSION", "GZIA_ROOT"))
    }
    return {**kept, **own, **plain, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}


class Demo:
    """A repository and the commands that are shown in it."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self.directory = directory
        self._environment = environment

    def prepare(self) -> None:
        """A project with one commit and an author, whatever git knows about the caller."""
        self.directory.mkdir()
        (self.directory / "README.md").write_text("A small project.\n", encoding="utf-8")
        for line in PROJECT.strip().splitlines():
            self.ask(*shlex.split(line))

    def ask(self, *words: str) -> str:
        """What a command prints to a program; not shown."""
        done = subprocess.run(words, cwd=self.directory, env=self._environment, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"demo: {shlex.join(words)} ended with status {done.returncode}")
        return done.stdout

    def show(self, line: str) -> None:
        """A command and what it prints on a terminal."""
        say(f"\n$ {line}\n")
        status = on_a_terminal(shlex.split(line), self.directory, self._environment)
        if status:
            raise SystemExit(f"demo: {line} ended with status {status}")


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def on_a_terminal(words: list[str], directory: Path, environment: dict[str, str]) -> int:
    """Run a command on a terminal of its own, copy what it writes there to our output, and allow what it asks for."""
    pid, terminal = pty.fork()
    if pid == 0:
        become(words, directory, environment)
    unanswered = b""
    while piece := read(terminal):
        os.write(sys.stdout.fileno(), piece.replace(b"\r\n", b"\n"))
        unanswered += piece
        if QUESTION in unanswered and unanswered.endswith(END_OF_QUESTION):
            os.write(terminal, ANSWER)
            unanswered = b""
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def become(words: list[str], directory: Path, environment: dict[str, str]) -> None:
    """Turn this new process into the command, on a terminal as large as ours and for no longer than the deadline."""
    columns, lines = shutil.get_terminal_size((100, 30))
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    os.chdir(directory)
    signal.alarm(DEADLINE)
    os.execvpe(words[0], words, environment)


def read(terminal: int) -> bytes:
    """What was written on the terminal; nothing when nobody holds it any more, which Linux reports as an error."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


if __name__ == "__main__":
    main(*sys.argv[1:])
