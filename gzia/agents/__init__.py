"""One small module per agent program: how to start it and what each permission level means to it."""
