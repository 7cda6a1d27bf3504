"""``gzia agents``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Call


@pytest.fixture
def found(tmp_path: Path) -> Path:
    """An installed agent, and one of the user's own that is not."""
    program = tmp_path / "bin" / "pi-acp"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    os.environ["PATH"] = str(program.parent)
    config = Path(os.environ["XDG_CONFIG_HOME"], "gzia", "config.toml")
    config.parent.mkdir(parents=True)
    config.write_text('[agents.mine]\ncommand = "my-agent --acp"\n')
    return program


def test_every_agent_is_listed_with_what_would_install_it(call: Call, found: Path) -> None:
    rows = {line.split()[0]: line for line in call("agents").out.splitlines()}

    assert rows["pi"].split() == ["pi", "Pi", "yes", "no"]
    assert rows["gemini"].split() == [
        "gemini", "Gemini", "CLI", "no", "no", "npm", "install", "-g",
        "@google/gemini-cli",
    ]  # fmt: skip
    assert rows["mine"].split() == ["mine", "mine", "no", "?"]
    assert rows["demo"].split() == ["demo", "Demo", "agent", "yes", "yes"]
    assert call("agents", "--names").out.split() == list(rows)[1:]


def test_one_agent_is_told_with_what_each_level_enforces(call: Call, found: Path) -> None:
    told = call("agents", "pi-agent")
    document = json.loads(call("agents", "pi", "--json").out)

    assert told.out.splitlines()[:4] == [
        "Pi (pi)", f"found:     {found}", "driven:    over ACP by pi-acp",
        "steered:   no, a message waits for the next turn",
    ]  # fmt: skip
    assert (document["id"], document["path"], document["steering"]) == ("pi", str(found), False)
    assert [f"{level}: {note}" for level, note in document["permissions"].items()] == told.out.splitlines()[5:]


def test_a_program_gets_all_of_them_in_one_document(call: Call, found: Path) -> None:
    document = json.loads(call("agents", "--json").out)

    assert {each["id"]: each["path"] for each in document["agents"] if each["path"]} == {
        "pi": str(found),
        "demo": "gzia",
    }


def test_an_unknown_agent_is_status_4(call: Call, found: Path) -> None:
    answer = call("agents", "none")

    assert (answer.status, answer.out) == (4, "")
    assert answer.err.startswith("Error: There is no agent called “none”.\nHint: choose one of: ")


def test_a_settings_file_that_is_wrong_is_told(call: Call, found: Path) -> None:
    Path(os.environ["XDG_CONFIG_HOME"], "gzia", "config.toml").write_text("agent = 1\n")

    answer = call("agents")

    assert answer == Answer(
        2, "",
        f"Error: {os.environ['XDG_CONFIG_HOME']}/gzia/config.toml: “agent” is not valid.\n"
        "Hint: it must be the name of an agent: lower-case letters, digits and dashes\n",
    )  # fmt: skip
