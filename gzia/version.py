"""The version, as a constant: reading package metadata would cost more than all of ``gzia --version``."""

VERSION = "0.1.0"
