"""Entry point: `python -m eagletui` and the `eagletui` script."""

from __future__ import annotations

from eagletui.cli.main import main

if __name__ == "__main__":
    main()
