"""The edge of the machine: byte pumps, processes and their groups, atomic files, locks, clocks, paths."""
