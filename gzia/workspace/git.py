"""The one place that starts git.

Every call is an argument vector without a shell, in its own process group, with a deadline, without a terminal, a
prompt, an editor or a pager, and without the ``GIT_*`` variables that would lead it to another repository.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from gzia.errors import ConflictError, DeadlineError, GziaError, NotFoundError
from gzia.system.environment import git_environment

MINIMUM = (2, 38)
"""``git merge-tree --write-tree`` came with 2.38; nothing else here is younger."""

QUESTION = 60.0
"""Seconds for a call that only looks, or writes little."""
WORK = 600.0
"""Seconds for a call that may write a whole checkout or run the user's hooks."""
GRACE = 2.0
"""Seconds between TERM, on which git removes its lock files, and KILL."""

# While one git writes the entry of a new worktree, any other that reads the list of worktrees dies; while one writes
# the configuration, another cannot.  Both pass in a moment, and what failed so may simply be asked again.
BUSY = re.compile(r"failed to read .*/commondir|could not lock config file")
PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)

# A lock may be anybody's, or left by a git that died, so it is named and never removed.
LOCKED = re.compile(r"Unable to create '(.+\.lock)': File exists")

# Messages are matched in a few places, so they must not be translated.  Optional locks are those by which `git status`
# would rewrite an index, the user's too, only because somebody looked.
ENVIRONMENT = {
    "LC_ALL": "C", "LANGUAGE": "", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "true", "SSH_ASKPASS": "true",
    "GIT_EDITOR": ":", "GIT_SEQUENCE_EDITOR": ":", "GIT_PAGER": "cat", "GIT_OPTIONAL_LOCKS": "0",
}  # fmt: skip

# No clean-up in the background (`gc` prunes other people's worktrees), no daemon, no walk into submodules, and no
# refusal to save a file because of its line ends.
SETTINGS = (
    "core.quotePath=false", "gc.auto=0", "maintenance.auto=false", "core.fsmonitor=false", "core.splitIndex=false",
    "core.safecrlf=false", "submodule.recurse=false",
)  # fmt: skip


class Answer(NamedTuple):
    """What git said: exit status, standard output, standard error."""

    status: int
    out: bytes
    err: str


@dataclass(frozen=True, slots=True)
class Git:
    """git in one directory, with extra settings (``name=value``) and environment variables."""

    where: Path
    settings: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    def configured(self, *settings: str) -> Git:
        return replace(self, settings=(*self.settings, *settings))

    def within(self, variables: Mapping[str, str]) -> Git:
        return replace(self, variables={**self.variables, **variables})

    def run(self, *words: str, feed: bytes = b"", deadline: float = QUESTION) -> bytes:
        """Standard output of ``git words…``; GziaError ``git-failed`` (or a plainer code) when it does not end well."""
        answer = self.attempt(*words, feed=feed, deadline=deadline)
        if answer.status:
            raise failure(words, answer)
        return answer.out

    def line(self, *words: str) -> str:
        """The one line that ``git words…`` prints."""
        return os.fsdecode(self.run(*words)).removesuffix("\n")

    def attempt(self, *words: str, feed: bytes = b"", deadline: float = QUESTION) -> Answer:
        """Run ``git words…`` and take any exit status; raises only when git cannot be started or does not end."""
        answer = self._once(words, feed, deadline)
        for pause in PAUSES:
            if not BUSY.search(answer.err):
                break
            time.sleep(pause)
            answer = self._once(words, feed, deadline)
        return answer

    def _once(self, words: tuple[str, ...], feed: bytes, deadline: float) -> Answer:
        process = self._start(words)
        try:
            out, err = process.communicate(feed, timeout=deadline)
        except subprocess.TimeoutExpired:
            _end(process)
            raise DeadlineError(
                "git-timeout", f"git {words[0]} did not end within {deadline:g} s.",
                "run it by hand to see what it waits for: a hook, a signing program or a slow disk",
            ) from None  # fmt: skip
        except BaseException:
            _end(process)  # Ctrl-C reaches gzia only, because git has a process group of its own
            raise
        return Answer(process.returncode, out, err.decode(errors="surrogateescape"))

    def _start(self, words: tuple[str, ...]) -> subprocess.Popen[bytes]:
        settings = [word for setting in (*SETTINGS, *self.settings) for word in ("-c", setting)]
        try:
            return subprocess.Popen(
                ["git", "--no-pager", *settings, *words],
                cwd=self.where,
                env=git_environment({**ENVIRONMENT, **self.variables}),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (FileNotFoundError, NotADirectoryError):
            if not self.where.is_dir():
                raise no_directory(self.where) from None
            raise GziaError(
                "git-not-found", "git is not installed, or not on PATH.",
                "install it, for example with: apt install git",
            ) from None  # fmt: skip


def _end(process: subprocess.Popen[bytes]) -> None:
    """End git and what it started; never waits for a grandchild that keeps the pipes open."""
    for number, wait in ((signal.SIGTERM, GRACE), (signal.SIGKILL, 0.2)):
        try:
            os.killpg(process.pid, number)
            process.communicate(timeout=wait)
            break
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    process.wait()


def failure(words: tuple[str, ...], answer: Answer) -> GziaError:
    """The error for a call that failed without anybody having foreseen it."""
    if found := LOCKED.search(answer.err):
        return ConflictError(
            "index-locked", f"Another git process is at work, or one died and left {found[1]}.",
            f"when no git runs there: rm {shlex.quote(found[1])}", data={"path": found[1]},
        )  # fmt: skip
    if version() < MINIMUM:
        needed, here = (".".join(map(str, number)) for number in (MINIMUM, version()))
        return GziaError("git-too-old", f"gzia needs git {needed} or newer; this is {here}.", "install a newer git")
    said = answer.err.strip() or f"exit status {answer.status}"
    return GziaError(
        "git-failed", f"git {words[0]} failed: {said}", "mend what git complains about, then try again",
        data={"status": answer.status},
    )  # fmt: skip


def no_directory(directory: Path) -> NotFoundError:
    """The error for a place to work in that is not there."""
    return NotFoundError("directory-not-found", f"There is no directory {directory}.", "give another one with -C DIR")


def version() -> tuple[int, ...]:
    """git's version, major and minor.  Asked only when a call failed: a git that is new enough never pays for it."""
    answer = Git(Path("/")).attempt("version")
    found = re.search(rb"(\d+)\.(\d+)", answer.out)
    return (int(found[1]), int(found[2])) if found else MINIMUM
