"""What SGLang says and accepts, per release: log lines, phases, metrics, flags, failures."""
