"""Screens: which widgets, where, and what their actions do."""
