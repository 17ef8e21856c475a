"""Widgets: pure views, drawn from a `View` and nothing else."""
