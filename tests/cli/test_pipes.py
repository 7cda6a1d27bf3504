"""What a program behind a pipe gets: JSON and nothing else, whatever the environment says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from gzia.driver.turn import PermissionLevel
from gzia.session.service import Service
from tests.cli.conftest import GZIA, Answer, Gzia, on_terminal

COLOURFUL = {
    "COLUMNS": "20",
    "TERM": "xterm-256color",
    "FORCE_COLOR": "1",
    "CLICOLOR_FORCE": "1",
    "GZIA_COLOR": "always",
}

EVERY_COMMAND = [
    [], ["--version"], ["--help"], ["agents"], ["agents", "demo"], ["list"], ["show", "one"], ["path", "one"],
    ["diff", "one"], ["diff", "one", "--stat"], ["read", "one"], ["merge", "one", "--dry-run"], ["kill", "one"],
    ["delete", "one"], ["events", "one"], ["log", "one", "--action", "x"],
    ["steer", "one", " "], ["steer", "one", "x"], ["cancel", "none"], ["acp", "attach", "none"], ["resume", "none"],
    ["watch", "none"], ["events", "none", "--follow"], ["wait", "one", "--timeout", "1ms"], ["config", "list"],
    ["config", "path"], ["config", "get", "color"], ["config", "set", "agent", "demo"], ["completion", "zsh"],
    ["list", "--help"], ["list", "--bad-flag"], ["lst"], ["show", "none"], ["-C", "/none", "list"], ["acp"],
    ["config", "get", "none"], ["run", "-a", "none", "hi"], ["run", "-a", "demo", "-p", "autonomous", "hi"],
]  # fmt: skip


@pytest.fixture
def project(repo: Path) -> Path:
    """A project with a session of a very long title, an untracked change, a damaged record and a damaged setting."""
    service = Service(repo)
    record = service.create(
        provider="demo", permission_level=PermissionLevel.SUPERVISED, id="one", prompt=f"{'long title ' * 50}\x1b[31m"
    )
    (Path(record.worktree_dir) / ("w " * 50)).write_text("x" * 500)
    (repo / ".harness/sessions/broken.json").write_text("{")
    return repo


def is_pure(answer: Answer) -> bool:
    """Whole lines of JSON objects, nothing that a terminal obeys, and an error exactly when the status says so."""
    lines = answer.out.split("\n")
    objects = [json.loads(line) for line in lines[:-1]]
    told = any("error" in each and "kind" not in each for each in objects)
    ascii_controls = set(map(chr, range(32))) - {"\n"}
    return lines[-1] == "" and bool(objects) and told == (answer.status != 0) and not ascii_controls & set(answer.out)


def test_PRO_10_with_json_there_is_json_and_nothing_else(gzia: Gzia, project: Path) -> None:
    answers = {" ".join(words): gzia(*words, "--json", cwd=project, env=COLOURFUL) for words in EVERY_COMMAND}

    assert {name: answer for name, answer in answers.items() if not is_pure(answer)} == {}
    assert {answer.status for answer in answers.values()} == {0, 2, 3, 4, 6}
    assert not any("Traceback" in answer.err for answer in answers.values())


def test_PRO_10_jq_agrees(project: Path) -> None:
    pipe = '"$@" list --json --bad-flag | jq -es . && "$@" list --json | jq -es .'

    done = subprocess.run(["bash", "-c", pipe, "-", *GZIA], cwd=project, capture_output=True, text=True, check=True)

    assert '"unknown-option"' in done.stdout
    assert '"id": "one"' in done.stdout


def test_a_pipe_gets_plain_text_whatever_the_terminal_is_called(gzia: Gzia, project: Path) -> None:
    plain = gzia("list", cwd=project, env={**COLOURFUL, "GZIA_COLOR": ""})
    asked = gzia("list", "--color=always", cwd=project)

    row = next(line for line in plain.out.splitlines() if line.startswith("one"))
    assert "\x1b" not in plain.out
    assert row.endswith(f"{'long title ' * 50}\\x1b[31m")
    assert "\x1b[1mone\x1b[0m" in asked.out


def test_a_terminal_gets_colours_and_rows_of_its_width(project: Path) -> None:
    answer = on_terminal("list", cwd=project, columns=60)

    rows = [line for line in answer.out.splitlines() if "one" in line]
    assert len(rows) == 1
    assert rows[0].startswith("\x1b[1mone ")
    assert rows[0].rstrip().endswith("…")


@pytest.mark.parametrize(
    ("words", "env"),
    [(["--color=never"], {}), ([], {"NO_COLOR": "1"}), ([], {"TERM": "dumb"}), ([], {"GZIA_COLOR": "never"})],
)
def test_a_terminal_can_be_told_to_stay_plain(project: Path, words: list[str], env: dict[str, str]) -> None:
    assert "\x1b" not in on_terminal("list", *words, cwd=project, env=env).out
    assert "\x1b" not in on_terminal("diff", "one", *words, cwd=project, env=env).out


def test_what_was_set_for_gzia_is_stronger_than_NO_COLOR(project: Path, gzia: Gzia) -> None:
    gzia("config", "set", "color", "always")

    answers = [
        on_terminal("show", "one", cwd=project, env={"NO_COLOR": "1"}),
        on_terminal("show", "one", cwd=project, env={"NO_COLOR": "1", "GZIA_COLOR": "never"}),
        on_terminal("show", "one", "--color=always", cwd=project, env={"NO_COLOR": "1", "GZIA_COLOR": "never"}),
        gzia("show", "one", cwd=project, env={"NO_COLOR": "1"}),
    ]

    assert ["\x1b" in answer.out for answer in answers] == [True, False, True, True]


def test_a_diff_on_a_terminal_is_coloured_and_harmless(project: Path) -> None:
    (project / ".harness/worktrees/one/f.txt").write_bytes(b"\x1b]0;evil\x07\xff\n")

    answer = on_terminal("diff", "one", cwd=project)

    assert "\x1b[32m+\\x1b]0;evil\\x07\\xff\x1b[0m\n" in answer.out
    assert "\x1b]" not in answer.out


def test_a_path_on_a_terminal_is_made_visible(tmp_path: Path) -> None:
    evil = tmp_path / "a\x1b[31mb"
    evil.mkdir()

    answer = on_terminal("config", "path", cwd=tmp_path, env={"XDG_CONFIG_HOME": str(evil)})

    assert answer.out == f"{tmp_path}/a\\x1b[31mb/gzia/config.toml\n"


def test_json_on_a_terminal_is_not_coloured_either(project: Path) -> None:
    answer = on_terminal("show", "one", "--json", "--color=always", cwd=project, columns=20)

    assert answer.out.count("\n") == 1
    assert json.loads(answer.out)["id"] == "one"
