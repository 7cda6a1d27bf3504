"""The runner: nothing of the surroundings leaks in, nothing hangs, every failure has a plain name."""

from __future__ import annotations

import os
import select
import shutil
import signal
from pathlib import Path
from types import FrameType

import pytest

from gzia.errors import DEADLINE, ConflictError, DeadlineError, GziaError, NotFoundError
from gzia.workspace.git import Git
from tests.conftest import git
from tests.workspace.conftest import code, new_repository, write_program


def put_first(directory: Path) -> None:
    """Let programs in ``directory`` be found before all others."""
    os.environ["PATH"] = f"{directory}:{os.environ['PATH']}"


class Witness:
    """A FIFO that a child holds open; it is at its end once the child is gone."""

    def __init__(self, fifo: Path) -> None:
        os.mkfifo(fifo)
        self.fifo, self.end = fifo, os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)

    def saw_the_end(self) -> bool:
        readable, _, _ = select.select([self.end], [], [], 5)
        ended = bool(readable) and os.read(self.end, 1) == b""
        os.close(self.end)
        return ended


def test_variables_of_another_repository_do_not_lead_astray(repo: Path, tmp_path: Path) -> None:
    other = new_repository(tmp_path / "other")
    os.environ.update(
        GIT_DIR=str(other / ".git"), GIT_WORK_TREE=str(other), GIT_INDEX_FILE="/nonexistent", GIT_PREFIX="sub/",
        GIT_OBJECT_DIRECTORY="/nonexistent", GIT_CONFIG_COUNT="1", GIT_CONFIG_KEY_0="user.name",
        GIT_CONFIG_VALUE_0="Eve", GIT_CEILING_DIRECTORIES=str(repo),
    )  # fmt: skip

    assert Git(repo).line("rev-parse", "--show-toplevel") == str(repo)
    assert Git(repo).line("config", "user.name") == "Ann"


def test_who_the_user_is_may_come_from_the_environment(repo: Path) -> None:
    os.environ.update(GIT_AUTHOR_NAME="Zoë", GIT_AUTHOR_EMAIL="zoe@example.org")

    assert Git(repo).line("var", "GIT_AUTHOR_IDENT").startswith("Zoë <zoe@example.org> ")


def test_messages_are_english_whatever_the_user_speaks(repo: Path) -> None:
    os.environ.update(LC_ALL="de_DE.UTF-8", LANGUAGE="de")
    git(repo, "config", "alias.show-environment", "!env")

    answer = Git(repo).attempt("rev-parse", "--verify", "nowhere")
    environment = Git(repo).run("show-environment").split(b"\n")

    assert (answer.status, answer.err) == (128, "fatal: Needed a single revision\n")
    assert {b"LC_ALL=C", b"LANGUAGE="} <= set(environment)


def test_no_editor_no_pager_and_no_prompt_can_stop_it(repo: Path) -> None:
    for name in ("GIT_EDITOR", "EDITOR", "VISUAL", "PAGER", "GIT_PAGER"):
        os.environ[name] = "sleep 60 #"
    git(repo, "config", "core.editor", "sleep 60 #")
    git(repo, "config", "core.pager", "sleep 60 #")

    Git(repo).run("commit", "--allow-empty", "--quiet", "--message", "x")
    Git(repo).run("commit", "--amend", "--allow-empty", "--quiet", deadline=20)

    assert b"x" in Git(repo).run("log", "-1", deadline=20)


def test_a_missing_git_is_said_with_what_to_install(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    os.environ["PATH"] = str(tmp_path / "empty")

    with pytest.raises(GziaError) as raised:
        Git(repo).run("status")

    assert code(raised) == "git-not-found"


def test_a_missing_directory_is_not_taken_for_a_missing_git(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError) as raised:
        Git(tmp_path / "gone").run("status")

    assert raised.value.code == "directory-not-found"


def test_an_old_git_is_named_when_it_fails(repo: Path, tmp_path: Path) -> None:
    write_program(
        tmp_path / "bin/git",
        'for w in "$@"; do [ "$w" = version ] && echo "git version 2.30.2" && exit; done; exit 129',
    )
    put_first(tmp_path / "bin")

    with pytest.raises(GziaError) as raised:
        Git(repo).run("merge-tree", "--write-tree", "HEAD", "HEAD")

    assert code(raised) == "git-too-old"
    assert raised.value.message == "gzia needs git 2.38 or newer; this is 2.30."


def test_what_git_said_is_in_the_error(repo: Path) -> None:
    with pytest.raises(GziaError) as raised:
        Git(repo).run("cat-file", "-p", "nowhere")

    assert raised.value.code == "git-failed"
    assert raised.value.message == "git cat-file failed: fatal: Not a valid object name nowhere"


def test_a_lock_that_was_left_behind_is_named(repo: Path) -> None:
    (repo / ".git/index.lock").touch()
    (repo / "new").touch()

    with pytest.raises(ConflictError) as raised:
        Git(repo).run("add", "new")

    assert (code(raised), raised.value.data) == ("index-locked", {"path": str(repo / ".git/index.lock")})


@pytest.mark.parametrize(
    "said",
    ["failed to read .git/worktrees/s 0/commondir: Success", "could not lock config file .git/config: File exists"],
)
def test_what_only_another_git_made_fail_is_asked_again(repo: Path, tmp_path: Path, said: str) -> None:
    real, first = shutil.which("git"), tmp_path / "first"
    write_program(tmp_path / "bin/git", f'mkdir {first} 2>&- && echo "fatal: {said}" >&2 && exit 128; exec {real} "$@"')
    put_first(tmp_path / "bin")

    assert Git(repo).line("rev-parse", "--is-inside-work-tree") == "true"
    assert first.exists()


def test_at_the_deadline_git_and_its_children_end_and_no_lock_stays(repo: Path, tmp_path: Path) -> None:
    witness = Witness(tmp_path / "fifo")
    git(repo, "config", "core.hooksPath", str(tmp_path / "hooks"))
    write_program(tmp_path / "hooks/pre-commit", f"exec sleep 600 >{witness.fifo}")
    (repo / "f.txt").write_text("two\n")

    with pytest.raises(DeadlineError) as raised:
        Git(repo).run("commit", "--quiet", "--all", "--message", "x", deadline=0.5)

    assert (code(raised), raised.value.exit_status) == ("git-timeout", DEADLINE)
    assert not (repo / ".git/index.lock").exists()
    assert witness.saw_the_end()


def test_a_child_that_ignores_term_and_keeps_the_pipes_does_not_hang_it(repo: Path, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    stubborn = f"trap '' TERM; setsid sh -c 'echo $$ >{pid}; exec sleep 600' & while :; do sleep 600; done"
    git(repo, "config", "alias.stubborn", f"!{write_program(tmp_path / 'stubborn', stubborn)}")

    with pytest.raises(DeadlineError):
        Git(repo).run("stubborn", deadline=0.5)

    os.kill(int(pid.read_text()), signal.SIGKILL)


def test_ctrl_c_ends_git_too(repo: Path, tmp_path: Path) -> None:
    witness = Witness(tmp_path / "fifo")
    git(repo, "config", "alias.wait", f"!exec sleep 600 >{witness.fifo}")

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            Git(repo).run("wait")
    finally:
        signal.signal(signal.SIGALRM, before)

    assert witness.saw_the_end()


def test_looking_never_writes_an_index(repo: Path) -> None:
    os.utime(repo / "f.txt")
    before = (repo / ".git/index").stat().st_mtime_ns

    Git(repo).run("status", "--porcelain")

    assert (repo / ".git/index").stat().st_mtime_ns == before
