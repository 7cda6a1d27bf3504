"""The launcher: where modules come from, and that nothing which happens to the file or around it changes that."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest

from gzia.packaging.bytecode import Python
from tests.packaging.conftest import Make, run, this_python

either = pytest.mark.parametrize("pythons", [None, []], ids=["byte code", "source"])

WAITS = """
import sys
def entry():
    print("ready", flush=True)
    sys.stdin.readline()
    from gzia import late
    print(late.WHO)
    return 0
"""


def begin(file: Path) -> subprocess.Popen[str]:
    """The file, running, about to import one more module when it reads a line."""
    env = {"PATH": os.environ["PATH"], "GZIA_PYTHON": sys.executable}
    process = subprocess.Popen([file], env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Status, output and errors of a process that may go on now."""
    out, err = process.communicate("\n", timeout=60)
    return process.returncode, out, err


def program(*lines: str) -> str:
    return "import sys\ndef entry():\n" + "".join(f"    {line}\n" for line in lines)


@either
def test_the_status_is_what_the_program_returns(make: Make, pythons: list[Python] | None) -> None:
    file = make(program("print(sys.argv[1:])", "return 7"), pythons=pythons)

    done = run(file, "a b", "", "--", "-x")

    assert (done.returncode, done.stdout, done.stderr) == (7, "['a b', '', '--', '-x']\n", "")


@either
@pytest.mark.parametrize("change", ["longer", "shorter", "same length", "junk", "deleted"])
def test_ZIP_04_a_process_goes_on_with_its_own_version_when_another_file_takes_the_name(
    make: Make, tmp_path: Path, pythons: list[Python] | None, change: str
) -> None:
    file = make(WAITS, {"gzia/late.py": "WHO = 'old'"}, pythons=pythons)
    texts = {"longer": f"WHO = 'new'\nX = {list(range(5000))}", "shorter": "", "same length": "WHO = 'new'"}
    process = begin(file)

    if change == "deleted":
        file.unlink()
    else:
        other = tmp_path / "other"
        if change == "junk":
            other.write_bytes(os.urandom(100))
        else:
            make(WAITS, {"gzia/late.py": texts[change]}, name="other", pythons=pythons)
        other.replace(file)

    assert finish(process) == (0, "old\n", "")


def test_ZIP_04_a_file_that_is_overwritten_in_place_ends_its_processes_with_a_clear_line(make: Make) -> None:
    file = make(WAITS, {"gzia/late.py": "WHO = 'old'"})
    process = begin(file)

    file.write_bytes(os.urandom(file.stat().st_size))

    status, out, err = finish(process)
    assert (status, out) == (1, "")
    assert err.endswith(
        "ImportError: gzia.late: the file of this program was overwritten while it ran; start it again\n"
    )


def test_a_traceback_shows_the_line_of_source_under_a_readable_name(make: Make) -> None:
    text = program("import gzia.deep, traceback", "try: gzia.deep.fail()", "except OSError: traceback.print_exc()")

    done = run(make(text, {"gzia/deep.py": "def fail():\n    raise OSError('deep')  # here\n"}))

    assert "  File \"gzia/deep.py\", line 2, in fail\n    raise OSError('deep')  # here\n" in done.stderr


@either
def test_data_files_are_found_beside_their_package(make: Make, pythons: list[Python] | None) -> None:
    text = program(
        "from importlib.resources import files",
        "import gzia.room, pkgutil, os",
        "print(files('gzia.room').joinpath('data/x.txt').read_text(), pkgutil.get_data('gzia', 'y.txt'))",
        "print(gzia.__spec__.loader.get_data(os.path.dirname(gzia.__path__[0]) + '/protocol/z.json'))",
        "return 0",
    )
    data = {"gzia/room/__init__.py": "", "gzia/room/data/x.txt": "inside", "gzia/y.txt": "why", "protocol/z.json": "{}"}

    done = run(make(text, data, pythons=pythons))

    assert (done.stdout, done.stderr) == ("inside b'why'\nb'{}'\n", "")


def test_a_preview_of_a_python_runs_from_source(make: Make) -> None:
    """Its byte code has the release's name, but another magic number."""
    other = dataclasses.replace(this_python(), magic=b"\0\0\r\n")

    done = run(make(program("print(type(__spec__.loader).__name__)", "return 0"), pythons=[other]))

    assert (done.stdout, done.stderr) == ("zipimporter\n", "")


