"""The ACP agent that an editor sees, over any byte stream."""
