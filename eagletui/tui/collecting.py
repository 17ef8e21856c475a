"""How Python looks for unused objects while a screen is on: seldom, and only among new ones."""

from __future__ import annotations

import gc

THRESHOLDS = (10_000, 20, 20)
"""New objects before the youngest are looked at, and so on; Python's own are (700, 10, 10)."""


def collect_quietly() -> None:
    """Leave out what is there now, once the program has started.

    Looking at everything that Textual and a style sheet are made of stops the screen for about
    50 ms, and a busy screen makes enough short-lived objects to do so several times a second.
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
