"""The text at the head of the file: which Python it takes, and what it says when there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.packaging.conftest import PRELUDE, Make, run, this_python

PROGRAM = "import sys\ndef entry():\n    print(sys.executable, *sys.argv[1:])\n    return 0\n"
SHELLS = [name for name in ("dash", "bash", "busybox", "ksh", "mksh", "zsh") if shutil.which(name)]
PYENV = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
OLD = [path for minor in (6, 7, 8, 9, 10) for path in sorted(PYENV.glob(f"3.{minor}.*/bin/python3"))]


def place(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def runs(folder: Path, name: str) -> Path:
    """A program ``name`` in ``folder`` that is this Python."""
    return place(folder, name, f'exec "{this_python_path()}" "$@"')


def this_python_path() -> str:
    return os.path.realpath(this_python().command)


def only(folder: Path) -> dict[str, str]:
    """A PATH that has ``folder`` and nothing of this machine."""
    folder.mkdir(exist_ok=True)
    return {"PATH": str(folder), "GZIA_PYTHON": ""}


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_passes_arguments_as_they_are(make: Make, tmp_path: Path, shell: str) -> None:
    file = make(PROGRAM)
    runs(tmp_path / "bin", "python3")
    start = [str(shutil.which(shell)), *(["sh"] if shell == "busybox" else [])]

    done = run(*start, file, "a  b", "$HOME", "'", "*", **only(tmp_path / "bin"))

    assert (done.stdout.split(" ", 1)[1], done.stderr) == ("a  b $HOME ' *\n", "")


def test_the_python_that_is_named_comes_first(make: Make, tmp_path: Path) -> None:
    place(tmp_path / "bin", "python3", "echo wrong")
    mine = runs(tmp_path / "elsewhere", "my python")

    done = run(make(PROGRAM), **only(tmp_path / "bin") | {"GZIA_PYTHON": str(mine)})

    assert done.returncode == 0
    assert done.stdout != "wrong\n"


def test_python3_comes_before_versioned_names(make: Make, tmp_path: Path) -> None:
    runs(tmp_path / "bin", "python3")
    place(tmp_path / "bin", "python3.15", "echo wrong")

    done = run(make(PROGRAM), **only(tmp_path / "bin"))

    assert done.stdout != "wrong\n"


def test_a_versioned_name_does_when_there_is_no_python3_and_one_that_does_not_run_is_passed_over(
    make: Make, tmp_path: Path
) -> None:
    place(tmp_path / "bin", "python3.13", "echo 'pyenv: python3.13: command not found' >&2; exit 127")
    runs(tmp_path / "bin", "python3.12")

    done = run(make(PROGRAM), **only(tmp_path / "bin"))

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_without_any_python_the_message_says_what_to_do(make: Make, tmp_path: Path, shell: str) -> None:
    start = [str(shutil.which(shell)), *(["sh"] if shell == "busybox" else [])]

    done = run(*start, make(PROGRAM), **only(tmp_path / "empty"))

    assert (done.returncode, done.stdout) == (127, "")
    assert done.stderr == (
        "gzia: needs Python 3.11 or newer, and there is no python3 in PATH\n"
        "Hint: install it, or say where it is: GZIA_PYTHON=/path/to/python3.11\n"
    )


def test_a_named_python_that_does_not_exist_is_named_in_the_message(make: Make) -> None:
    done = run(make(PROGRAM), GZIA_PYTHON="/no/such python")

    assert (done.returncode, done.stderr) == (127, "gzia: GZIA_PYTHON is /no/such python, which is not a program\n")


@pytest.mark.skipif(not OLD, reason="no Python 3.6 to 3.10 in pyenv")
@pytest.mark.parametrize("old", OLD, ids=lambda path: path.parts[-3])
class TestAnOldPython:
    def test_says_which_version_it_is(self, make: Make, tmp_path: Path, old: Path) -> None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin/python3").symlink_to(old)
        place(tmp_path / "bin", "sh", 'exec /bin/sh "$@"')

        done = run(make(PROGRAM), **only(tmp_path / "bin"))

        version = old.parts[-3]
        assert done.returncode == 127
        assert done.stderr.startswith(f"gzia: needs Python 3.11 or newer; python3 is {version} (")

    def test_does_not_stop_the_search_for_a_newer_one(self, make: Make, tmp_path: Path, old: Path) -> None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin/python3").symlink_to(old)
        place(tmp_path / "bin", "python3.14", "exit 127")
        runs(tmp_path / "bin", "python3.12")

        done = run(make(PROGRAM), "x y", "--flag", **only(tmp_path / "bin"))

        assert (done.stdout.split(" ", 1)[1], done.stderr) == ("x y --flag\n", "")

    def test_is_refused_when_it_is_the_named_one(self, make: Make, tmp_path: Path, old: Path) -> None:
        runs(tmp_path / "bin", "python3.12")

        done = run(make(PROGRAM), **only(tmp_path / "bin") | {"GZIA_PYTHON": str(old)})

        assert done.returncode == 127
        assert done.stderr.startswith(f"gzia: needs Python 3.11 or newer; GZIA_PYTHON is {old.parts[-3]} (")

    def test_finds_a_newer_one_when_it_is_given_the_file(self, make: Make, tmp_path: Path, old: Path) -> None:
        runs(tmp_path / "bin", "python3")

        done = run(old, make(PROGRAM), "x", **only(tmp_path / "bin"))

        assert (done.stdout.split(" ", 1)[1], done.stderr) == ("x\n", "")


def test_the_search_leaves_no_trace_in_the_environment_of_what_it_starts(make: Make, tmp_path: Path) -> None:
    runs(tmp_path / "bin", "python3")
    of_the_shell = "{'PWD', '_', 'SHLVL', 'OLDPWD', 'LC_CTYPE'}"
    program = f"import os\ndef entry():\n    print(sorted(set(os.environ) - {of_the_shell}))\n    return 0\n"

    done = subprocess.run([make(program)], env={"PATH": str(tmp_path / "bin")}, capture_output=True, text=True)

    assert done.stdout == "['PATH']\n"


def test_it_is_plain_text_that_ends_before_the_archive() -> None:
    text = PRELUDE.read_bytes().decode("ascii")

    assert text.startswith("#!/bin/sh\n")
    assert text.endswith("exit 127\n")
