"""The byte code of the single file: one entry for each Python that is found here.

Which Pythons: for each supported minor version the CPython that ``python3.N`` is, else the newest such release that
pyenv has installed.  The same sources and the same Pythons give the same bytes.
"""

from __future__ import annotations

import json
import marshal
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

MINORS = range(11, 16)

# A preview's byte code fits no release.
ASK = """import importlib.util, json, sys
is_release = sys.implementation.name == "cpython" and sys.version_info.releaselevel == "final"
magic = importlib.util.MAGIC_NUMBER.hex()
print(json.dumps([sys.version.split()[0], sys.implementation.cache_tag, magic, is_release]))"""

# Reads and writes marshal data of a format that every Python knows: {file: [source, optimisation]} -> {file: code}.
COMPILE = """import marshal, sys
sources = marshal.load(sys.stdin.buffer)
for file, (source, level) in sources.items():
    sources[file] = marshal.dumps(compile(source, file, "exec", dont_inherit=True, optimize=level))
marshal.dump(sources, sys.stdout.buffer, 2)"""


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter: its command, its release (``3.11.2``), its byte code's tag (``cpython-311``) and magic number."""

    command: str
    release: str
    tag: str
    magic: bytes


def pythons() -> list[Python]:
    """One interpreter for each minor version that can be had here, oldest first."""
    found = (next((python for command in commands(minor) if (python := ask(command, minor))), None) for minor in MINORS)
    return [python for python in found if python]


def commands(minor: int) -> Iterator[str]:
    """What may start this minor version, the first choice first."""
    yield f"python3.{minor}"
    versions = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser() / "versions"
    releases = [path for path in versions.glob(f"3.{minor}.*") if path.name.split(".")[2].isdigit()]
    for path in sorted(releases, key=lambda path: int(path.name.split(".")[2]), reverse=True):
        yield str(path / "bin/python")


def ask(command: str, minor: int) -> Python | None:
    """The interpreter behind ``command``, unless it is none, is no release of CPython, or another minor version."""
    try:
        done = subprocess.run([command, "-I", "-S", "-c", ASK], capture_output=True)
    except OSError:
        return None
    if done.returncode:
        return None
    release, tag, magic, is_release = json.loads(done.stdout)
    return Python(command, release, tag, bytes.fromhex(magic)) if is_release and tag == f"cpython-3{minor}" else None


def compiled(python: Python, sources: Mapping[str, tuple[bytes, int]]) -> dict[str, bytes]:
    """File -> (source, optimisation level) to file -> marshalled code of that interpreter, in the same order.

    Tracebacks name the files as given here.
    """
    command = [python.command, "-I", "-S", "-X", "utf8", "-c", COMPILE]
    done = subprocess.run(command, input=marshal.dumps(dict(sources), 2), stdout=subprocess.PIPE, check=True)
    code: dict[str, bytes] = marshal.loads(done.stdout)
    return code
