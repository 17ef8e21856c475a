"""Entry point: `python -m eagletui` and the `eagletui` script."""

from __future__ import annotations

import sys

from eagletui import __version__


def main() -> None:
    """Run the command line; the version alone needs nothing but itself."""
    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"eagletui, version {__version__}\n")
        return
    from eagletui.cli.main import main as commands

    commands()


if __name__ == "__main__":
    main()
