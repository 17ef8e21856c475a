"""What each SGLang release writes, as tables: one row a release, changed fields only.

0.5.16 and 0.5.23 are checked byte for byte against recordings of real servers; the other rows
were read in the source of their release. Every template is a `str.format` string.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from eagletui.model.base import Data

Version = tuple[int, int, int]


def parse_version(text: str) -> Version:
    """`0.4.6.post5` → (0, 4, 6)."""
    major, minor, patch = (int(part) for part in text.split(".")[:3])
    return major, minor, patch


class Release(Data, frozen=True):
    """The words of one release. Sizes are GB, `elapsed` is seconds."""

    version: str
    # what the main process says first
    warnings: tuple[str, ...] = ()
    server_args: str = "server_args={pairs}"
    args_are_dict: bool = True
    # one rank, from its start to its pools
    init_begin: str = "Init parallel begin."
    init_end: tuple[str, ...] = (
        "Init parallel ends. elapsed={elapsed:.2f} s",
        "Memory baseline taken. mem usage={used:.2f} GB",
    )
    draft_init: tuple[str, ...] = ("Memory baseline taken. mem usage=0.00 GB",)
    load_begin: str = "Load weight begin. avail mem={avail:.2f} GB"
    shards_label: str = "Multi-thread loading shards"
    shards_end: str = ""
    """What follows each drawing of the bar: a newline up to 0.5.9."""
    load_end: str = (
        "Load weight end. elapsed={elapsed:.2f} s, type={type}, avail mem={avail:.2f} GB, "
        "mem usage={used:.2f} GB."
    )
    kv_cache: str = (
        "KV Cache is allocated. dtype: {dtype}, #tokens: {tokens}, "
        "K size: {k:.2f} GB, V size: {v:.2f} GB"
    )
    kv_cache_mla: str = (
        "KV Cache is allocated. dtype: {dtype}, #tokens: {tokens}, KV size: {k:.2f} GB"
    )
    pool_end: str = "Memory pool end. avail mem={avail:.2f} GB"
    # graphs
    draft_after_target: bool = False
    """Up to 0.5.13 the target captures its graphs before the draft is loaded."""
    no_prefill_graph: str = (
        "Disable prefill CUDA graph because cuda_graph_config resolved prefill.backend='disabled' "
        "(e.g. via --cuda-graph-backend-prefill=disabled or auto-disable rules)."
    )
    capture_begin: tuple[str, ...] = (
        "Capture {what} CUDA graph begin. backend=full, num_tokens_per_req={width}, "
        "bs={bs}, avail mem={avail:.2f} GB",
    )
    capture_end: str = (
        "Capture {what} CUDA graph end. elapsed={elapsed:.2f} s, mem usage={used:.2f} GB, "
        "avail mem={avail:.2f} GB."
    )
    target_capture_begin: tuple[str, ...] = ()
    target_capture_end: str = ""
    """Where the target's lines differ from the draft's; empty: they don't."""
    capture_names: dict[str, str] = {}
    """Ours → theirs; a graph that is missing here is not captured by this release."""
    capture_label: str = "Capturing batches (bs={bs} avail_mem={avail:.2f} GB)"
    capture_failed_flag: str = "--cuda-graph-max-bs-decode"
    # ready
    summary: str = (
        "max_total_num_tokens={tokens}, chunked_prefill_size={chunk}, max_prefill_tokens=16384, "
        "max_running_requests={running}, context_len={context}, "
        "available_{device}_mem={avail:.2f} GB"
    )
    tree_cache: tuple[str, ...] = (
        "Tree cache initialized: source=default impl=RadixCache hybrid_swa=False "
        "hybrid_ssm=False hierarchical=False streaming_wrapped=False",
    )
    startup_timings: str = ""
    warm_up_path: str = "/model_info"
    freezes_gc: bool = False
    # serving
    prefill: str = (
        "Prefill batch, #new-seq: {new_seq}, #new-token: {new_token}, #cached-token: {cached}, "
        "token usage: {usage:.2f}, #running-req: {running}, #queue-req: {queued}, "
        "#pending-token: {pending}, {device} graph: {graph}, "
        "input throughput (token/s): {throughput:.2f}"
    )
    decode: str = (
        "Decode batch, #running-req: {running}, #token: {tokens}, token usage: {usage:.2f}, "
        "{spec}{device} graph: {graph}, gen throughput (token/s): {throughput:.2f}, "
        "#queue-req: {queued}"
    )
    decode_spec: str = "accept len: {accept_length:.2f}, accept rate: {accept_rate:.2f}, "
    occupancy: str = ", fwd occupancy: {occupancy:.2f}%"
    """Appended to both lines while the device timer runs (0.5.11+)."""
    steps_changed: tuple[str, ...] = (
        "Adaptive spec params updated: steps {old} -> {new} (ema_accept_len={accepted:.2f})",
        "Switch adaptive runtime state: steps {old} -> {new}, "
        "draft_tokens {old_tokens} -> {new_tokens}",
    )
    # the end
    draining: str = (
        "SIGTERM received. signum=None frame=None. Draining requests and shutting down..."
    )
    drained: str = (
        "Gracefully exiting... Remaining number of requests {remaining}. "
        "Remaining requests remaining_rids={rids}."
    )
    killing: str = "kill_process_tree called: parent_pid={pid}, include_parent=True, pid={pid}"
    child_failed: str = "Received sigquit from a child process. It usually means the child failed."
    child_lost: tuple[str, ...] = (
        "Subprocess {name} (pid={child}) crashed with exit code {code}. "
        "Triggering SIGQUIT for cleanup...",
        "SIGQUIT received. signum=None, frame=None. It usually means one child failed.",
    )

    @property
    def number(self) -> Version:
        """Comparable: (0, 5, 16)."""
        return parse_version(self.version)

    def since(self, *number: int) -> bool:
        """Whether this release is that one or later."""
        return self.number >= number