def test_the_archive_is_not_inherited_and_takes_no_standard_descriptor(make: Make) -> None:
    text = program(
        "import os, gzia_boot",
        "number = int(gzia_boot.ARCHIVE.rpartition('/')[2])",
        "answer = open(sys.argv[1], 'w')",
        "streams = [os.readlink(f'/proc/self/fd/{n}') for n in range(3)]",
        "print(number > 2, os.get_inheritable(number), *streams, file=answer)",
        "return 0",
    )
    file = make(text)

    run("sh", "-c", '"$0" "$1" <&- >&- 2>&-', file, file.with_name("answer"))

    assert file.with_name("answer").read_text() == "True False /dev/null /dev/null /dev/null\n"


def test_another_process_of_the_same_file_finds_the_same_modules(make: Make) -> None:
    text = program(
        "import os, subprocess, gzia_boot",
        "os.unlink(sys.argv[0])",
        "number = int(gzia_boot.ARCHIVE.rpartition('/')[2])",
        "code = gzia_boot.again() + 'import gzia.late; print(gzia.late.WHO, type(gzia.late.__spec__.loader).__name__)'",
        "return subprocess.call([sys.executable, '-I', '-S', '-c', code], pass_fds=[number])",
    )

    done = run(make(text, {"gzia/late.py": "WHO = 'me'"}))

    assert (done.stdout, done.stderr) == ("me ByteCode\n", "")


def test_the_running_file_is_known_by_its_absolute_path(make: Make, tmp_path: Path) -> None:
    make(program("print(sys.argv[0])", "return 0"), name="a b")

    done = run("sh", "-c", 'cd "$0" && ./"a b"', tmp_path)

    assert done.stdout == f"{tmp_path}/./a b\n"


def test_nothing_of_the_archive_stays_on_the_path(make: Make) -> None:
    """Else each import from the standard library would look into the archive first."""
    done = run(make(program("print(sys.path)", "return 0")))

    assert ".zip" in done.stdout
    assert "/proc/" not in done.stdout


def test_without_proc_the_modules_come_from_the_path_and_stay_those_of_the_first_file(make: Make) -> None:
    """As on macOS: the same text of the launcher, told that there is no /proc."""
    file = make(WAITS, {"gzia/late.py": "WHO = 'old'"})
    text = file.read_bytes()
    file.write_bytes(text.replace(b"/proc/self/fd/%d", b"/nope/self/fd/%d", 1))
    process = begin(file)

    make(WAITS, {"gzia/late.py": "WHO = 'new'\n" * 99}, name="other").replace(file)

    assert finish(process) == (0, "old\n", "")


@pytest.mark.parametrize("way", ["python", "sh", "link"])
def test_the_file_starts_in_every_way(make: Make, tmp_path: Path, way: str) -> None:
    file = make(program("print(sys.flags.isolated, sys.flags.no_site, sys.flags.utf8_mode)", "return 3"), name="a b")
    link = tmp_path / "link"
    link.symlink_to(file)
    commands: dict[str, list[str | Path]] = {"python": [sys.executable, file], "sh": ["sh", file], "link": [link]}

    done = run(*commands[way])

    assert (done.returncode, done.stdout) == (3, "1 1 1\n")


def test_python_that_starts_the_file_is_the_one_that_runs_it(make: Make) -> None:
    file = make(program("print(sys.executable)", "return 0"))

    done = run(sys.executable, file, GZIA_PYTHON="/no/such/python")

    assert done.stdout == f"{sys.executable}\n"


def test_modules_of_the_users_environment_are_not_imported(make: Make, tmp_path: Path) -> None:
    for name in ("gzia", "gzia_boot", "sitecustomize", "usercustomize", "zlib", "marshal"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('poison')")
    file = make(program("print('clean')", "return 0"), name="file")

    done = run("sh", "-c", 'cd "$1" && exec "$0"', file, tmp_path, PYTHONPATH=str(tmp_path), PYTHONSTARTUP="x.py",
               PYTHONHOME="/nonexistent", PYTHONWARNINGS="error", PYTHONOPTIMIZE="2")  # fmt: skip

    assert (done.stdout, done.stderr) == ("clean\n", "")


def test_the_file_needs_no_right_to_write_anywhere(make: Make, tmp_path: Path) -> None:
    folder = tmp_path / "read only"
    folder.mkdir()
    file = folder / "gzia"
    shutil.copy(make(program("print('runs')", "return 0")), file)
    before = sorted(tmp_path.rglob("*"))
    folder.chmod(0o555)

    done = run(file, HOME="/nonexistent", TMPDIR="/nonexistent")
    folder.chmod(0o755)

    assert done.stdout == "runs\n"
    assert sorted(tmp_path.rglob("*")) == before
