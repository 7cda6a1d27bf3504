"""The schemas of what gzia writes, ready to judge values."""

from __future__ import annotations

import json
from pathlib import Path

from jsonschema import Draft202012Validator

FOLDER = Path(__file__).parent.parent / "protocol" / "gzia"


def schema(name: str) -> Draft202012Validator:
    """The validator of ``protocol/gzia/<name>.schema.json``; the schema itself is checked first."""
    document = json.loads((FOLDER / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(document)
    return Draft202012Validator(document)
