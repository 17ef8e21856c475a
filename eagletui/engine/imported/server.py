"""What a run says of its server, from the `/server_info` that came with a measurement."""

from __future__ import annotations

from typing import Any

import msgspec

from eagletui.engine.server_info import read_server_info
from eagletui.model.profile import FlagValue
from eagletui.model.run import Surroundings
from eagletui.model.speculative import Speculative


def surroundings_of(info: object) -> Surroundings | None:
    """From a decoded `/server_info` reply, masked; None where it is something else."""
    server = read_server_info(msgspec.json.encode(info))
    if server is None:
        return None
    return Surroundings(
        model=server.model,
        arguments=dict(_flags(server.args)),
        speculative=server.speculative or Speculative(),
        versions={"sglang": server.version} if server.version else {},
        tensor_parallel=server.tp_size,
    )


def _flags(args: dict[str, Any]) -> list[tuple[str, FlagValue | None]]:
    """Scalars and lists of words; what is nested deeper is no flag."""
    found: list[tuple[str, FlagValue | None]] = []
    for name, value in args.items():
        if value is None or isinstance(value, (bool, int, float, str)):
            found.append((name, value))
        elif isinstance(value, list) and all(isinstance(item, str) for item in value):
            found.append((name, tuple(value)))
    return found
