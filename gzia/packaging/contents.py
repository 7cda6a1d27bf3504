"""What the single file contains: gzia, what it needs of its dependencies, the protocol, the licences.

Each entry costs every start about 3 microseconds, so what gzia cannot use stays out.
"""

from __future__ import annotations

import json
import zipfile
from fnmatch import fnmatch
from pathlib import Path

from gzia.packaging.checks import generate
from gzia.packaging.tolerance import tolerant

PACKAGING = Path(__file__).parent
CHECKOUT = PACKAGING.parent.parent

# gzia/packaging makes the file; these of it go in, under these names.
SHIPPED = {"src/gzia_boot.py": "boot.py", "src/rpds.py": "rpds.py", "__main__.py": "zip_main.py"}

# Compiled code would bind the file to one system and one Python.
COMPILED = ("*.so", "*.so.*", "*.pyd", "*.dylib", "*.dll", "*.a")

UNUSED = (
    "*/__pycache__/*", "*/tests/*", "*/benchmarks/*", "*.pyi", "*/py.typed", "*/__main__.py", "*.dist-info/*", "bin/*",
    # These need pygments or markdown-it-py, which are not shipped, or serve Windows or a gallery of their own.
    "rich/markdown.py", "rich/syntax.py", "rich/traceback.py", "rich/logging.py", "rich/diagnose.py",
    "rich/_inspect.py", "rich/_win*.py",
    "jsonschema/cli.py",
    "pexpect/ANSI.py", "pexpect/FSM.py", "pexpect/fdpexpect.py", "pexpect/popen_spawn.py", "pexpect/pxssh.py",
    "pexpect/replwrap.py", "pexpect/screen.py", "pexpect/socket_pexpect.py",
    "pexpect/_async_pre_await.py",  # cannot be imported by any Python that is supported
)  # fmt: skip

LEFTOVERS = ("*/__pycache__/*", "*/.*")

LICENCES = ("*.dist-info/LICENSE*", "*.dist-info/COPYING*", "*.dist-info/licenses/*")

Entries = dict[str, bytes]


def contents(shiv: Path) -> Entries:
    """Name in the archive -> content, sorted; ``shiv`` is what shiv made of the runtime dependencies."""
    entries = dependencies(shiv) | own() | {"licenses/gzia/LICENSE": (CHECKOUT / "LICENSE").read_bytes()}
    return {name: entries[name] for name in sorted(entries)}


def dependencies(shiv: Path) -> Entries:
    """What is used of the dependencies, and their licences.  Compiled code ends the build."""
    with zipfile.ZipFile(shiv) as archive:
        files = {
            name.removeprefix("site-packages/"): name
            for name in archive.namelist()
            if name.startswith("site-packages/") and not name.endswith("/")
        }
        if compiled := [name for name in files if matches(name, COMPILED)]:
            raise SystemExit(f"compiled code cannot be shipped: {', '.join(sorted(compiled))}")
        used = {f"src/{name}": archive.read(at) for name, at in files.items() if not matches(name, UNUSED)}
        licences = {licence_name(name): archive.read(at) for name, at in files.items() if matches(name, LICENCES)}
    return used | licences


def licence_name(name: str) -> str:
    """``rich-15.0.0.dist-info/licenses/LICENSE`` -> ``licenses/rich/LICENSE``."""
    return f"licenses/{name.split('-')[0]}/{name.rpartition('/')[2]}"


def own() -> Entries:
    """The package, the protocol as data beside it, and what starts the file."""
    package = [path for path in files_below("gzia") if PACKAGING not in path.parents and path.suffix != ".md"]
    paths = [*package, *(path for path in files_below("protocol") if path.suffix == ".json")]
    entries = {f"src/{path.relative_to(CHECKOUT).as_posix()}": path.read_bytes() for path in paths}
    # Made anew: what lies in the checkout may be older than the protocol's schema.
    checks = generate(tolerant(json.loads(entries["src/protocol/acp/v1.json"])))
    started = {name: (PACKAGING / file).read_bytes() for name, file in SHIPPED.items()}
    return entries | started | {"src/gzia/acp/_checks.py": checks.encode()}


def files_below(directory: str) -> list[Path]:
    """The files of one directory of the checkout, without hidden ones and byte code of earlier runs."""
    paths = (CHECKOUT / directory).rglob("*")
    return [path for path in paths if path.is_file() and not matches(f"/{path.relative_to(CHECKOUT)}", LEFTOVERS)]


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)
