"""Makes the single file: the text of prelude.sh, then a zip archive.

    python -m gzia.packaging.pack .cache/dependencies.pyz dist/gzia

The archive holds ``src/`` (sources and data, for any Python), for each Python of bytecode.py a directory such as
``cpython-311/`` with the launcher, the byte code of all modules in one entry and their index (see boot.py), besides
``licenses/``, ``__main__.py``, and ``build.json``, which says what the file was made of.  The same commit and the same
Pythons give the same bytes; when they would be those that are there already, nothing is done.
"""

from __future__ import annotations

import hashlib
import json
import marshal
import os
import subprocess
import sys
import time
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

from gzia.packaging.archive import Archive, replace
from gzia.packaging.boot import INDEX
from gzia.packaging.bytecode import Python, compiled, pythons
from gzia.packaging.contents import CHECKOUT, PACKAGING, Entries, contents
from gzia.version import VERSION

BUILD = "build.json"
EARLIEST = 315532800  # 1980-01-01, where the dates of zip archives begin
UNCHECKED = (1).to_bytes(4, "little") + bytes(8)  # a .pyc that is not compared with its source: PEP 552


def main(shiv: str, target: str) -> None:
    started = time.monotonic()
    file, entries, available, when = Path(target), contents(Path(shiv)), pythons(), commit_time()
    build = {"version": VERSION, "bytecode": [each.release for each in available], "inputs": digest(entries, when)}
    if built(file) == build:
        say(f"{target} is up to date")
        return
    data, count = packed({**entries, BUILD: json.dumps(build, indent=1).encode() + b"\n"}, available, when)
    replace(file, data)
    releases = ", ".join(each.release for each in available) or "no Python"
    say(f"{target}: {len(data)} bytes, {count} entries, byte code for {releases}, {time.monotonic() - started:.1f} s")


def say(line: str) -> None:
    sys.stderr.write(line + "\n")


def digest(entries: Entries, when: int) -> str:
    """Names all inputs but the Pythons: what is packed, what packs it, and the date."""
    packing = {path.name: path.read_bytes() for path in sorted(PACKAGING.glob("*.*"))}
    return hashlib.sha256(marshal.dumps([list(entries.items()), list(packing.items()), when], 2)).hexdigest()


def built(file: Path) -> object:
    """What the file there says it was made of, or None."""
    try:
        with zipfile.ZipFile(file) as there:
            return json.loads(there.read(BUILD))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile):
        return None


def commit_time() -> int:
    """SOURCE_DATE_EPOCH, else the time of the commit that is checked out, in seconds since 1970.

    https://reproducible-builds.org/specs/source-date-epoch/
    """
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return max(int(given), EARLIEST)
    # A container's checkout often belongs to somebody else, which git would refuse.
    command = ["git", "-c", "safe.directory=*", "-C", str(CHECKOUT), "log", "-1", "--format=%ct"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    return max(int(done.stdout), EARLIEST) if done.returncode == 0 else EARLIEST


def packed(entries: Entries, available: list[Python], when: int) -> tuple[bytes, int]:
    """The whole file, and how many entries it has."""
    archive = Archive((PACKAGING / "prelude.sh").read_bytes(), when)
    for python in available:
        add_byte_code(archive, python, entries)
    for name, data in entries.items():
        archive.add(name, data)
    return archive.finish()


def add_byte_code(archive: Archive, python: Python, entries: Mapping[str, bytes]) -> None:
    """The directory of one Python: modules, index, the launcher, and its source for previews of that Python."""
    files = {name.removeprefix("src/"): data for name, data in entries.items() if is_module(name)}
    code = compiled(python, {file: (source, optimisation(file)) for file, source in files.items()})
    launcher = code.pop("gzia_boot.py")
    pieces = {file: zlib.compress(each, 9) for file, each in code.items()}
    offset = archive.add(f"{python.tag}/modules", b"".join(pieces.values()), zipfile.ZIP_STORED)
    index = {}
    for file, piece in pieces.items():
        index[module_name(file)] = (file.endswith("/__init__.py"), file, offset, len(piece))
        offset += len(piece)
    archive.add(f"{python.tag}/{INDEX}", marshal.dumps(index, 2))
    archive.add(f"{python.tag}/gzia_boot.pyc", python.magic + UNCHECKED + launcher)
    archive.add(f"{python.tag}/gzia_boot.py", files["gzia_boot.py"])


def is_module(name: str) -> bool:
    return name.startswith("src/") and name.endswith(".py")


def optimisation(file: str) -> int:
    """Nobody reads the docstrings of dependencies or meets their asserts here; ours are kept."""
    return 0 if file.startswith("gzia") else 2


def module_name(file: str) -> str:
    """``gzia/acp/__init__.py`` -> ``gzia.acp``."""
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


if __name__ == "__main__":
    main(*sys.argv[1:])
