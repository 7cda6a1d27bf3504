"""Every git call of the program: worktrees, diff, merge, preserved work."""
