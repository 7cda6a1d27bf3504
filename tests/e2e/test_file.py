"""The built file: what is in it, and that it starts and works wherever it is put."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gzia.packaging.bytecode import MINORS, ask, commands
from gzia.version import VERSION
from tests.e2e.conftest import run

ENTRIES = 700  # each costs every start about 3 microseconds
BASE, PER_PYTHON = 1_000_000, 1_500_000  # bytes; of 1.38 million for each Python, 0.2 came with steering

INTERPRETERS = [
    next((python for command in commands(minor) if (python := ask(command, minor))), None) for minor in MINORS
]
AVAILABLE = [python for python in INTERPRETERS if python]
AS_NOBODY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")

IMPORT = """
import sys
file, tag, *modules = sys.argv[1:]
sys.path[:0] = [f"{file}/{tag}", f"{file}/src"]
from gzia_boot import install
install()
for module in modules:
    __import__(module)
"""

TABLE = """
import io, rich.console, rich.live, rich.panel, rich.progress, rich.table, rich.tree
out = rich.console.Console(file=io.StringIO(), width=40, force_terminal=True)
table = rich.table.Table("name", "état")
table.add_row("[b]日本[/b]", ":ok:")
out.print(table)
with rich.progress.Progress(console=out) as progress:
    progress.update(progress.add_task("work", total=2), advance=2)
assert "日本" in out.file.getvalue() and "100%" in out.file.getvalue()
"""

VALIDATE = """
import jsonschema, rpds
assert not hasattr(rpds, "Queue")
for draft in (jsonschema.Draft202012Validator, jsonschema.Draft201909Validator, jsonschema.Draft7Validator):
    draft.check_schema(draft.META_SCHEMA)
    assert not draft({"$ref": draft.META_SCHEMA.get("$id")}).is_valid({"type": 5})
