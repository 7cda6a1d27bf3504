"""``gzia config``: read and change the settings."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from gzia.cli import settings, settings_file, toml_edit
from gzia.cli.output import Output
from gzia.errors import GziaError, UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """ACTION and what it needs."""
    parser.add_argument("action", choices=("get", "set", "list", "path"), help="what to do")
    parser.add_argument("key", nargs="?", metavar="KEY", help="for example permission or agents.NAME.command")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="the new value, for set")
    parser.epilog = f"settings: {', '.join(settings.DEFAULTS)}, agents.NAME.command, agents.NAME.env.VARIABLE"


def run(args: argparse.Namespace) -> int:
    """Do what ``args.action`` says."""
    wanted = {"get": 1, "set": 2, "list": 0, "path": 0}[args.action]
    if [args.key, args.value].count(None) != 2 - wanted:
        needs = ("takes no key", "needs a KEY", "needs a KEY and a VALUE")[wanted]
        raise UsageError("invalid-arguments", f"“config {args.action}” {needs}.", "see gzia config --help")
    return {"get": _get, "set": _set, "list": _list, "path": _path}[args.action](args)


def _get(args: argparse.Namespace) -> int:
    for shown in _shown(settings.load(args.directory)):
        if shown["key"] == args.key:
            if args.json:
                args.out.document(shown)
            else:
                args.out.line(_text(shown["value"]))
            return 0
    raise UsageError("setting-unknown", f"There is no setting “{args.key}”.", "see gzia config list")


def _set(args: argparse.Namespace) -> int:
    path, keys = settings_file.of_user(), args.key.split(".")
    changed = _assigned(path, keys, args.value)
    settings_file.check(settings_file.parse_text(changed, path), str(path))
    # A file that a dotfiles tool links to stays where it is, and stays linked.
    _store(path.resolve(), changed)
    if args.json:
        args.out.document({"key": args.key, "value": args.value, "source": str(path)})
    return 0


def _assigned(path: Path, keys: list[str], value: str) -> bytes:
    before = settings_file.contents(path) or b""
    settings_file.parse_text(before, path)
    try:
        after = toml_edit.assign(before.decode("utf-8"), keys, value)
        if after is not None and all(keys):
            return after.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError("setting-invalid", "The value is not UTF-8.", "write it in UTF-8") from None
    raise UsageError(
        "setting-not-editable", f"{path}: “{'.'.join(keys)}” cannot be set from here.", f"edit {path} by hand"
    )


def _store(path: Path, data: bytes) -> None:
    from gzia.system.files import write_atomic

    try:
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_atomic(path, data, mode)
    except OSError as error:
        message = f"{path} cannot be written: {os.strerror(error.errno or 0)}."
        raise GziaError("settings-not-writable", message, "see gzia config path") from None


def _list(args: argparse.Namespace) -> int:
    shown = _shown(settings.load(args.directory))
    if args.json:
        args.out.document({"settings": shown})
        return 0
    out: Output = args.out
    out.table(("SETTING", "VALUE", "FROM"), [(each["key"], _text(each["value"]), each["source"]) for each in shown])
    return 0


def _path(args: argparse.Namespace) -> int:
    path = settings_file.of_user()
    if args.json:
        args.out.document({"path": str(path), "exists": path.exists()})
    else:
        args.out.path(path)
    return 0


def _shown(loaded: settings.Settings) -> list[dict[str, Any]]:
    """Every setting as ``{key, value, source}``, values as they were written."""
    plain = [{"key": key, "value": each.value, "source": each.source} for key, each in loaded.values.items()]
    for name, table in loaded.agents.items():
        command = table.command if isinstance(table.command, str) else list(table.command)
        entries = {"command": command or None, **{f"env.{key}": value for key, value in table.env.items()}}
        plain += [{"key": f"agents.{name}.{key}", "value": v, "source": table.source} for key, v in entries.items()]
    return plain


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
