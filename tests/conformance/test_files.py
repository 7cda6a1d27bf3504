"""Plays protocol/vectors/files: journals as a crash leaves them, and what becomes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gzia.session import ledger
from gzia.session.journal import Journal, draft
from gzia.system import jsonl
from tests.conformance.test_vectors import covers, vectors

Json = dict[str, Any]


def of(vector: Json, path: Path) -> Path:
    """The journal of a vector."""
    lines = [line if isinstance(line, str) else json.dumps(line) for line in vector["lines"]]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode() + vector["tail"].encode())
    return path


def parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def written(path: Path) -> list[Any]:
    """The lines of a file; None for one that is no object."""
    values = [parsed(line) for line in path.read_text().split("\n")[:-1]]
    return [value if isinstance(value, dict) else None for value in values]


@pytest.mark.parametrize("vector", [one for one in vectors("files") if "write" in one.values[0]])
def test_going_on_with_a_journal(vector: Json, tmp_path: Path) -> None:
    path = of(vector, tmp_path / "s.journal.jsonl")
    side = jsonl.damaged_path(path)
    journal = Journal(path, "s")

    journal.write([draft(**vector["write"])])
    journal.close()

    assert covers(written(path), vector["after"]), written(path)
    assert (side.read_text().removesuffix("\n") if side.exists() else "") == vector["kept"]


@pytest.mark.parametrize("vector", [one for one in vectors("files") if "owed" in one.values[0]])
def test_what_a_journal_owes(vector: Json, tmp_path: Path) -> None:
    path = of(vector, tmp_path / "s.journal.jsonl")

    owes = ledger.read(path)

    assert {
        "waiting": [one.turn for one in owes.waiting],
        "unanswered": list(owes.unanswered),
        "unsettled": list(owes.unsettled),
    } == vector["owed"]