"""


def inside(file: Path, python: str, tag: str, program: str, *modules: str) -> subprocess.CompletedProcess[str]:
    """A program run on the modules of the file, by one interpreter."""
    return run(python, "-I", "-S", "-X", "utf8", "-c", IMPORT + program, file, tag, *modules)


def test_it_holds_no_compiled_code_and_nothing_of_the_tests(entries: list[str]) -> None:
    suffixes = {Path(name).suffix for name in entries if name.startswith("src/")}

    assert suffixes <= {".py", ".json", ".sh", ""}
    assert [name for name in entries if "/tests/" in name or "dist-info" in name or "packaging" in name] == []


def test_it_is_small(gzia_file: Path, entries: list[str], build: dict[str, Any]) -> None:
    assert len(entries) < ENTRIES
    assert gzia_file.stat().st_size < BASE + PER_PYTHON * len(build["bytecode"])


def test_every_package_in_it_comes_with_its_licence(entries: list[str]) -> None:
    licences = {name.split("/")[1] for name in entries if name.startswith("licenses/")}

    assert licences == {
        "attrs", "gzia", "jsonschema", "jsonschema_specifications", "pexpect", "ptyprocess", "referencing", "rich",
        "typing_extensions",
    }  # fmt: skip


@pytest.mark.parametrize("python", AVAILABLE, ids=lambda python: python.release)
@pytest.mark.parametrize("tree", ["byte code", "source"])
def test_every_module_in_it_can_be_imported(gzia_file: Path, entries: list[str], python: Any, tree: str) -> None:
    files = [name.removeprefix("src/").removesuffix(".py") for name in entries if name.startswith("src/")]
    modules = [name.replace("/", ".").removesuffix(".__init__") for name in files if f"src/{name}.py" in entries]
    modules = [name for name in modules if name not in ("gzia.__main__", "gzia_boot")]  # they run at once
    tag = python.tag if tree == "byte code" else "none"

    done = inside(gzia_file, python.command, tag, TABLE + VALIDATE, *modules)

    assert done.stderr == ""


def test_the_byte_code_is_of_the_pythons_that_are_here(build: dict[str, Any]) -> None:
    assert build["version"] == VERSION
    assert build["bytecode"]


@pytest.mark.parametrize("home", [None, "/nonexistent", "/", "/dev/null", ""])
@pytest.mark.parametrize("words", [["--version"], ["--help"], ["list"], ["agents", "demo"]], ids=" ".join)
def test_ZIP_01_it_starts_without_a_home(gzia_file: Path, repo: Path, home: str | None, words: list[str]) -> None:
    environment = {} if home is None else {"HOME": home}

    done = run(gzia_file, *words, cwd=repo, **environment)

    assert (done.returncode, done.stderr.replace("No sessions here yet.\n", "")) == (0, "")


@AS_NOBODY
@pytest.mark.parametrize("words", [["--version"], ["agents", "demo"]], ids=" ".join)
def test_ZIP_01_it_starts_in_a_home_of_somebody_else(gzia_file: Path, tmp_path: Path, words: list[str]) -> None:
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o005)
    file, home = tmp_path / "gzia", tmp_path / "home"
    shutil.copy(gzia_file, file)
    home.mkdir(mode=0o555)
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home)}

    done = subprocess.run([file, *words], env=env, cwd="/", capture_output=True, text=True, user=65534, group=65534)

    assert (done.returncode, done.stderr) == (0, "")
    assert list(home.iterdir()) == []


@AS_NOBODY
def test_ZIP_01_a_start_as_root_leaves_nothing_in_the_home(gzia_file: Path, tmp_path: Path) -> None:
    done = run(gzia_file, "--help", cwd=tmp_path, HOME=str(tmp_path))

    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["gzia", "a b", "gz'ia", "ünï", "new\nline", "-x", "gzia.pyz"])
def test_it_starts_under_any_name(gzia_file: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to(gzia_file)

    done = run(f"./{name}", "--version", cwd=tmp_path)

    assert (done.stdout, done.stderr) == (f"gzia {VERSION}\n", "")


@pytest.mark.parametrize("start", [["sh"], ["bash"], [sys.executable], ["env"]], ids=lambda words: Path(words[0]).name)
def test_it_starts_by_hand_of_another_program(gzia_file: Path, start: list[str]) -> None:
    done = run(*start, gzia_file, "--version")

    assert (done.stdout, done.stderr) == (f"gzia {VERSION}\n", "")


def test_it_is_found_in_path_and_through_a_chain_of_links(gzia_file: Path, tmp_path: Path) -> None:
    (tmp_path / "real").symlink_to(gzia_file)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/gzia").symlink_to("../real")

    done = run("sh", "-c", "gzia --version", PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")

    assert (done.stdout, done.stderr) == (f"gzia {VERSION}\n", "")


@pytest.mark.parametrize("locale", ["C", "POSIX", "xx_XX.nonsense", "de_DE.ISO-8859-1"])
def test_no_locale_changes_what_it_prints(gzia_file: Path, locale: str) -> None:
    done = run(gzia_file, "--help", LC_ALL=locale, LANG=locale)

    assert "“gzia COMMAND --help”" in done.stdout


def test_nothing_in_the_environment_is_imported(gzia_file: Path, tmp_path: Path) -> None:
    for name in ("gzia", "gzia_boot", "rich", "json", "os", "sitecustomize", "argparse"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('poison')")

    done = run(gzia_file, "agents", "demo", cwd=tmp_path, PYTHONPATH=str(tmp_path), PYTHONHOME="/nonexistent",
               PYTHONSTARTUP=str(tmp_path / "os.py"), PYTHONWARNINGS="error", PYTHONDONTWRITEBYTECODE="1")  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", ["--version", "--help", "agents", "agents --json", "list", "completion bash"])
@pytest.mark.parametrize("reader", ["head -n 1", "head -c 1", "true"])
def test_PRO_07_a_reader_that_leaves_early_causes_no_noise(
    gzia_file: Path, repo: Path, words: str, reader: str
) -> None:
    script = f'set -o pipefail; "$0" {words} | {reader} > /dev/null; echo "${{PIPESTATUS[0]}}"'

    done = run("bash", "-c", script, gzia_file, cwd=repo, PYTHONUNBUFFERED="1")

    assert done.stdout.strip() in {"0", "141"}
    assert done.stderr.replace("No sessions here yet.\n", "") == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("words", ["--version", "--help", "agents", "agents --json", "completion bash"])
def test_PRO_07_a_full_disk_is_told_in_short(gzia_file: Path, words: str) -> None:
    done = run("sh", "-c", f'"$0" {words} > /dev/full', gzia_file)

    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) <= 2
