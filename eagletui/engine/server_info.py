"""`/server_info` (0.5.6+) or `/get_server_info` (all releases): a server's resolved settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from eagletui.model.base import Data
from eagletui.model.secrets import mask_value
from eagletui.model.speculative import Speculative
from eagletui.model.text import visible_value

_UNSAID = object()
# How releases and wrappers write that nothing is drafted.
_OFF = ("", "NONE", "NULL")

# Newest first; the old address still answers, with a warning in the log for every call.
PATHS = ("/server_info", "/get_server_info")


class ServerInfo(Data, frozen=True):
    """What the server runs with. Everything is masked.

    Attributes:
        args: the flat server arguments, as resolved at start-up.
        speculative: None where the reply does not say; speculation that is off is said with a null.
        throughput: tok/s of the last decode interval; kept when the server idles.
        average_accept_length: since the start or the last flush, DP rank 0.
    """

    version: str = ""
    model: str = ""
    args: dict[str, Any] = {}
    speculative: Speculative | None = None
    tp_size: int = 1
    dp_size: int = 1
    metrics_enabled: bool | None = None
    needs_key: bool = False
    throughput: float | None = None
    average_accept_length: float | None = None


def read_server_info(body: bytes) -> ServerInfo | None:
    """The reply, masked and without control characters; None where it is something else."""
    try:
        reply = visible_value(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(reply, dict) or not ("model_path" in reply or "version" in reply):
        return None
    states = reply.get("internal_states")
    state = states[0] if isinstance(states, list) and states else None
    internal: Mapping[str, Any] = state if isinstance(state, dict) else {}
    args = {name: value for name, value in reply.items() if name != "internal_states"}
    enabled = reply.get("enable_metrics")
    return ServerInfo(
        version=_text(reply, "version") or "",
        model=_text(reply, "served_model_name") or _text(reply, "model_path") or "",
        args=mask_value("", args),
        speculative=speculative(reply),
        tp_size=_whole(reply, "tp_size") or 1,
        # 0.5.22 renamed the attention's DP size and keeps both.
        dp_size=max(_whole(reply, "dp_size") or 1, _whole(reply, "attn_dp_size") or 1),
        metrics_enabled=enabled if isinstance(enabled, bool) else None,
        needs_key=bool(reply.get("api_key")),
        throughput=_real(internal, "last_gen_throughput"),
        average_accept_length=_real(internal, "avg_spec_accept_length"),
    )


def speculative(args: Mapping[str, Any]) -> Speculative | None:
    """Speculation of a server from its arguments by name (`speculative_num_steps`, …).

    None where they do not tell: a missing algorithm is not "off", only a null (`None`) is.
    """
    algorithm = args.get("speculative_algorithm", _UNSAID)
    if algorithm is None or (isinstance(algorithm, str) and algorithm.upper() in _OFF):
        return Speculative()
    if not isinstance(algorithm, str):
        return None
    return Speculative(
        algorithm=algorithm.upper(),
        num_steps=_whole(args, "speculative_num_steps"),
        eagle_topk=_whole(args, "speculative_eagle_topk"),
        num_draft_tokens=_whole(args, "speculative_num_draft_tokens"),
        draft_model=_text(args, "speculative_draft_model_path"),
        adaptive=args.get("speculative_adaptive") is True,
    )


def _text(args: Mapping[str, Any], name: str) -> str | None:
    value = args.get(name)
    return value if isinstance(value, str) and value else None


def _whole(args: Mapping[str, Any], name: str) -> int | None:
    value = args.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _real(args: Mapping[str, Any], name: str) -> float | None:
    value = args.get(name)
    return float(value) if isinstance(value, (int, float)) and abs(value) < 1e300 else None
