"""One module per kind of channel to an agent; each runs a turn and yields observations."""
