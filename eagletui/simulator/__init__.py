"""A simulated host: a real SSH server and a real HTTP server on loopback."""
