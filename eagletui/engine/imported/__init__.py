"""Measurements that others made, read as runs: `/generate` replies and `bench_serving`'s lines."""
