"""Shipped as ``gzia_boot``, the first module of the single file: makes its byte code importable and starts gzia.

The prelude has put two entries in front of ``sys.path``: ``ARCHIVE/cpython-311`` (this Python's) and ``ARCHIVE/src``,
where ARCHIVE is the open file itself (``/proc/self/fd/N``), or its path where there is no /proc.  For a Python whose
byte code is in the file, this module runs from a .pyc, and all others are read at their place in the file, from a
descriptor that stays open: a start pays for no entry of another Python, and a file that takes this one's name meanwhile
is never looked at.  For any other Python this module runs from source, and so does everything else, through zipimport.
"""

from __future__ import annotations

import marshal
import posix
import sys
import zlib
from zipimport import zipimporter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from importlib.resources.abc import ResourceReader
    from types import CodeType, ModuleType

    # Module name -> is it a package, its file below src/, where in the archive its code lies, and how long it is there.
    Index = dict[str, tuple[bool, str, int, int]]

INDEX = "index"
HERE = __file__.rpartition("/")[0]
ARCHIVE = HERE.rpartition("/")[0]
SOURCE = ARCHIVE + "/src"


def main() -> None:
    """Run gzia and exit with its status."""
    install()
    if not sys.argv[0].startswith("/"):
        # Whoever asks for the running file later must find it, even from another directory.
        sys.argv[0] = posix.getcwd() + "/" + sys.argv[0]
    from gzia.cli.main import entry

    sys.exit(entry())


def install() -> None:
    """Make the byte code importable, if this Python's is in the file."""
    if __file__.endswith(".pyc"):
        sys.meta_path.insert(0, ByteCode(marshal.loads(zipimporter(HERE).get_data(f"{HERE}/{INDEX}")), descriptor()))
        # Each import from the standard library would ask them first.
        sys.path[:] = [entry for entry in sys.path if entry not in (HERE, SOURCE)]


def descriptor() -> int:
    """The archive, open for reading."""
    own = "/proc/self/fd/"
    return int(ARCHIVE.removeprefix(own)) if ARCHIVE.startswith(own) else posix.open(ARCHIVE, posix.O_RDONLY)


def again() -> str:
    """Lines of Python that make the modules of the file that runs now importable in another process.

    Where ARCHIVE is an open descriptor, the process must inherit it under its number.
    """
    return f"import sys; sys.path[:0] = [{HERE!r}, {SOURCE!r}]; from gzia_boot import install; install()\n"


class ByteCode:
    """Imports modules from their places in the archive; sources (for tracebacks) and data are found by zipimport."""

    def __init__(self, index: Index, archive: int) -> None:
        self._index = index
        self._archive = archive
        self.get_data = zipimporter(SOURCE).get_data

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        if name not in self._index:
            return None
        is_package, file, _, _ = self._index[name]
        origin = f"{SOURCE}/{file}"
        # The class of all specs, without importing importlib for it; it asks for no base class of a loader either.
        spec: ModuleSpec = type(__spec__)(name, self, origin=origin, is_package=is_package)  # type: ignore[arg-type]
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [origin.rpartition("/")[0]]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Let the import system make it."""

    def exec_module(self, module: ModuleType) -> None:
        exec(self.get_code(module.__name__), module.__dict__)  # noqa: S102  # what an importer is for

    def get_code(self, name: str) -> CodeType:
        _, _, offset, size = self._index[name]
        try:
            code: CodeType = marshal.loads(zlib.decompress(posix.pread(self._archive, size, offset)))
        except (zlib.error, ValueError, EOFError, TypeError):
            raise ImportError(
                f"{name}: the file of this program was overwritten while it ran; start it again"
            ) from None
        return code

    def get_source(self, name: str) -> str | None:
        return beside(name).get_source(name)

    def get_resource_reader(self, name: str) -> ResourceReader | None:
        return beside(name).get_resource_reader(name)


def beside(name: str) -> zipimporter:
    """The importer of the directory in which the module or package lies: zipimport has one for each."""
    return zipimporter("/".join([SOURCE, *name.split(".")[:-1]]))
