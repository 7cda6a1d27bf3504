"""``gzia config``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.conftest import Answer, Call


def config_file() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"], "gzia", "config.toml")


def test_what_is_set_can_be_got_and_is_listed_with_its_source(call: Call) -> None:
    assert call("config", "set", "agent", "pi") == Answer(0, "", "")
    assert call("config", "set", "agents.mine.command", "my agent") == Answer(0, "", "")

    assert config_file().read_text() == 'agent = "pi"\n\n[agents.mine]\ncommand = "my agent"\n'
    assert call("config", "get", "agent") == Answer(0, "pi\n", "")
    assert call("config", "get", "model") == Answer(0, "-\n", "")
    assert json.loads(call("config", "get", "agent", "--json").out) == {
        "key": "agent", "value": "pi", "source": str(config_file()),
    }  # fmt: skip
    lines = [line.split() for line in call("config", "list").out.splitlines()]
    assert lines == [
        ["SETTING", "VALUE", "FROM"],
        ["agent", "pi", str(config_file())],
        ["permission", "supervised", "default"],
        ["model", "-", "default"],
        ["timeout", "-", "default"],
        ["idle_timeout", "-", "default"],
        ["color", "auto", "default"],
        ["steer.fallback", "refuse", "default"],
        ["agents.mine.command", "my", "agent", str(config_file())],
    ]


def test_every_kind_of_value_is_listed_as_it_was_written(call: Call) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text('timeout = 90\n[agents.a]\ncommand = ["a", "b c"]\nenv = {K = "v"}\n[agents.demo]\n')

    shown = {each["key"]: each["value"] for each in json.loads(call("config", "list", "--json").out)["settings"]}

    assert shown["timeout"] == 90
    assert {key: value for key, value in shown.items() if key.startswith("agents.")} == {
        "agents.a.command": ["a", "b c"], "agents.a.env.K": "v", "agents.demo.command": None,
    }  # fmt: skip
    assert call("config", "get", "agents.a.command").out == '["a", "b c"]\n'


def test_path_prints_the_file_for_an_editor(call: Call) -> None:
    assert call("config", "path") == Answer(0, f"{config_file()}\n", "")
    assert json.loads(call("config", "path", "--json").out) == {"path": str(config_file()), "exists": False}


def test_setting_keeps_comments_mode_and_link(call: Call, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.toml"
    kept.write_text('# mine\nagent = "demo" # for now\n')
    kept.chmod(0o640)
    config_file().parent.mkdir(parents=True)
    config_file().symlink_to(kept)

    answer = call("config", "set", "agent", "codex", "--json")

    assert json.loads(answer.out) == {"key": "agent", "value": "codex", "source": str(config_file())}
    assert config_file().is_symlink()
    assert kept.read_text() == '# mine\nagent = "codex" # for now\n'
    assert kept.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["set", "agnet", "x"], "setting-unknown"),
        (["set", "permission", "root"], "setting-invalid"),
        (["set", "agents..command", "x"], "setting-not-editable"),
        (["set", "agent.x", "y"], "setting-invalid"),
        (["get", "agnet"], "setting-unknown"),
        (["get"], "invalid-arguments"),
        (["set", "agent"], "invalid-arguments"),
        (["list", "agent"], "invalid-arguments"),
        (["unset", "agent"], "invalid-arguments"),
        (["set", "model", "caf\udce9"], "setting-invalid"),
    ],
)
def test_a_mistake_changes_nothing(call: Call, words: list[str], code: str) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("# nothing\n")

    answer = call("config", *words, "--json")

    assert (answer.status, json.loads(answer.out)["error"]["code"]) == (2, code)
    assert config_file().read_text() == "# nothing\n"


def test_a_damaged_file_is_not_overwritten(call: Call) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text("agent = \n")

    answer = call("config", "set", "agent", "x")

    assert answer.status == 2
    assert answer.err.startswith(f"Error: {config_file()}:1: the settings cannot be read: ")
    assert config_file().read_text() == "agent = \n"


def test_a_place_that_cannot_be_written_is_said(call: Call) -> None:
    Path(os.environ["XDG_CONFIG_HOME"]).write_text("a file")

    answer = call("config", "set", "agent", "x", "--json")

    assert (answer.status, json.loads(answer.out)["error"]["code"]) == (1, "settings-not-writable")


def test_a_table_written_inline_is_left_to_its_writer(call: Call) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text('agents = {a = {command = "a"}}\n')

    answer = call("config", "set", "agents.a.command", "b")

    assert answer == Answer(
        2,
        "",
        f"Error: {config_file()}: “agents.a.command” cannot be set from here.\nHint: edit {config_file()} by hand\n",
    )
