"""The whole program from outside: what it prints when things go right, wrong, or when nobody listens."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.conftest import GZIA, ROOT, Answer, Gzia

SIMPLE = [
    ["--version"],
    ["--help"],
    ["list", "--help"],
    ["completion", "bash"],
    ["config", "list"],
    ["list"],
    ["agents"],
]


def test_the_version_is_one_line(gzia: Gzia) -> None:
    assert gzia("--version") == Answer(0, "gzia 0.1.0\n", "")
    assert gzia("list", "--version", "--json") == Answer(0, '{"version":"0.1.0"}\n', "")


def test_the_help_page_fits_a_terminal_and_names_every_command(gzia: Gzia) -> None:
    from gzia.cli.commands import COMMANDS

    page = gzia("--help")

    assert (page.status, page.err) == (0, "")
    assert page == gzia("-h") == gzia("--color", "never", "-h")
    assert set(COMMANDS) <= {line[2:15].strip() for line in page.out.splitlines()}
    assert max(map(len, page.out.splitlines())) <= 100


def test_help_of_one_command_and_of_a_group(gzia: Gzia) -> None:
    assert gzia("completion", "--help").out == (
        "usage: gzia completion [--json] [-C DIR] [--color {auto,always,never}] [-v]\n"
        "                       [--version] [-h]\n"
        "                       SHELL\n"
        "\n"
        "Print a completion script for bash, zsh or fish.\n"
        "\n"
        "positional arguments:\n"
        "  SHELL                 bash, zsh or fish\n"
        "\n"
        "global options:\n"
        "  --json                print JSON only\n"
        "  -C DIR                work as if started in DIR\n"
        "  --color {auto,always,never}\n"
        "                        when to use colours\n"
        "  -v                    log to standard error\n"
        "  --version             print the version\n"
        "  -h, --help            print this page\n"
        "\n"
        "bash: source <(gzia completion bash)\n"
        "zsh:  source <(gzia completion zsh), after compinit\n"
        "fish: gzia completion fish | source\n"
    )
    assert "  acp serve     be an agent" in gzia("acp", "--help").out


def test_help_imports_no_command(gzia: Gzia) -> None:
    code = f"import sys; sys.argv = ['gzia', '--help']; sys.path.insert(0, {str(ROOT)!r})\n" + (
        "from gzia.cli.main import entry; entry(); print(*sys.modules, file=sys.stderr)"
    )

    done = subprocess.run([*GZIA[:-1], code], capture_output=True, text=True, check=True)

    assert not {"argparse", "json", "re", "typing", "dataclasses", "pathlib"} & set(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["lst"], "There is no command “lst”.", "did you mean list?"),
        (["qqq"], "There is no command “qqq”.", "see gzia --help"),
        (["acp"], "“acp” needs to know what to do.", "type gzia acp serve"),
        (["acp", "srve"], "There is no command “acp srve”.", "did you mean acp serve?"),
        (["--jsn", "list"], "There is no option “--jsn”.", "did you mean --json?"),
        (["completion", "bash", "--bad"], "There is no option “--bad”.", "see gzia completion --help"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_one_sentence_and_status_2(
    gzia: Gzia, words: list[str], message: str, hint: str
) -> None:
    told = gzia(*words)
    document = gzia(*words, "--json")

    assert told == Answer(2, "", f"Error: {message}\nHint: {hint}\n")
    assert (document.status, document.err) == (2, "")
    assert json.loads(document.out)["error"]["message"] == message
    assert document.out.count("\n") == 1


def test_a_directory_that_is_not_there_is_said(gzia: Gzia) -> None:
    told = gzia("-C", "/nowhere", "completion", "bash")

    message = "The directory “/nowhere” cannot be entered: No such file or directory."
    assert told == Answer(4, "", f"Error: {message}\nHint: give another one with -C DIR\n")


def test_a_directory_that_is_gone_is_said(gzia: Gzia, tmp_path: Path) -> None:
    code = f"import os; os.chdir({str(tmp_path / 'gone')!r}); os.rmdir({str(tmp_path / 'gone')!r})\n{GZIA[-1]}"
    (tmp_path / "gone").mkdir()

    done = subprocess.run([*GZIA[:-1], code, "completion", "bash"], capture_output=True, text=True)

    assert done.returncode == 4
    assert done.stderr == (
        "Error: The current directory cannot be entered: No such file or directory.\n"
        "Hint: give another one with -C DIR\n"
    )


@pytest.mark.parametrize("words", SIMPLE)
def test_PRO_07_a_reader_that_goes_away_is_no_accident(words: list[str], repo: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    done = subprocess.run([*GZIA, *words], cwd=repo, stdout=writing, stderr=subprocess.PIPE, timeout=60)
    os.close(writing)

    assert (done.returncode, done.stderr) in [(141, b""), (0, b"No sessions here yet.\n")]


def test_PRO_07_head_takes_one_line_and_the_shell_sees_141_or_0(repo: Path) -> None:
    pipe = 'set -o pipefail; "$@" completion bash | head -n 1; echo "${PIPESTATUS[0]}"'

    done = subprocess.run(["bash", "-c", pipe, "-", *GZIA], cwd=repo, capture_output=True, text=True, timeout=60)

    first, status = done.stdout.splitlines()
    assert first.startswith("# bash completion for gzia")
    assert (status in ("0", "141"), done.stderr) == (True, "")


@pytest.mark.parametrize("words", [words for words in SIMPLE if words != ["list"]])
@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_PRO_07_a_full_disk_is_a_short_message_and_status_1(words: list[str], json_too: list[str], repo: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*GZIA, *words, *json_too], cwd=repo, stdout=full, stderr=subprocess.PIPE, timeout=60)

    assert (done.returncode, done.stderr.decode()) == (
        1,
        "Error: Standard output cannot be written: No space left on device.\n"
        "Hint: free some space or choose another place to write to\n",
    )


def test_PRO_07_a_closed_standard_output_is_not_taken_for_success(repo: Path) -> None:
    done = subprocess.run(["sh", "-c", '"$@" --version >&-', "-", *GZIA], capture_output=True, text=True, timeout=60)

    assert done.returncode == 1
    assert done.stderr.startswith("Error: Standard output cannot be written: Bad file descriptor.\n")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("json_too", [[], ["--json"]])
def test_a_signal_ends_a_command_with_its_status_and_no_word(
    number: signal.Signals, status: int, json_too: list[str], tmp_path: Path
) -> None:
    reading, writing = full_pipe()

    with subprocess.Popen([*GZIA, "completion", "bash", *json_too], stdout=writing, stderr=subprocess.PIPE) as process:
        try:
            wait_for_handler(process.pid, signal.SIGTERM)
            process.send_signal(number)
            _, complaints = process.communicate(timeout=30)
        finally:
            process.kill()
    os.close(reading)
    os.close(writing)

    assert (process.returncode, complaints) == (status, b"")


def test_a_mistake_of_gzia_names_a_log_file_and_shows_no_traceback(tmp_path: Path) -> None:
    broken = GZIA[-1].replace(
        "from gzia.cli.main", "import gzia.cli.commands as c; c.COMMANDS = None; from gzia.cli.main"
    )

    told = subprocess.run([*GZIA[:-1], broken, "show", "secret-words"], capture_output=True, text=True, timeout=60)
    document = subprocess.run([*GZIA[:-1], broken, "show", "--json"], capture_output=True, text=True, timeout=60)

    assert (told.returncode, told.stdout) == (70, "")
    found = re.fullmatch(
        r"Error: gzia made a mistake \(TypeError\); this is a bug\.\nHint: send this file with your report: (.+)\n",
        told.stderr,
    )
    assert found
    log = Path(found[1])
    assert log.parent == Path(os.environ["XDG_STATE_HOME"], "gzia", "logs")
    assert log.read_text().startswith("gzia 0.1.0\nPython 3.")
    assert "TypeError: " in log.read_text()
    assert "secret-words" not in log.read_text()
    assert json.loads(document.stdout)["error"]["code"] == "internal-error"
    assert (document.returncode, document.stderr) == (70, "")


def test_a_mistake_is_told_even_where_no_log_can_be_written(tmp_path: Path) -> None:
    broken = GZIA[-1].replace(
        "from gzia.cli.main", "import gzia.cli.commands as c; c.COMMANDS = None; from gzia.cli.main"
    )
    (tmp_path / "file").write_text("")
    nowhere = {"XDG_STATE_HOME": str(tmp_path / "file"), "TMPDIR": str(tmp_path / "file")}

    told = subprocess.run(
        [*GZIA[:-1], broken, "show", "x"], env={**os.environ, **nowhere}, capture_output=True, text=True, timeout=60
    )

    assert told.returncode == 70
    assert told.stderr.startswith("Error: gzia made a mistake (TypeError); this is a bug.\nHint: ")
    assert "Traceback" not in told.stderr


def test_PRO_11_as_the_first_process_gzia_leaves_the_orphans_to_a_parent_of_its_own(repo: Path, tmp_path: Path) -> None:
    apart = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode:
        pytest.skip("needs the right to make a process namespace")
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(f'#!/bin/sh\necho $PPID >> {tmp_path}/parents\nexec {shutil.which("git")} "$@"\n')
    git.chmod(0o755)
    env = {**os.environ, "PATH": f"{git.parent}:{os.environ['PATH']}"}

    done = subprocess.run(
        [*apart, *GZIA, "show", "none"], cwd=repo, env=env, capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stderr.splitlines()[0]) == (4, "Error: There is no session none here.")
    assert "1" not in (tmp_path / "parents").read_text().split()


def full_pipe() -> tuple[int, int]:
    """A pipe that takes nothing more, as that of a reader who sleeps."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    try:
        while True:
            os.write(writing, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(writing, True)
    return reading, writing


def wait_for_handler(pid: int, number: signal.Signals) -> None:
    """Wait until the process handles this signal (proc(5), SigCgt)."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        caught = re.search(r"SigCgt:\s*([0-9a-f]+)", Path(f"/proc/{pid}/status").read_text())
        if caught and int(caught[1], 16) >> (number - 1) & 1:
            return
    raise AssertionError("the process never listened")
