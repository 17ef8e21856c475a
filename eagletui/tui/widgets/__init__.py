"""Widgets: they draw what they are given and know no host."""
