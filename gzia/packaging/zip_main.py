"""Shipped as ``__main__``: ``python3 gzia`` starts the file as ``./gzia`` does, isolated, and with that Python.

Any Python can be asked to run this, so nothing here is newer than Python 2.7, and an old one leaves the search for a
newer one, or the refusal, to the text at the head of the file.
"""

import os
import sys

if sys.version_info >= (3, 11):  # noqa: UP036  # that is the question
    os.environ["GZIA_PYTHON"] = sys.executable
FILE = os.path.abspath(sys.argv[0])  # noqa: PTH100  # old Pythons have no pathlib
os.execv("/bin/sh", ["sh", FILE] + sys.argv[1:])  # noqa: RUF005  # nor this unpacking
