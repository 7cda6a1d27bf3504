"""The dependency locks: complete, pinned, and of a shape that pip checks hashes with."""

from __future__ import annotations

import re

import pytest

from gzia.packaging.lock import LOCKS, NOT_SHIPPED, every_target, pins, text

ENTRY = re.compile(r"([a-z0-9-]+)==([^ \n]+)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")


def pinned(name: str) -> dict[str, str]:
    """Package -> version in a lock; every line of it is understood."""
    lock = (LOCKS / f"{name}.txt").read_text(encoding="utf-8")
    entries = ENTRY.findall(lock)
    assert "".join(f"{package}=={version}{hashes}\n" for package, version, hashes in entries) == lock.partition("\n")[2]
    return {package: version for package, version, _ in entries}


@pytest.mark.parametrize("name", ["runtime", "build", "dev"])
def test_every_package_is_pinned_with_hashes(name: str) -> None:
    assert pinned(name)


def test_the_tests_run_on_the_versions_that_are_shipped() -> None:
    dev = pinned("dev")

    assert {package: dev[package] for package in pinned("runtime")} == pinned("runtime")


def test_what_cannot_be_shipped_is_not_in_the_list() -> None:
    assert set(pinned("runtime")) & set(NOT_SHIPPED) == set()


@pytest.mark.parametrize("name", ["runtime", "build"])
def test_what_is_needed_to_build_is_pure_python(name: str) -> None:
    lock = (LOCKS / f"{name}.txt").read_text(encoding="utf-8")

    assert lock.count("--hash") == len(pinned(name))


def test_the_list_is_sorted_with_all_hashes_of_a_package() -> None:
    assert text({"b": "2", "a": "1.0"}, {"a": {"ff", "00"}, "b": {"11"}}).partition("\n")[2] == (
        "a==1.0 \\\n    --hash=sha256:00 \\\n    --hash=sha256:ff\nb==2 \\\n    --hash=sha256:11\n"
    )


def test_names_are_written_as_the_index_writes_them() -> None:
    report = [{"metadata": {"name": "Typing_Extensions", "version": "4"}}]

    assert pins(report) == {"typing-extensions": "4"}


def test_every_python_is_asked_for_on_every_platform() -> None:
    asked = {(target[1], target[-3]) for target in every_target()}

    assert len(every_target()) == len(asked) == 16
