"""What the tests of this room share: processes to point at, and a store whose rights can be taken away."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gzia.session.store import FileStore
from gzia.system.identity import identity_of

Pair = tuple[int, str]  # a pid and its identity


@pytest.fixture
def process() -> Iterator[Callable[[], Pair]]:
    """Starts a process that lives until the test is over."""
    started: list[subprocess.Popen[bytes]] = []

    def start() -> Pair:
        started.append(subprocess.Popen(["cat"], stdin=subprocess.PIPE))
        identity = identity_of(started[-1].pid)
        assert identity
        return started[-1].pid, identity

    yield start
    for one in started:
        one.communicate(timeout=60)


@pytest.fixture
def dead() -> Pair:
    """A process that is gone."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as one:
        identity = identity_of(one.pid)
        assert identity
    return one.pid, identity


@pytest.fixture
def nobodys() -> Iterator[FileStore]:
    """A store below a directory of an unprivileged user, who this process is meanwhile: rights count, even for root."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    root = os.geteuid() == 0
    if root:
        os.chown(place, 65534, 65534)
        os.seteuid(65534)
    yield FileStore(place)
    if root:
        os.seteuid(0)
    shutil.rmtree(place)
