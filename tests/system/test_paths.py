"""Where gzia keeps its own files."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from gzia.system import paths

VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMPDIR")


def places() -> tuple[str, str]:
    return str(paths.config_home()), str(paths.state_home())


@pytest.fixture(autouse=True)
def _nothing_is_set() -> None:
    for name in VARIABLES:
        os.environ.pop(name, None)


def test_the_variables_name_the_places() -> None:
    os.environ.update(XDG_CONFIG_HOME="/c", XDG_STATE_HOME="/nobody/made/this")

    assert places() == ("/c/gzia", "/nobody/made/this/gzia")


@pytest.mark.parametrize("value", ["", "relative/path"])
def test_a_variable_that_is_not_absolute_does_not_count(value: str) -> None:
    os.environ.update(HOME="/home/ann", TMPDIR="/t")
    os.environ.update(XDG_CONFIG_HOME=value, XDG_STATE_HOME=value)

    assert places() == ("/home/ann/.config/gzia", "/home/ann/.local/state/gzia")


def test_without_HOME_the_user_database_is_asked() -> None:
    home = pwd.getpwuid(os.getuid()).pw_dir

    assert places() == (f"{home}/.config/gzia", f"{home}/.local/state/gzia")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without a name and return")
def test_a_user_without_a_name_and_a_home_still_has_a_place() -> None:
    os.environ.update(HOME="", TMPDIR="/t")
    os.setreuid(54321, 0)
    try:
        assert places() == ("/t/gzia-54321/.config/gzia", "/t/gzia-54321/.local/state/gzia")
    finally:
        os.setreuid(0, 0)


def made(directory: Path, mode: int = 0o700) -> Path:
    directory.mkdir()
    directory.chmod(mode)
    return directory


def test_sockets_lie_in_the_runtime_directory_of_the_user(tmp_path: Path) -> None:
    os.environ.update(XDG_RUNTIME_DIR=str(made(tmp_path / "run")), TMPDIR="/t")

    user = os.geteuid()
    places = [tmp_path / "run" / "gzia", Path(f"/t/gzia-{user}-run"), Path(f"/tmp/gzia-{user}-run")]
    assert list(paths.runtime_dirs()) == places


@pytest.mark.parametrize("value", ["relative", "/no/such/place", "{open}", "{file}"])
def test_a_runtime_directory_that_is_not_ours_alone_does_not_count(tmp_path: Path, value: str) -> None:
    (tmp_path / "file").write_text("")
    place = value.format(open=made(tmp_path / "open", 0o770), file=tmp_path / "file")
    os.environ.update(XDG_RUNTIME_DIR=place, TMPDIR="/t")

    assert next(paths.runtime_dirs()) == Path(f"/t/gzia-{os.geteuid()}-run")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_the_runtime_directory_of_another_user_does_not_count(tmp_path: Path) -> None:
    os.chown(made(tmp_path / "run"), 54321, 54321)
    os.environ.update(XDG_RUNTIME_DIR=str(tmp_path / "run"), TMPDIR="/t")

    assert next(paths.runtime_dirs()) == Path("/t/gzia-0-run")
