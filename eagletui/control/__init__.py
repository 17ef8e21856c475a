"""One restart at a time: check, stop, wait, start, watch, roll back."""
