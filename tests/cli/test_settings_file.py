"""A settings file is read whole and right, or the place of the mistake is told."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from gzia.cli import settings, settings_file
from gzia.errors import UsageError
from gzia.system.resources import read_resource


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b'agent = "a"\nmodel = \n', 2),
        (b'agent = "a"\n\n\nmodel = "x', 4),
        (b"\n\xff\n", 2),
        (b'agent = "a"\nagent = "b"\n', 2),
        (b"[" * 5000, 1),
    ],
)
def test_damaged_toml_is_told_with_file_and_line(data: bytes, line: int, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(data)

    with pytest.raises(UsageError) as refused:
        settings_file.read(path)

    assert (refused.value.code, refused.value.exit_status) == ("settings-damaged", 2)
    assert refused.value.message.startswith(f"{path}:{line}: the settings cannot be read: ")
    assert refused.value.data == {"file": str(path), "line": line}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("agnet = 1", "there is no setting “agnet”", "possible here: agent, permission, model"),
        ('[agents.a]\ncomand = "x"', "there is no setting “agents.a.comand”", "possible here: command, env"),
        ("timeout = -1", "“timeout” is not valid", "it must be a duration such as 30s or 2m"),
        ("timeout = true", "“timeout” is not valid", "it must be a duration such as 30s or 2m"),
        ('agent = "../x"', "“agent” is not valid", "it must be the name of an agent"),
        ('permission = "all"', "“permission” is not valid", "it must be one of readonly"),
        ("[agents.a]\ncommand = []", "“agents.a.command” is not valid", "it must be a program with its arguments"),
        (
            '[agents.a]\ncommand = ["x", 1]',
            "“agents.a.command” is not valid",
            "it must be a program with its arguments",
        ),
        ("[agents.a.env]\nK = 1", "“agents.a.env.K” is not valid", "it must be a table of environment variables"),
        ('[agents.a.env]\n"A=B" = "1"', "“agents.a.env” is not valid", "it must be a table of environment variables"),
        ('[agents."A/B"]', "“agents” is not valid", "it must be a table of agents"),
        ("agents = 1", "“agents” is not valid", "it must be a table of agents"),
    ],
)
def test_a_wrong_setting_is_named_with_what_it_must_be(text: str, message: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)

    with pytest.raises(UsageError) as refused:
        settings_file.read(path)

    assert refused.value.message == f"{path}: {message}."
    assert refused.value.hint.startswith(hint)


def test_a_missing_file_is_no_settings(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert settings_file.read(tmp_path / "none") is None
    assert settings_file.read(tmp_path / "file" / "below") is None


def test_what_is_not_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "large").write_bytes(b"#" * (settings_file.MAX_SIZE + 1))

    why = []
    for name in ("pipe", "device", "folder", "loop", "large"):
        with pytest.raises(UsageError) as refused:
            settings_file.read(tmp_path / name)
        assert refused.value.code == "settings-unreadable"
        why.append(refused.value.message.rpartition(": ")[2])

    assert why == [
        "it is not a file.", "it is not a file.", "it is not a file.",
        "Too many levels of symbolic links.", "it is larger than 1 MiB.",
    ]  # fmt: skip


def test_the_schema_is_a_schema_and_knows_every_setting() -> None:
    schema = json.loads(read_resource(settings_file.SCHEMA))

    Draft202012Validator.check_schema(schema)
    assert set(schema["properties"]) == {*(key.split(".")[0] for key in settings.DEFAULTS), "agents"}


def test_a_glance_overlooks_what_is_wrong() -> None:
    path = settings_file.of_user()
    path.parent.mkdir(parents=True)

    found = []
    for text in ('color = "never"', 'color = "never"\nagnet = 1', "color = 1", "color = ", ""):
        path.write_text(text)
        found.append(settings_file.glance("color"))

    assert found == ["never", "never", None, None, None]
