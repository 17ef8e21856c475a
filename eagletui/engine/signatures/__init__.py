"""Signatures of failures: a table for each family, joined in `table`."""
