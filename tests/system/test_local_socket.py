"""Sockets of running sessions: who may come in, what happens to names that were left behind."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from gzia.errors import ConflictError, GziaError, NotFoundError
from gzia.system import local_socket

ROOT = Path("/some/project")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A place for a socket, in a directory that nobody has made yet."""
    return tmp_path / "run" / "a"


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    listener = local_socket.listen(path)
    try:
        yield listener
    finally:
        local_socket.stop(listener)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def left_by_a_dead_process(path: Path) -> None:
    code = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)


# -- the path --------------------------------------------------------------------------------------------------------


def test_a_path_names_the_project_and_the_session() -> None:
    run = Path(os.environ["XDG_RUNTIME_DIR"]) / "gzia"
    one, same = local_socket.path_for(ROOT, "fix"), local_socket.path_for(ROOT, "fix")
    others = {local_socket.path_for(ROOT, "fix2"), local_socket.path_for(Path("/some/other"), "fix")}

    assert (one.parent, one.name[8:], one) == (run, "-fix", same)
    assert len(others | {one}) == 3


def test_a_project_that_is_reached_through_a_link_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)

    assert local_socket.path_for(tmp_path / "link", "a") == local_socket.path_for(tmp_path, "a")


@pytest.mark.parametrize("length", [1, 20, 60, 80, 100, 200])
def test_a_path_always_fits_and_two_long_names_never_meet(tmp_path: Path, length: int) -> None:
    run = tmp_path / ("r" * length)
    run.mkdir(mode=0o700)
    os.environ.update(XDG_RUNTIME_DIR=str(run), TMPDIR=str(run))
    ids = ["x" * 63 + end for end in "abc"]

    found = [local_socket.path_for(ROOT, id) for id in ids]

    assert len(set(found)) == 3
    assert max(len(os.fsencode(one)) for one in found) <= local_socket.LIMIT


def test_a_path_of_the_full_length_can_be_bound(tmp_path: Path) -> None:
    path = tmp_path / "run" / "x"
    path = path.with_name("x" * (local_socket.LIMIT - len(os.fsencode(path)) + 1))

    with listening(path), closing(local_socket.connect(path)):
        assert len(os.fsencode(path)) == local_socket.LIMIT


# -- listening and connecting ----------------------------------------------------------------------------------------


def test_what_is_said_on_one_side_arrives_on_the_other(path: Path) -> None:
    with listening(path) as listener, closing(local_socket.connect(path)) as client:
        server, _ = listener.accept()
        with server:
            client.send(b"hello")

            assert server.recv(9) == b"hello"
            assert (client.getblocking(), listener.getblocking()) == (False, False)
            assert local_socket.is_peer_ours(server)


def test_directory_and_socket_are_for_this_user_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        with listening(path):
            assert (mode(path.parent), mode(path)) == (0o700, 0o600)
    finally:
        os.umask(before)


def test_where_nobody_listens_the_session_is_not_running(path: Path) -> None:
    with pytest.raises(NotFoundError) as never_made:
        local_socket.connect(path)
    with listening(path):
        pass
    with pytest.raises(NotFoundError) as stopped:
        local_socket.connect(path)
    left_by_a_dead_process(path)
    with pytest.raises(NotFoundError) as dead:
        local_socket.connect(path)

    assert {never_made.value.code, stopped.value.code, dead.value.code} == {"session-not-running"}


def test_a_socket_that_stopped_leaves_no_name(path: Path) -> None:
    with listening(path):
        pass

    assert list(path.parent.iterdir()) == []


def plain_file(path: Path) -> None:
    path.write_text("x")


def link_elsewhere(path: Path) -> None:
    path.symlink_to("/etc/passwd")


@pytest.mark.parametrize("left", [left_by_a_dead_process, plain_file, link_elsewhere])
def test_what_is_no_living_socket_is_replaced(path: Path, left: Callable[[Path], None]) -> None:
    path.parent.mkdir(mode=0o700)
    left(path)

    with listening(path), closing(local_socket.connect(path)) as client:
        assert local_socket.is_peer_ours(client)


