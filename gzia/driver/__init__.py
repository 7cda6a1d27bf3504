"""The contract between a session and whatever runs a turn, without I/O."""
