"""A simulated host: a real SSH server and real server processes that behave like SGLang."""
