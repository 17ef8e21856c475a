"""The one base of all plain data."""

from __future__ import annotations

import msgspec


class Data(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=False):
    """Immutable plain data; change it with `msgspec.structs.replace`."""
