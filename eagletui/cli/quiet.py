"""Libraries' log records have no place on a terminal that shows a screen or an answer."""

from __future__ import annotations


def quiet_libraries() -> None:
    """Keep what asyncio, asyncssh and others log away from standard error.

    Without a handler Python writes warnings there, such as asyncio's "Unknown child process pid"
    when a ProxyCommand fails; what went wrong is said in our own words anyway.
    """
    import logging  # costs what `--help` need not pay

    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())
