"""Results on standard output."""

from __future__ import annotations

from typing import Any

import click
import msgspec


def echo_json(value: Any) -> None:
    """One JSON document, indented, with NaN and infinities as null (msgspec writes them so)."""
    text = msgspec.json.format(msgspec.json.encode(value), indent=2)
    click.echo(text.decode())