def test_a_living_socket_is_never_taken_away(path: Path) -> None:
    with listening(path) as listener:
        with pytest.raises(ConflictError) as refused:
            local_socket.listen(path)
        listener.accept()[0].close()  # the probe

        assert refused.value.code == "socket-in-use"
        with closing(local_socket.connect(path)):
            listener.accept()[0].close()


def test_of_many_that_find_a_dead_socket_one_gets_the_name(path: Path) -> None:
    left_by_a_dead_process(path)
    got: list[socket.socket] = []
    refused: list[str] = []
    start = threading.Barrier(8)

    def claim() -> None:
        start.wait()
        try:
            got.append(local_socket.listen(path))
        except ConflictError as error:
            refused.append(error.code)

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert (len(got), refused) == (1, ["socket-in-use"] * 7)
    local_socket.stop(got[0])


def test_stopping_leaves_the_name_to_whoever_has_it_by_now(path: Path) -> None:
    old = local_socket.listen(path)
    path.unlink()
    with listening(path) as new:
        local_socket.stop(old)
        new.accept()[0].close()  # the probe

        with closing(local_socket.connect(path)):
            new.accept()[0].close()


# -- others ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [0o710, 0o701, 0o720, 0o755, 0o777])
def test_a_directory_that_is_open_to_others_is_not_used(path: Path, bits: int) -> None:
    path.parent.mkdir()
    path.parent.chmod(bits)

    with pytest.raises(GziaError) as refused:
        local_socket.listen(path)

    assert (refused.value.code, f"chmod 700 {path.parent}" in refused.value.hint) == ("directory-not-private", True)
    assert list(path.parent.iterdir()) == []


def test_a_directory_that_is_a_link_is_not_used(path: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    path.parent.symlink_to(tmp_path / "elsewhere")

    for use in (local_socket.listen, local_socket.connect):
        with pytest.raises(GziaError) as refused:
            use(path)
        assert refused.value.code == "directory-not-private"
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_directory_of_another_user_is_not_used(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    os.chown(path.parent, 54321, 54321)

    for use in (local_socket.listen, local_socket.connect):
        with pytest.raises(GziaError) as refused:
            use(path)
        assert refused.value.code == "directory-not-private"


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(GziaError) as refused:
        local_socket.listen(tmp_path / "missing" / "run" / "a")

    assert refused.value.code == "socket-failed"


STRANGER = """
import os, socket, sys
os.setgid(54321), os.setuid(54321)
client = socket.socket(fileno=int(sys.argv[1]))
client.connect(sys.argv[2])
client.recv(1)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_peer_of_another_user_is_known_as_such(path: Path) -> None:
    with listening(path) as listener:
        for above in (path.parent, *path.parent.parents):  # let it in as far as the kernel's own check goes
            if mode(above) & 0o011 != 0o011:
                above.chmod(0o711)
        path.chmod(0o666)
        listener.setblocking(True)
        with socket.socket(socket.AF_UNIX) as handed:
            command = [sys.executable, "-c", STRANGER, str(handed.fileno()), str(path)]
            with subprocess.Popen(command, pass_fds=[handed.fileno()]) as stranger:
                server, _ = listener.accept()
                with server:
                    assert not local_socket.is_peer_ours(server)
                assert stranger.wait(10) == 0
        path.parent.chmod(0o700)


SQUATTER = """
import os, socket, sys
listener = socket.socket(fileno=int(sys.argv[1]))
os.setgid(54321), os.setuid(54321)
listener.listen()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_listener_of_another_user_is_not_talked_to(path: Path) -> None:
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        command = [sys.executable, "-c", SQUATTER, str(bound.fileno())]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, pass_fds=[bound.fileno()], stdin=pipe, stdout=pipe) as squatter:
            assert squatter.stdin and squatter.stdout
            squatter.stdout.readline()

            with pytest.raises(GziaError) as refused:
                local_socket.connect(path)

            assert refused.value.code == "not-our-process"
