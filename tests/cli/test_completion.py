"""Completion as the shells themselves see it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from gzia.driver.turn import PermissionLevel
from gzia.session.service import Service
from tests.cli.conftest import GZIA, Call

CASES = {
    "gzia sh": ["show"],
    "gzia ac": ["acp"],
    "gzia acp ": ["serve", "attach"],
    "gzia acp attach f": ["first"],
    "gzia steer s": ["second"],
    "gzia wait --for i": ["idle", "input-needed"],
    "gzia show ": ["second", "first"],
    "gzia --json show f": ["first"],
    "gzia -C . delete first s": ["second"],
    "gzia get ": ["second", "first"],
    "gzia merge first --sq": ["--squash"],
    "gzia run -a de": ["demo"],
    "gzia agents de": ["demo"],
    "gzia run --permission r": ["readonly"],
    "gzia completion ": ["bash", "zsh", "fish"],
    "gzia config g": ["get"],
    "gzia --color n": ["never"],
    "gzia acp serve --col": ["--color"],
    "gzia -C fo": ["folder"],
    "gzia run -f fi": ["file.txt"],
    "gzia no-such-command ": [],
}


@pytest.fixture
def project(repo: Path, call: Call) -> Path:
    """Two sessions, a gzia on PATH, and its completion script for each shell."""
    for id in ("first", "second"):
        Service(repo).create(provider="demo", permission_level=PermissionLevel.SUPERVISED, id=id, isolate=False)
    (repo / "folder").mkdir()
    (repo / "file.txt").write_text("")
    (repo / "show").mkdir()  # a folder of a command's name must not be taken for the folder
    program = repo / ".bin" / "gzia"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(GZIA)} "$@"\n')
    program.chmod(0o755)
    for shell in ("bash", "zsh", "fish"):
        (repo / ".bin" / shell).write_text(call("completion", shell).out)
    os.environ["PATH"] = f"{program.parent}:{os.environ['PATH']}"
    return repo


BASH = r"""
source .bin/bash
for line; do
    eval "COMP_WORDS=($line)"; [[ $line == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _gzia
    echo "= $line"; printf '%s\n' "${COMPREPLY[@]}"
done
"""

# Outside the line editor: the function is called with the variables it reads, and what it offers is printed.
ZSH = r"""
compdef() { : }
compadd() { shift; for each; do [[ $each == ${(Q)words[CURRENT]}* ]] && print -r -- $each; done }
_files() { local -a found; found=(${words[CURRENT]}*(N${1:+/})); print -rl -- $found }
source .bin/zsh
for line; do
    words=(${(z)line}); [[ $line == *' ' ]] && words+=(''); CURRENT=$#words
    print -r -- "= $line"; _gzia
done; true
"""

FISH = """
source .bin/fish
for line in $argv
    echo "= $line"; complete -C "$line"
end
"""


@pytest.mark.parametrize(
    ("shell", "code"),
    [(["bash", "--norc", "-c"], BASH), (["zsh", "-f", "-c"], ZSH), (["fish", "--no-config", "-c"], FISH)],
    ids=["bash", "zsh", "fish"],
)
def test_what_can_follow_is_offered(project: Path, shell: list[str], code: str) -> None:
    if not shutil.which(shell[0]):
        pytest.skip(f"{shell[0]} is not installed")
    name = [] if shell[0] == "fish" else ["-"]

    done = subprocess.run(
        [*shell, code, *name, *CASES], cwd=project, capture_output=True, text=True, check=True, timeout=100
    )

    offered = [block.split("\n") for block in done.stdout.removeprefix("= ").split("\n= ")]
    words = {
        line: sorted(each.split("\t")[0].rstrip("/") for each in each_line if each) for line, *each_line in offered
    }
    assert words == {line: sorted(expected) for line, expected in CASES.items()}
    assert done.stderr == ""


def test_bash_names_nothing_that_bash_3_lacks(call: Call) -> None:
    script = call("completion", "bash").out

    assert not {"mapfile", "readarray", "declare -A", "local -A", "${name,,}"} & set(script.split())


def test_a_program_gets_the_script_as_json(call: Call) -> None:
    answer = json.loads(call("completion", "fish", "--json").out)

    assert (answer["shell"], answer["script"]) == ("fish", call("completion", "fish").out)


def test_an_unknown_shell_is_refused(call: Call) -> None:
    answer = call("completion", "tcsh")

    assert answer.status == 2
    assert answer.err.startswith("Error: Argument SHELL: invalid choice: 'tcsh' (choose from ")
