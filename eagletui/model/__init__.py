"""Plain data and rules: events, state, settings. No I/O, no third-party UI or network code."""
