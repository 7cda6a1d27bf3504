"""Putting the file together: what is in it, when it is made anew, which date it bears."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from gzia.packaging import pack
from gzia.packaging.contents import CHECKOUT
from tests.conftest import git
from tests.packaging.conftest import Make


@pytest.fixture
def shiv(tmp_path: Path) -> Path:
    """What shiv would make of one small dependency."""
    path = tmp_path / "dependencies.pyz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("site-packages/small.py", "X = 1\n")
    return path


@pytest.fixture
def one_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without any python3.N: byte code takes most of the time of a build."""
    for command in ("git", "sh"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / command).symlink_to(f"/usr/bin/{command}")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", "/nonexistent")


@pytest.mark.usefixtures("one_python")
class TestTheBuild:
    def test_does_nothing_when_the_file_is_up_to_date(
        self, shiv: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        target = str(tmp_path / "gzia")
        pack.main(str(shiv), target)
        first = Path(target).stat()

        pack.main(str(shiv), target)

        assert Path(target).stat() == first
        assert capsys.readouterr().err.endswith(f"{target} is up to date\n")

    def test_makes_it_anew_when_a_dependency_changed(self, shiv: Path, tmp_path: Path) -> None:
        target = tmp_path / "gzia"
        pack.main(str(shiv), str(target))
        with zipfile.ZipFile(shiv, "a") as archive:
            archive.writestr("site-packages/more.py", "")

        pack.main(str(shiv), str(target))

        assert "src/more.py" in zipfile.ZipFile(target).namelist()

    @pytest.mark.parametrize("there", [b"", b"junk", b"PK\x05\x06" + bytes(18)])
    def test_replaces_whatever_lies_there(self, shiv: Path, tmp_path: Path, there: bytes) -> None:
        target = tmp_path / "gzia"
        target.write_bytes(there)

        pack.main(str(shiv), str(target))

        with zipfile.ZipFile(target) as archive:
            assert json.loads(archive.read("build.json"))["bytecode"] == []

    def test_bears_the_given_date(self, shiv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")

        pack.main(str(shiv), str(tmp_path / "gzia"))

        with zipfile.ZipFile(tmp_path / "gzia") as archive:
            assert {entry.date_time for entry in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_the_date_is_that_of_the_commit_whatever_git_is_told_to_look_at(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = int(git(CHECKOUT, "log", "-1", "--format=%ct"))
    monkeypatch.setenv("GIT_DIR", str(repo / ".git"))

    assert pack.commit_time() == expected


def test_a_date_before_1980_is_1980_as_zip_knows_no_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")

    assert pack.commit_time() == pack.EARLIEST


@pytest.mark.parametrize(
    ("file", "module"),
    [("gzia/__init__.py", "gzia"), ("gzia/acp/__init__.py", "gzia.acp"), ("gzia/x/y.py", "gzia.x.y"), ("a.py", "a")],
)
def test_a_module_is_named_after_its_file(file: str, module: str) -> None:
    assert pack.module_name(file) == module


def test_any_zip_program_finds_the_archive_sound(make: Make) -> None:
    file = make("def entry(): return 0")

    with zipfile.ZipFile(file) as archive:
        assert archive.testzip() is None
        first = min(entry.header_offset for entry in archive.infolist())
    # Offsets count from the start of the file, as the format wants it.
    assert file.read_bytes()[first : first + 4] == b"PK\x03\x04"
