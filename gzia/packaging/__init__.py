"""What makes and starts the single file: launcher, check generator, dependency lock, stand-in for rpds."""