_LAUNCH_WARNING = (
    "{site}/sglang/launch_server.py:{line}: UserWarning: 'python -m sglang.launch_server' is still "
    "supported, but 'sglang serve' is the recommended entrypoint.\n"
    "  Example: sglang serve --model-path <model> [options]\n"
    "  warnings.warn("
)
_OLD_CAPTURE_END = (
    "Capture {what}cuda graph end. Time elapsed: {elapsed:.2f} s. mem usage={used:.2f} GB. "
    "avail mem={avail:.2f} GB."
)
_OLD_CAPTURE_BEGIN = (
    "Capture {what}cuda graph begin. This can take up to several minutes. avail mem={avail:.2f} GB"
)

_V0523 = Release(
    version="0.5.23",
    warnings=(_LAUNCH_WARNING.replace("{line}", "71"),),
    capture_names={
        "verify": "target verify",
        "decode": "target decode",
        "draft": "draft decode",
        "extend": "draft extend",
    },
    target_capture_begin=(
        "Capture {what} CUDA graph begin. backend=full, num_tokens_per_req={width}, "
        "avail mem={avail:.2f} GB",
    ),
    target_capture_end=(
        "Capture {what} CUDA graph end. bs={bs}, elapsed={elapsed:.2f} s, "
        "mem usage={used:.2f} GB, avail mem={avail:.2f} GB."
    ),
    tree_cache=(
        "Init Unified Radix Cache. Components: (<ComponentType.FULL: 0>,). "
        "Tree Core: RustUnifiedTreeCore",
        "Tree cache initialized: source=default impl=UnifiedRadixCache hybrid_swa=False "
        "hybrid_ssm=False hicache_attached=False",
    ),
    startup_timings=(
        "Engine startup timings (s): load_weight={load:.2f}, kv_cache_allocation={kv:.2f}, "
        "scheduler_e2e={scheduler:.2f}, cuda_graph={{prefill=0.00, decode={decode:.2f}, "
        "target_verify={verify:.2f}, draft_prefill=0.00, draft_decode={draft:.2f}, "
        "draft_extend={extend:.2f}}}, tokenizer_e2e={tokenizer:.2f}"
    ),
    freezes_gc=True,
)
_V0520 = replace(
    _V0523,
    version="0.5.20",
    target_capture_begin=(),
    target_capture_end="",
    init_begin="Init torch distributed begin.",
    init_end=("Init torch distributed ends. elapsed={elapsed:.2f} s, mem usage={used:.2f} GB",),
    draft_init=(
        "Init torch distributed begin.",
        "Init torch distributed ends. elapsed=0.00 s, mem usage=0.00 GB",
    ),
    tree_cache=(
        "Tree cache initialized: source=default impl=RadixCache hybrid_swa=False "
        "hybrid_ssm=False hierarchical=False streaming_wrapped=False",
    ),
)
_V0518 = replace(
    _V0520, version="0.5.18", args_are_dict=False, server_args="server_args=ServerArgs({pairs})"
)
_V0516 = replace(
    _V0518,
    version="0.5.16",
    warnings=(_LAUNCH_WARNING.replace("{line}", "56"),),
    startup_timings="",
    freezes_gc=False,
)
_V0512 = replace(
    _V0516,
    version="0.5.12",
    load_end=(
        "Load weight end. elapsed={elapsed:.2f} s, type={type}, dtype={dtype}, "
        "avail mem={avail:.2f} GB, mem usage={used:.2f} GB."
    ),
    kv_cache=("KV Cache is allocated. #tokens: {tokens}, K size: {k:.2f} GB, V size: {v:.2f} GB"),
    kv_cache_mla="KV Cache is allocated. #tokens: {tokens}, KV size: {k:.2f} GB",
    draft_after_target=True,
    no_prefill_graph="",
    capture_begin=(_OLD_CAPTURE_BEGIN,),
    capture_end=_OLD_CAPTURE_END,
    target_capture_begin=(_OLD_CAPTURE_BEGIN, "Capture cuda graph bs {bs}"),
    capture_names={"verify": "", "decode": "", "draft": "draft ", "extend": "draft extend "},
    capture_failed_flag="--cuda-graph-max-bs",
    tree_cache=(),
)
_V0509 = replace(
    _V0512,
    version="0.5.9",
    shards_label="Loading safetensors checkpoint shards",
    shards_end="\n",
    prefill=(
        "Prefill batch, #new-seq: {new_seq}, #new-token: {new_token}, #cached-token: {cached}, "
        "token usage: {usage:.2f}, #running-req: {running}, #queue-req: {queued}, "
        "{device} graph: {graph}"
    ),
    occupancy="",
    child_lost=("SIGQUIT received. signum=None, frame=None. It usually means one child failed.",),
    steps_changed=(),
)
_V0503 = replace(
    _V0509,
    version="0.5.3",
    warnings=(),
    init_end=("Init torch distributed ends. mem usage={used:.2f} GB",),
    draft_init=("Init torch distributed begin.", "Init torch distributed ends. mem usage=0.00 GB"),
    load_end=(
        "Load weight end. type={type}, dtype={dtype}, avail mem={avail:.2f} GB, "
        "mem usage={used:.2f} GB."
    ),
    warm_up_path="/get_model_info",
    prefill=(
        "Prefill batch. #new-seq: {new_seq}, #new-token: {new_token}, #cached-token: {cached}, "
        "token usage: {usage:.2f}, #running-req: {running}, #queue-req: {queued}, "
    ),
    decode=(
        "Decode batch. #running-req: {running}, #token: {tokens}, token usage: {usage:.2f}, "
        "{spec}{device} graph: {graph}, gen throughput (token/s): {throughput:.2f}, "
        "#queue-req: {queued}, "
    ),
    decode_spec="accept len: {accept_length:.2f}, ",
)
_V0406 = replace(
    _V0503,
    version="0.4.6.post5",
    capture_names={"verify": "", "decode": "", "draft": "draft "},
    capture_label="Capturing batches (avail_mem={avail:.2f} GB)",
    summary=(
        "max_total_num_tokens={tokens}, chunked_prefill_size={chunk}, max_prefill_tokens=16384, "
        "max_running_requests={running}, context_len={context}"
    ),
    prefill=_V0503.prefill.removesuffix(", "),
    decode=_V0503.decode.removesuffix(", "),
    child_lost=(
        "Child process unexpectedly failed with an exit code {code}. pid={child}",
        "Received sigquit from a child process. It usually means the child failed.",
    ),
)

