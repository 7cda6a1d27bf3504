"""``python -m gzia``."""

from gzia.cli.main import entry

raise SystemExit(entry())
