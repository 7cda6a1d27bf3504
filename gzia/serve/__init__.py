"""The ACP agent that an editor sees, over any byte stream, and that others see through a session's socket."""
