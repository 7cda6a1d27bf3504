"""State that a kill at any moment leaves whole, and locks that a dead owner does not keep."""

from __future__ import annotations

import os
import random
import select
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from gzia.errors import CONFLICT, ConflictError
from gzia.system.files import FileLock, write_atomic


def child(code: str, *args: str) -> subprocess.Popen[bytes]:
    """A Python process that can import this checkout."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-S", "-c", code, *args], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def test_a_file_holds_what_was_written_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "state"

    write_atomic(path, b"one")
    write_atomic(path, b"two")

    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"two", 0o600)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_the_mode_is_the_one_asked_for_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write_atomic(tmp_path / "state", b"", 0o644)
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o644


def test_who_has_the_old_file_open_goes_on_reading_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_atomic(path, b"old " * 1000)

    with path.open("rb") as reader:
        write_atomic(path, b"new")

        assert reader.read() == b"old " * 1000


def test_what_a_killed_writer_left_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / ".state.tmp").write_bytes(b"half of something much longer than what comes now")

    write_atomic(tmp_path / "state", b"whole")

    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("state", b"whole")]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()

    with pytest.raises(IsADirectoryError):
        write_atomic(tmp_path / "state", b"x")

    assert [p.name for p in tmp_path.iterdir()] == ["state"]


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"mine")
    (tmp_path / ".state.tmp").symlink_to("victim")

    with pytest.raises(OSError, match="symbolic links"):
        write_atomic(tmp_path / "state", b"x")

    assert (tmp_path / "victim").read_bytes() == b"mine"


@pytest.mark.parametrize("kills", [60, pytest.param(500, marks=pytest.mark.long)])
def test_JSO_05_a_kill_at_any_moment_leaves_the_old_or_the_new_content(tmp_path: Path, kills: int) -> None:
    path, size = tmp_path / "state", 100_000
    write_atomic(path, b"0" * size)
    seen = set()
    pause = random.Random(5)

    for _ in range(kills):
        writer = os.fork()
        if writer == 0:
            write_for_ever(path, size)
        select.select([], [], [], pause.uniform(0, 0.03))  # a kill at a random moment is the point of this test
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        content = path.read_bytes()
        assert content == content[:1] * size
        assert {p.name for p in tmp_path.iterdir()} <= {"state", ".state.tmp"}
        seen.add(content[:1])

    write_atomic(path, b"last")
    assert list(tmp_path.iterdir()) == [path]
    assert len(seen) > 1


def write_for_ever(path: Path, size: int) -> None:
    """In a child process, which must not come back into pytest."""
    try:
        while True:
            for digit in range(10):
                write_atomic(path, b"%d" % digit * size)
    finally:
        os._exit(1)


def test_writers_at_the_same_time_follow_each_other(tmp_path: Path) -> None:
    path, size = tmp_path / "state", 50_000
    code = """import sys
from pathlib import Path
from gzia.system.files import write_atomic
for _ in range(50):
    write_atomic(Path(sys.argv[1]), sys.argv[2].encode() * int(sys.argv[3]))"""

    writers = [child(code, str(path), str(number), str(size)) for number in range(4)]

    for writer in writers:
        writer.communicate()
    content = path.read_bytes()
    assert [writer.returncode for writer in writers] == [0] * 4
    assert content == content[:1] * size
    assert list(tmp_path.iterdir()) == [path]


HOLDER = """import sys
from pathlib import Path
from gzia.system.files import FileLock
with FileLock(Path(sys.argv[1])):
    print(flush=True)
    sys.stdin.read()"""


def test_a_lock_that_another_process_holds_is_an_error_after_the_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with child(HOLDER, str(path)) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        begin = time.monotonic()

        with pytest.raises(ConflictError) as caught:
            FileLock(path).acquire(timeout=0.1)

        assert (caught.value.code, caught.value.exit_status) == ("lock-held", CONFLICT)
        assert caught.value.data == {"path": str(path)}
        assert 0.05 < time.monotonic() - begin < 5


def test_a_lock_is_free_as_soon_as_its_owner_is_dead(tmp_path: Path) -> None:
    with child(HOLDER, str(tmp_path / "lock")) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        holder.kill()
        holder.wait()

        with FileLock(tmp_path / "lock"):
            pass


def test_a_waiter_gets_the_lock_when_it_is_released(tmp_path: Path) -> None:
    with child(HOLDER, str(tmp_path / "lock")) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        holder.stdout.readline()
        lock = FileLock(tmp_path / "lock")
        waiting = threading.Thread(target=lock.acquire, args=(20.0,))
        waiting.start()

        holder.stdin.close()

        waiting.join()
        with pytest.raises(ConflictError):
            FileLock(tmp_path / "lock").acquire(timeout=0)
        lock.release()
        lock.release()
        with FileLock(tmp_path / "lock"):
            pass


def test_a_child_process_does_not_inherit_the_lock(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    lock.acquire()
    with child("import sys; print(flush=True); sys.stdin.read()") as other:
        assert other.stdout is not None
        other.stdout.readline()

        lock.release()

        FileLock(tmp_path / "lock").acquire(timeout=0)
