"""Load generation and its results: what a server does under requests of ours."""
