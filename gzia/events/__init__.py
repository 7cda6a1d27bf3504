"""Action events (READ, PENDING, FINISH): their shape and their append-only store."""