RELEASES: dict[str, Release] = {
    release.version: release
    for release in (_V0406, _V0503, _V0509, _V0512, _V0516, _V0518, _V0520, _V0523)
}
NEWEST = _V0523.version


def record(stamp: str, message: str, rank: str = "") -> str:
    """A log record with its newline. `stamp` is `2026-11-29 12:31:56`, `rank` like `TP0`."""
    tag = f" {rank}" if rank else ""
    return f"[{stamp}{tag}] {message}\n"


def access(client: str, method: str, path: str, status: int, reason: str) -> str:
    """Uvicorn's line for one request."""
    return f'INFO:     {client} - "{method} {path} HTTP/1.1" {status} {reason}'


def arguments(release: Release, values: Mapping[str, Any]) -> str:
    """The `server_args=` message: a dataclass up to 0.5.19, a dict from 0.5.20."""
    if release.args_are_dict:
        return release.server_args.format(pairs=repr(dict(values)))
    pairs = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return release.server_args.format(pairs=pairs)


def decode_line(release: Release, *, spec: bool, occupancy: float | None, **values: Any) -> str:
    """A `Decode batch` message; `occupancy` is None without the device timer."""
    head = release.decode.format(
        spec=release.decode_spec.format(**values) if spec else "", **values
    )
    return head + _occupancy(release, occupancy)


def prefill_line(release: Release, *, occupancy: float | None, **values: Any) -> str:
    """A `Prefill batch` message."""
    return release.prefill.format(**values) + _occupancy(release, occupancy)


def _occupancy(release: Release, value: float | None) -> str:
    return "" if value is None else release.occupancy.format(occupancy=value)
