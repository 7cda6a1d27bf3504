"""Where commands write.

Everything goes to descriptors 1 and 2 in whole pieces, past ``sys.stdout``: nothing is left behind for the
interpreter's exit to trip over, a descriptor that somebody else made non-blocking still gets every byte, and what an
agent or a file name contains is made visible before it can drive a terminal.  ``gzia --version`` imports this module,
so nothing heavy is imported at the top.
"""

from __future__ import annotations

import os
import sys

from gzia.cli.visible import Part, json_text, line_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gzia.errors import GziaError

STDOUT, STDERR = 1, 2
BUFFER = 1 << 16
READER_GONE = 141  # 128 + SIGPIPE: what a shell shows for a program that the signal ended


class OutputClosed(Exception):
    """The reader of standard output went away, as in ``gzia list | head -1``."""


class Output:
    """What one command prints, for a person or (``json``) for a program.

    On standard output: :meth:`document`, :meth:`line`, :meth:`text`, :meth:`table`, :meth:`raw`.  On standard error:
    :meth:`note`.  ``colour_of`` decides about colour the first time that somebody wants to know.
    """

    def __init__(self, *, json: bool = False, colour_of: Callable[[int], bool] | None = None) -> None:
        self.json = json
        self.colour_of = colour_of or (lambda _fd: False)
        self.is_terminal = os.isatty(STDOUT)
        self._pending = bytearray()
        self._colours: dict[int, bool] = {}

    def document(self, value: object) -> None:
        """One JSON document on one line of UTF-8, whatever the terminal, its width or the locale."""
        self.raw(json_text(value).encode() + b"\n")

    def line(self, *parts: Part) -> None:
        """One line for a person; line breaks and tabs inside the parts are made visible too."""
        self.raw(self._encoded(line_of(parts, self._colour(STDOUT), breaks=False) + "\n"))

    def text(self, *parts: Part) -> None:
        """Text for a person as it is, without a line end of our own: line breaks and tabs stay."""
        self.raw(self._encoded(line_of(parts, self._colour(STDOUT), breaks=True)))

    def table(self, headers: Sequence[str], rows: Sequence[Sequence[Part]]) -> None:
        """Rows under headers: drawn to the terminal's width, or aligned and never cut or wrapped for a pipe."""
        from gzia.cli import render

        draw = render.drawn_table if self.is_terminal else render.plain_table
        self.raw(self._encoded(draw(headers, rows, colour=self._colour(STDOUT))))

    def path(self, path: os.PathLike[str]) -> None:
        """A path on a line of its own: its exact bytes for another program, made visible on a terminal."""
        if self.is_terminal:
            self.line(os.fspath(path))
        else:
            self.raw(os.fsencode(path) + b"\n")

    def raw(self, data: bytes) -> None:
        """Bytes exactly as they are: a patch or a path for another program."""
        self._pending += data
        if self.is_terminal or len(self._pending) >= BUFFER:
            self.flush()

    def flush(self) -> None:
        """Hand over what is pending; OutputClosed when nobody reads, GziaError ``output-failed`` when it is refused."""
        data, self._pending = bytes(self._pending), bytearray()
        try:
            write_all(STDOUT, data)
        except BrokenPipeError:
            raise OutputClosed from None
        except OSError as error:
            from gzia.errors import GziaError

            message = f"Standard output cannot be written: {os.strerror(error.errno or 0)}."
            raise GziaError("output-failed", message, "free some space or choose another place to write to") from None

    def note(self, *parts: Part) -> None:
        """One line on standard error, after what standard output still holds.  Nobody listening there is no error."""
        self.flush()
        try:
            write_all(STDERR, self.noted(*parts))
        except OSError:
            pass

    def noted(self, *parts: Part) -> bytes:
        """The bytes of such a line, for somebody who writes them."""
        return self._encoded(line_of(parts, self._colour(STDERR), breaks=False) + "\n")

    def wait(self, seconds: float) -> None:
        """Do nothing for a while; OutputClosed as soon as nobody reads standard output any more."""
        import select

        self.flush()
        poll = select.poll()
        poll.register(STDOUT, 0)  # the end of a pipe is told unasked: as an error on Linux, as a hang-up on macOS
        if poll.poll(seconds * 1000):
            raise OutputClosed

    def problem(self, error: GziaError) -> None:
        """An error: a sentence and its hint on standard error, or its document."""
        if self.json:
            self.document(error.document())
            return
        self.note(("Error:", "red"), " ", error.message)
        if error.hint:
            self.note(("Hint:", "cyan"), " ", error.hint)

    def _colour(self, fd: int) -> bool:
        if fd not in self._colours:
            self._colours[fd] = self.colour_of(fd)
        return self._colours[fd]

    def _encoded(self, text: str) -> bytes:
        return text.encode(sys.stdout.encoding if sys.stdout else "utf-8", "backslashreplace")


def write_all(fd: int, data: bytes) -> None:
    """Write every byte, also to a descriptor that is non-blocking because another program shares it."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(fd, view) :]
        except BlockingIOError:
            import select

            select.select([], [fd], [])


def fill_closed_descriptors() -> None:
    """Put something under descriptors that were closed at the start, lest the next file that is opened becomes one.

    Standard output gets a descriptor that cannot be written: ``gzia list >&-`` must not pretend to have printed.
    """
    for fd, flags in ((0, os.O_RDONLY), (STDOUT, os.O_RDONLY), (STDERR, os.O_WRONLY)):
        try:
            os.fstat(fd)
        except OSError:
            # The lowest free descriptor is fd itself, as all below it are open.
            os.set_inheritable(os.open(os.devnull, flags), True)
