"""Readers on a host joined into one event stream."""
