"""Reading a settings file: TOML whose shape is protocol/gzia/config.schema.json."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gzia.errors import UsageError
from gzia.system.paths import config_home

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

MAX_SIZE = 1 << 20
SCHEMA = "protocol/gzia/config.schema.json"


def of_user() -> Path:
    """The user's settings file, which need not exist."""
    return config_home() / "config.toml"


def of_project(root: Path) -> Path:
    """The settings file of the project with this root, which need not exist."""
    return root / ".harness" / "config.toml"


def glance(key: str) -> str | None:
    """One value of the user's own file for commands that need no other; a file that is damaged counts as silent."""
    try:
        found = (parse(of_user()) or {}).get(key)
    except UsageError:
        return None  # the commands that need the settings say what is wrong with them
    return found if isinstance(found, str) else None


def read(path: Path) -> dict[str, Any] | None:
    """The settings in ``path``, in a shape that the schema allows; None when there is no such file.

    UsageError ``settings-damaged`` (with file and line), ``settings-unreadable``, or one of :func:`check`.
    """
    document = parse(path)
    if document is not None:
        check(document, str(path))
    return document


def parse(path: Path) -> dict[str, Any] | None:
    """The TOML of ``path`` unchecked; None when there is no such file."""
    data = contents(path)
    return None if data is None else parse_text(data, path)


def contents(path: Path) -> bytes | None:
    """The bytes of ``path``; None when there is no such file."""
    try:
        # A repository can bring a symbolic link to a device: nothing but a file is read, and opening never waits.
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unreadable(path, os.strerror(error.errno or 0)) from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _unreadable(path, "it is not a file")
        with os.fdopen(fd, "rb", closefd=False) as file:
            data = file.read(MAX_SIZE + 1)
    finally:
        os.close(fd)
    if len(data) > MAX_SIZE:
        raise _unreadable(path, "it is larger than 1 MiB")
    return data


def parse_text(data: bytes, path: Path) -> dict[str, Any]:
    """``data`` as TOML; ``path`` is for the error."""
    import tomllib  # here, because most commands only ask whether there is a file

    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line, what = data.count(b"\n", 0, error.start) + 1, "it is not UTF-8"
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+),", str(error))
        line = int(found[1]) if found else data.count(b"\n") + 1
        what = re.sub(r" \(at .*\)$", "", str(error))
    except RecursionError:
        line, what = 1, "it is nested too deeply"
    raise UsageError(
        "settings-damaged", f"{path}:{line}: the settings cannot be read: {what}.", f"mend line {line} of {path}",
        data={"file": str(path), "line": line},
    )  # fmt: skip


def check(document: Mapping[str, Any], where: str) -> None:
    """Hold ``document`` to the schema.

    ``where`` is the file, variable or option it comes from.  UsageError ``setting-unknown`` or ``setting-invalid``.
    """
    import json

    from jsonschema import Draft202012Validator

    from gzia.system.resources import read_resource

    schema = json.loads(read_resource(SCHEMA))
    errors = sorted(Draft202012Validator(schema).iter_errors(document), key=lambda error: error.json_path)
    if errors:
        raise _refusal(errors[0], schema, where)


def _refusal(error: ValidationError, schema: Mapping[str, Any], where: str) -> UsageError:
    path = [str(step) for step in error.absolute_path]
    if error.validator == "additionalProperties" and isinstance(error.instance, dict):
        known = _at(schema, path)["properties"]
        name = ".".join([*path, min(set(error.instance) - set(known))])
        return UsageError(
            "setting-unknown", f"{where}: there is no setting “{name}”.", f"possible here: {', '.join(known)}",
            data={"key": name, "where": where},
        )  # fmt: skip
    name = ".".join(path) or "the file"
    return UsageError(
        "setting-invalid", f"{where}: “{name}” is not valid.", f"it must be {_at(schema, path)['description']}",
        data={"key": name, "where": where},
    )  # fmt: skip


def _at(schema: Mapping[str, Any], path: list[str]) -> Mapping[str, Any]:
    """The schema of the setting at ``path``, or of the innermost one around it."""
    for step in path:
        inner = schema.get("properties", {}).get(step) or schema.get("additionalProperties")
        if not isinstance(inner, dict) or "description" not in inner:
            break
        schema = inner
    return schema


def _unreadable(path: Path, why: str) -> UsageError:
    return UsageError(
        "settings-unreadable", f"{path}: the settings cannot be read: {why}.", f"mend or remove {path}",
        data={"file": str(path)},
    )  # fmt: skip
