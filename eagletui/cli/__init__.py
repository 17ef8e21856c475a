"""The commands; wires the rooms together."""
