"""Profiles on disk: reading them strictly, laying them over each other, writing them."""
