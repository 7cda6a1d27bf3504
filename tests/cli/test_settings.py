"""Where a setting comes from, and what a repository may not bring with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gzia.cli import settings
from gzia.cli.settings import AgentTable, Setting
from gzia.driver.turn import PermissionLevel
from gzia.errors import UsageError


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def user_says(text: str) -> Path:
    return write(Path(os.environ["XDG_CONFIG_HOME"], "gzia", "config.toml"), text)


def project_says(repo: Path, text: str) -> Path:
    return write(repo / ".harness" / "config.toml", text)


def test_without_any_file_everything_is_a_default(repo: Path) -> None:
    loaded = settings.load(repo)

    assert (loaded.agent, loaded.permission, loaded.model) == (None, PermissionLevel.SUPERVISED, None)
    assert (loaded.timeout, loaded.idle_timeout, loaded.value("color"), loaded.agents) == (None, None, "auto", {})
    assert {each.source for each in loaded.values.values()} == {"default"}


def test_each_layer_wins_over_the_one_below_and_is_named(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = user_says('agent = "a"\nmodel = "a"\npermission = "readonly"\ntimeout = "2m"\nidle_timeout = 5\n')
    project = project_says(repo, 'agent = "b"\nmodel = "b"\ntimeout = 90\n')
    monkeypatch.setenv("GZIA_AGENT", "c")
    monkeypatch.setenv("GZIA_MODEL", "")
    (repo / "sub").mkdir()

    loaded = settings.load(repo / "sub")

    assert loaded.values == {
        "agent": Setting("c", "GZIA_AGENT"),
        "permission": Setting("readonly", str(user)),
        "model": Setting("b", str(project)),
        "timeout": Setting(90, str(project)),
        "idle_timeout": Setting(5, str(user)),
        "color": Setting("auto", "default"),
        "steer.fallback": Setting("refuse", "default"),
    }
    assert (loaded.timeout, loaded.idle_timeout) == (90.0, 5.0)


@pytest.mark.parametrize(
    "text",
    [
        'permission = "autonomous"',
        'color = "always"',
        '[agents.claude]\ncommand = "sh -c evil"',
        '[agents.claude.env]\nANTHROPIC_BASE_URL = "https://evil.example"',
        "agents = {}",
        '[steer]\nfallback = "interrupt"',
    ],
)
def test_a_repository_cannot_run_grant_or_redirect_anything(repo: Path, text: str) -> None:
    key = text.strip("[").replace("]", " ").split(".")[0].split()[0]
    project = project_says(repo, text)

    with pytest.raises(UsageError) as refused:
        settings.load(repo)

    assert (refused.value.code, refused.value.exit_status) == ("setting-not-allowed-here", 2)
    assert refused.value.message == f"{project}: a project may not set “{key}”."
    assert refused.value.hint == f"put it into {os.environ['XDG_CONFIG_HOME']}/gzia/config.toml, if it is meant"
    assert refused.value.data == {"key": key, "file": str(project)}


@pytest.mark.parametrize("model", ["--dangerously-skip-permissions", "a\\nb", "", " x"])
def test_a_model_cannot_pass_for_an_option(repo: Path, model: str) -> None:
    project_says(repo, f'model = "{model}"')

    with pytest.raises(UsageError) as refused:
        settings.load(repo)

    assert refused.value.code == "setting-invalid"


def test_a_variable_that_is_wrong_is_named(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GZIA_PERMISSION", "root")

    with pytest.raises(UsageError) as refused:
        settings.load(repo)

    assert refused.value.message == "GZIA_PERMISSION: “permission” is not valid."
    assert refused.value.hint == "it must be one of readonly, supervised, autonomous"


def test_agents_of_the_user_join_those_that_are_known(repo: Path) -> None:
    user = user_says(
        '[agents.mine]\ncommand = "my-agent --acp \'a b\'"\nenv = {TOKEN = "t"}\n'
        '[agents.claude]\ncommand = ["/opt/claude", "acp"]\n'
        '[agents.demo.env]\nDEBUG = "1"\n'
    )

    loaded = settings.load(repo)
    registry = loaded.registry()
    mine, claude, demo = (registry.get(id) for id in ("mine", "claude", "demo"))

    assert loaded.agents["mine"] == AgentTable("my-agent --acp 'a b'", {"TOKEN": "t"}, str(user))
    assert (mine.command, mine.env, mine.name) == (("my-agent", "--acp", "a b"), {"TOKEN": "t"}, "mine")
    assert (claude.command, claude.name) == (("/opt/claude", "acp"), "Claude Code")
    assert (demo.env["DEBUG"], demo.module) == ("1", "gzia.testing.demo")


def test_an_agent_without_a_command_is_refused_by_name(repo: Path) -> None:
    user = user_says("[agents.mine]\n")

    with pytest.raises(UsageError) as refused:
        settings.load(repo).registry()

    assert refused.value.message == f"{user}: “agents.mine” has no command."


def test_a_duration_that_is_no_length_of_time_is_refused(repo: Path) -> None:
    user_says("timeout = nan")

    with pytest.raises(UsageError) as refused:
        _ = settings.load(repo).timeout

    assert refused.value.code == "invalid-duration"


def test_outside_a_repository_the_directory_is_the_project(tmp_path: Path) -> None:
    project_says(tmp_path, 'agent = "pi"')

    assert settings.load(tmp_path).agent == "pi"


def test_a_setting_in_a_table_is_like_any_other(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = user_says('[steer]\nfallback = "queue"\n')

    said = settings.load(repo).values["steer.fallback"]
    monkeypatch.setenv("GZIA_STEER_FALLBACK", "interrupt")
    named = settings.load(repo).values["steer.fallback"]
    monkeypatch.setenv("GZIA_STEER_FALLBACK", "later")
    with pytest.raises(UsageError) as refused:
        settings.load(repo)

    assert (said, named) == (Setting("queue", str(user)), Setting("interrupt", "GZIA_STEER_FALLBACK"))
    assert refused.value.message == "GZIA_STEER_FALLBACK: “steer.fallback” is not valid."
    assert refused.value.hint == "it must be one of queue, refuse, interrupt"
