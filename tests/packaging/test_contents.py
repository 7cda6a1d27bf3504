"""What goes into the single file and what stays out."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from gzia.packaging.contents import dependencies, licence_name, own


def laid_out(path: Path, *names: str) -> Path:
    """An archive as shiv makes it; each file's content is its name."""
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, name)
    return path


def test_dependencies_keep_code_data_and_licences(tmp_path: Path) -> None:
    shiv = laid_out(
        tmp_path / "x.pyz", "__main__.py", "_bootstrap/__init__.py", "environment.json", "site-packages/",
        "site-packages/rich/table.py", "site-packages/rich/py.typed", "site-packages/rich/markdown.py",
        "site-packages/rich/_win32_console.py", "site-packages/rich/__pycache__/table.cpython-311.pyc",
        "site-packages/jsonschema/tests/test_x.py", "site-packages/jsonschema_specifications/schemas/draft7/m.json",
        "site-packages/attr/__init__.pyi", "site-packages/bin/jsonschema",
        "site-packages/rich-15.0.0.dist-info/licenses/LICENSE", "site-packages/rich-15.0.0.dist-info/RECORD",
    )  # fmt: skip

    kept = dependencies(shiv)

    assert sorted(kept) == [
        "licenses/rich/LICENSE", "src/jsonschema_specifications/schemas/draft7/m.json", "src/rich/table.py",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["rpds/rpds.cpython-311-x86_64-linux-gnu.so", "x.pyd", "a/libz.so.1", "b/z.dylib"])
def test_compiled_code_ends_the_build(tmp_path: Path, name: str) -> None:
    shiv = laid_out(tmp_path / "x.pyz", "site-packages/a.py", f"site-packages/{name}")

    with pytest.raises(SystemExit, match=f"^compiled code cannot be shipped: {name}$"):
        dependencies(shiv)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("rich-15.0.0.dist-info/licenses/LICENSE", "licenses/rich/LICENSE"),
        ("ptyprocess-0.7.0.dist-info/LICENSE", "licenses/ptyprocess/LICENSE"),
        ("typing_extensions-4.16.0.dist-info/licenses/LICENSE", "licenses/typing_extensions/LICENSE"),
    ],
)
def test_a_licence_is_kept_under_the_name_of_its_package(name: str, kept: str) -> None:
    assert licence_name(name) == kept


def test_of_the_checkout_go_in_the_package_the_protocol_and_what_starts_the_file() -> None:
    entries = own()

    assert {"__main__.py", "src/gzia_boot.py", "src/rpds.py", "src/gzia/__init__.py", "src/gzia/acp/_checks.py",
            "src/gzia/testing/demo.py", "src/protocol/acp/v1.json"} <= set(entries)  # fmt: skip
    assert b"import" in entries["src/gzia/acp/_checks.py"]
    wrong = [name for name in entries if "packaging" in name or "__pycache__" in name or name.endswith((".md", ".pyc"))]
    assert wrong == []
