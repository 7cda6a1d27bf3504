"""Writing the file: the same contents give the same bytes, and it is put in place whole."""

from __future__ import annotations

import io
import os
import time
import zipfile
from pathlib import Path

import pytest

from gzia.packaging.archive import Archive, replace


def example() -> tuple[bytes, int]:
    archive = Archive(b"#!/bin/sh\nexit\n", 1_700_000_001)
    archive.add("b", b"text " * 99)
    archive.add("a", b"stored", zipfile.ZIP_STORED)
    return archive.finish()


def test_entries_stand_in_the_order_of_adding_with_one_date_and_mode() -> None:
    data, count = example()

    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = [(e.filename, e.date_time, e.external_attr >> 16, e.create_system) for e in archive.infolist()]
        assert archive.testzip() is None
    when = (2023, 11, 14, 22, 13, 20)
    assert entries == [("b", when, 0o100644, 3), ("a", when, 0o100644, 3)]
    assert (count, data[:10]) == (2, b"#!/bin/sh\n")


def test_the_bytes_depend_on_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    first = example()
    before = os.umask(0o077)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        second = example()
    finally:
        os.umask(before)
        monkeypatch.undo()
        time.tzset()

    assert second == first


def test_an_entry_can_be_read_at_the_place_that_adding_it_returned() -> None:
    archive = Archive(b"head\n", 1_700_000_000)
    archive.add("one", b"1" * 1000)

    at = archive.add("two", b"here it is", zipfile.ZIP_STORED)

    archive.add("three", b"3" * 1000)
    data, _ = archive.finish()
    assert data[at : at + 10] == b"here it is"


def test_the_file_is_executable_whatever_the_umask_and_replaces_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "dist/gzia"
    before = os.umask(0o077)
    try:
        replace(file, b"one")
        with file.open("rb") as running:
            replace(file, b"two")
            still = running.read()
    finally:
        os.umask(before)

    assert (file.read_bytes(), still) == (b"two", b"one")
    assert file.stat().st_mode & 0o777 == 0o755
    assert list(file.parent.iterdir()) == [file]
