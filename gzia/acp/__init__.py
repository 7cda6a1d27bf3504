"""The Agent Client Protocol's words and rules for both sides, without I/O."""
