"""Bytes to JSON-RPC messages and back, without I/O and without knowing ACP."""
