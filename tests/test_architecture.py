"""The house as data: which room may import which, which rooms are pure, how long a module may be."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "gzia"

ROOMS: dict[str, set[str]] = {
    "errors": set(),
    "version": set(),
    "jsonrpc": {"errors"},
    "driver": {"errors"},
    "system": {"errors"},
    "acp": {"jsonrpc", "errors"},
    "workspace": {"system", "errors"},
    "events": {"system", "errors"},
    "metrics": {"system", "errors"},
    "updater": {"system", "errors"},
    "agents": {"driver", "system", "errors"},
    "transports": {"agents", "driver", "acp", "jsonrpc", "system", "errors", "version"},
    "session": {
        "transports", "agents", "driver", "acp", "workspace", "events", "metrics", "system", "errors",
    },
    "serve": {"session", "acp", "jsonrpc", "system", "errors", "version"},
    "testing": {"agents", "driver", "acp", "jsonrpc", "system", "errors", "version"},
    "packaging": {"cli", "version", "errors"},  # the launcher starts the command line
}  # fmt: skip
ROOMS["cli"] = set(ROOMS) - {"testing", "packaging"}
ROOMS["__main__"] = {"cli"}
ROOMS["__init__"] = set()

PURE = {"jsonrpc", "acp", "driver"}
IMPURE_STDLIB = {
    "asyncio", "os", "time", "pathlib", "subprocess", "socket", "logging", "sys", "tempfile", "shutil", "select",
    "threading", "signal", "io", "fcntl", "datetime", "random", "secrets", "uuid",
}  # fmt: skip

GENERATED = {"acp/_checks.py"}
MAX_LINES = 400

HEAVY = {"asyncio", "rich", "urllib", "urllib.request", "jsonschema", "importlib.metadata", "dataclasses", "typing",
         "argparse", "json", "pathlib", "subprocess", "logging", "pexpect"}  # fmt: skip


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def modules() -> list[Path]:
    return [p for p in sorted(PACKAGE.rglob("*.py")) if name_of(p) not in GENERATED]


def imports(path: Path) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write absolute imports"
            names = [f"gzia.{alias.name}" for alias in node.names] if node.module == "gzia" else [node.module or ""]
            found += [(node.lineno, name) for name in names]
    return found


def test_every_room_is_on_the_plan() -> None:
    assert {room_of(p) for p in modules()} <= set(ROOMS)


def test_every_import_follows_an_arrow() -> None:
    wrong = [
        f"gzia/{name_of(path)}:{line} imports {name}"
        for path in modules()
        for line, name in imports(path)
        if name.startswith("gzia.")
        and (target := name.split(".")[1]) != room_of(path)
        and target not in ROOMS[room_of(path)]
    ]

    assert not wrong, "\n".join(wrong)


def test_pure_rooms_touch_neither_clock_nor_disk_nor_process() -> None:
    wrong = [
        f"gzia/{name_of(path)}:{line} imports {name}"
        for path in modules()
        if room_of(path) in PURE
        for line, name in imports(path)
        if name.split(".")[0] in IMPURE_STDLIB
    ]

    assert not wrong, "\n".join(wrong)


def test_no_module_outgrows_one_sitting() -> None:
    lengths = {name_of(p): len(p.read_text(encoding="utf-8").splitlines()) for p in modules()}

    assert {name: n for name, n in lengths.items() if n > MAX_LINES} == {}


def test_every_module_says_what_it_is_for() -> None:
    silent = [name_of(p) for p in modules() if not ast.get_docstring(ast.parse(p.read_text(encoding="utf-8")))]

    assert silent == []


def test_the_map_names_every_room() -> None:
    page = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    rooms = {p.name for p in PACKAGE.iterdir() if (p / "__init__.py").exists()}

    assert {room for room in rooms if f"\n{room} " not in page} == set()


def test_version_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['gzia', '--version']\n"
        "from gzia.cli.main import entry\n"
        "try: entry()\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, sep='\\n', file=sys.stderr)"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r})\n{code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout.startswith("gzia ")
    assert set(done.stderr.split()) & HEAVY == set()
