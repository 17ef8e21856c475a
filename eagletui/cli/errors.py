"""How a failure leaves the program: words on standard error, a status that scripts may test.

0 done, 1 the thing asked for failed, 2 wrong usage, 3 no connection.
"""

from __future__ import annotations

import click

from eagletui.model.errors import EagletuiError
from eagletui.model.text import visible

INTERRUPTED = 130
"""The status after Ctrl-C, as shells have it."""


class SpokenError(click.ClickException):
    """An `EagletuiError` on its way out."""

    def __init__(self, error: EagletuiError) -> None:
        super().__init__(error.what)
        self.error = error
        self.exit_code = error.exit_status  # type: ignore[misc]

    def show(self, file: object = None) -> None:  # noqa: ARG002 - click's signature
        """Say what happened, what it means and what to do."""
        for index, line in enumerate(str(self.error).splitlines()):
            click.echo(
                f"eagletui: {visible(line)}" if index == 0 else f"  {visible(line)}", err=True
            )
