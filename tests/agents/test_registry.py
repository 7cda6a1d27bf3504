"""Which agents there are, and how a person's own command becomes one."""

from __future__ import annotations

from pathlib import Path

import pytest

from gzia.agents.base import AgentSpec
from gzia.agents.registry import ALL, Registry, custom
from gzia.driver.turn import PermissionLevel
from gzia.errors import GziaError, NotFoundError, UsageError

READONLY, SUPERVISED, AUTONOMOUS = PermissionLevel


def program(folder: Path, name: str) -> None:
    """A program of this name on a PATH that consists of ``folder``."""
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_the_default_is_the_first_real_agent_that_is_installed(path: Path) -> None:
    program(path, "pi-acp")
    program(path, "opencode")

    assert Registry().default().id == "opencode"


@pytest.mark.usefixtures("path")
def test_without_any_agent_the_hint_is_the_one_inside() -> None:
    with pytest.raises(NotFoundError) as caught:
        Registry().default()

    assert (caught.value.code, "-a demo" in caught.value.hint) == ("no-agent", True)


def test_an_alias_is_the_same_agent() -> None:
    assert Registry().get("pi-agent").id == "pi"


def test_an_unknown_agent_is_told_with_those_that_exist() -> None:
    with pytest.raises(NotFoundError) as caught:
        Registry().get("nobody")

    assert caught.value.data["known"] == list(ALL)


@pytest.mark.parametrize(
    ("command", "argv"),
    [("prog --acp 'two words'", ("prog", "--acp", "two words")), (["prog", "a b"], ("prog", "a b"))],
)
def test_a_command_is_split_as_a_shell_would_but_no_shell_is_run(command: str | list[str], argv: tuple[str]) -> None:
    assert custom(command).command == argv


@pytest.mark.parametrize("command", ["", "   ", "'unclosed"])
def test_a_command_that_means_nothing_is_refused(command: str) -> None:
    with pytest.raises(UsageError, match="agent command"):
        custom(command)


def test_a_command_for_a_known_agent_keeps_what_is_known_about_it() -> None:
    spec = custom("/opt/claude-acp", id="claude")

    assert (spec.command, spec.levels) == (("/opt/claude-acp",), ALL["claude"].levels)


def test_RIG_01_an_unknown_program_cannot_be_held_to_read_only() -> None:
    with pytest.raises(UsageError) as caught:
        custom("prog").posture(READONLY)

    assert (caught.value.code, caught.value.data["possible"]) == (
        "permission-not-enforceable",
        [SUPERVISED, AUTONOMOUS],
    )


@pytest.mark.parametrize("level", [READONLY, SUPERVISED])
def test_RIG_01_an_agent_that_asks_nothing_is_only_autonomous(level: PermissionLevel) -> None:
    with pytest.raises(UsageError):
        ALL["pi"].posture(level)


@pytest.mark.parametrize("spec", ALL.values(), ids=lambda spec: spec.id)
def test_RIG_01_no_level_bypasses_an_agents_own_questions(spec: AgentSpec) -> None:
    words = " ".join(f"{p.mode} {p.args} {dict(p.env)} {dict(p.config)} {dict(p.meta)}" for p in spec.levels.values())

    for forbidden in ("bypassPermissions", "dangerously", "yolo", "full-access", "skip-permissions"):
        assert forbidden not in words


@pytest.mark.parametrize("spec", ALL.values(), ids=lambda spec: spec.id)
def test_every_level_says_in_words_what_it_enforces(spec: AgentSpec) -> None:
    assert spec.levels
    assert all(posture.note for posture in spec.levels.values())


def test_a_file_that_is_no_program_is_told_apart_from_one_that_is_missing(tmp_path: Path) -> None:
    (tmp_path / "agent").write_text("x")
    errors: list[GziaError] = [custom([str(tmp_path / name)]).not_found() for name in ("agent", "nobody")]

    assert [error.code for error in errors] == ["agent-not-executable", "agent-not-found"]
