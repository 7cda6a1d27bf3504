"""Shipped for demonstration and tests: the demo agent, scripted agents, contracts that every adapter must pass."""
