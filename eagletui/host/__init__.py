"""Reaching a machine: SSH or local, trust, files, processes, GPUs. Alone in knowing asyncssh."""
