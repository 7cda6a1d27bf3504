"""Which interpreters the build uses, and what they make of the sources."""

from __future__ import annotations

import marshal
import os
import sys
from pathlib import Path
from types import CodeType

import pytest

from gzia.packaging.bytecode import ask, commands, compiled, pythons
from tests.packaging.conftest import this_python

MINOR = sys.version_info.minor


def place(folder: Path, name: str, script: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def claims(minor: int, patch: str, *, is_release: bool = True) -> str:
    """A program that answers as such an interpreter would."""
    answer = f'["3.{minor}.{patch}", "cpython-3{minor}", "a70d0d0a", {"true" if is_release else "false"}]'
    return f"echo '{answer}'"


def test_one_interpreter_for_each_minor_version_oldest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(tmp_path / "bin", "python3.11", claims(11, "2"))
    place(tmp_path / "bin", "python3.12", "echo 'pyenv: python3.12: command not found' >&2; exit 127")
    place(tmp_path / "bin", "python3.13", claims(13, "0rc1", is_release=False))
    place(tmp_path / "bin", "python3.14", claims(12, "9"))  # says that it is another one
    for patch in ("1", "10", "9", "0rc1"):
        place(tmp_path / f"pyenv/versions/3.12.{patch}/bin", "python", claims(12, patch))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))

    found = [(python.release, Path(python.command).name) for python in pythons()]

    assert found == [("3.11.2", "python3.11"), ("3.12.10", "python")]


def test_pyenv_releases_come_newest_first_and_as_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for release in ("3.12.9", "3.12.10", "3.12.1", "3.12.0rc1", "3.13.1"):
        (tmp_path / "versions" / release).mkdir(parents=True)
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))

    found = [command.replace(str(tmp_path), "") for command in commands(12)]

    assert found == ["python3.12", *(f"/versions/3.12.{patch}/bin/python" for patch in (10, 9, 1))]


def test_what_is_not_this_minor_version_is_no_interpreter() -> None:
    assert ask(sys.executable, MINOR) == this_python()
    assert ask(sys.executable, MINOR + 1) is None
    assert ask("/no/such/python", MINOR) is None


def test_code_names_the_file_as_the_archive_does_and_keeps_or_drops_docstrings_and_asserts() -> None:
    source = b'"""Doc."""\nassert not 1, "kept"\n'

    code = compiled(this_python(), {"gzia/x.py": (source, 0), "rich/x.py": (source, 2)})

    kept, dropped = (marshal.loads(code[file]) for file in ("gzia/x.py", "rich/x.py"))
    assert isinstance(kept, CodeType)
    assert (kept.co_filename, "Doc." in kept.co_consts, "kept" in kept.co_consts) == ("gzia/x.py", True, True)
    assert (dropped.co_filename, "Doc." in dropped.co_consts, "kept" in dropped.co_consts) == (
        "rich/x.py",
        False,
        False,
    )


def test_the_same_sources_give_the_same_code_whatever_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    source = b"import os.path\ndef f(path, *, home=frozenset('xyz')): return path in {'b', 'a', 1, None}\n"
    sources = {f"m{number}.py": (source + b"#" * number, 0) for number in range(50)}

    first = compiled(this_python(), sources)
    for name, value in {"PYTHONHASHSEED": "7", "LC_ALL": "C", "path": "x", "TZ": "Asia/Tokyo"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(os.sep)
    second = compiled(this_python(), sources)

    assert second == first
