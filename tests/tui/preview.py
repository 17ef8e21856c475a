"""Look at a scene: `python -m tests.tui.preview SCENE [THEME] [--live]`."""

from __future__ import annotations

import sys
import time

from eagletui.tui.app import EagleApp
from eagletui.tui.config import Settings
from tests.tui.driving import Clock, QuietFeed
from tests.tui.scenes import SCENES


def main() -> None:
    """Show one scene at its moment; without arguments list them."""
    names = sys.argv[1:]
    if not names or names[0] not in SCENES:
        sys.stdout.write("scenes: " + " ".join(SCENES) + "\n")
        return
    theme = names[1] if len(names) > 1 else "eagle-dark"
    feed = QuietFeed(SCENES[names[0]]())
    EagleApp(
        feed, Settings(theme=theme), target="gpu1", clock=Clock(), monotonic=time.monotonic
    ).run()


if __name__ == "__main__":
    main()
