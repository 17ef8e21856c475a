"""The command line of a simulated server: the flags that change what it does."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from eagletui.model.base import Data
from eagletui.simulator.releases import Release


class Flags(Data, frozen=True):
    """What a simulated server was started with, resolved as SGLang resolves it.

    `steps` is 0 without speculation; `draft_tokens` is the verify width, root included.
    """

    model_path: str
    host: str = "127.0.0.1"
    port: int = 30000
    tp_size: int = 1
    device: str = "cuda"
    mem_fraction_static: float | None = None
    max_running_requests: int | None = None
    context_length: int | None = None
    chunked_prefill_size: int = 8192
    algorithm: str | None = None
    draft_model_path: str | None = None
    steps: int = 0
    topk: int | None = None
    draft_tokens: int = 1
    adaptive: bool = False
    metrics: bool = False
    decode_log_interval: int = 40
    disable_cuda_graph: bool = False
    cuda_graph_max_bs: int | None = None
    api_key: str | None = None
    adjusted: bool = False
    """Whether draft tokens had to be changed to steps + 1."""

    @property
    def speculates(self) -> bool:
        """Whether there is a draft."""
        return self.algorithm is not None

    @property
    def running_limit(self) -> int:
        """Requests at once; 48 unless given, as every release does with speculation."""
        return self.max_running_requests or (48 if self.speculates else 2048)

    def as_server_args(self) -> dict[str, Any]:
        """The part of `ServerArgs` that the simulation knows, in SGLang's order and names."""
        return {
            "model_path": self.model_path,
            "tokenizer_path": self.model_path,
            "tokenizer_mode": "auto",
            "skip_tokenizer_init": False,
            "load_format": "auto",
            "trust_remote_code": True,
            "context_length": self.context_length,
            "dtype": "auto",
            "quantization": None,
            "kv_cache_dtype": "auto",
            "mem_fraction_static": self.mem_fraction_static,
            "max_running_requests": self.running_limit,
            "max_total_tokens": None,
            "chunked_prefill_size": self.chunked_prefill_size,
            "max_prefill_tokens": 16384,
            "schedule_policy": "fcfs",
            "page_size": 1,
            "device": self.device,
            "tp_size": self.tp_size,
            "pp_size": 1,
            "dp_size": 1,
            "stream_interval": 1,
            "random_seed": 342106560,
            "watchdog_timeout": 300,
            "host": self.host,
            "port": self.port,
            "api_key": self.api_key,
            "served_model_name": self.model_path,
            "log_level": "info",
            "enable_metrics": self.metrics,
            "decode_log_interval": self.decode_log_interval,
            "attention_backend": "triton",
            "speculative_algorithm": self.algorithm,
            "speculative_draft_model_path": self.draft_model_path,
            "speculative_num_steps": self.steps if self.speculates else None,
            "speculative_eagle_topk": self.topk,
            "speculative_num_draft_tokens": self.draft_tokens if self.speculates else None,
            "speculative_accept_threshold_single": 1.0,
            "speculative_accept_threshold_acc": 1.0,
            "speculative_adaptive": self.adaptive,
            "disable_cuda_graph": self.disable_cuda_graph,
            "disable_custom_all_reduce": False,
        }


def parse_flags(argv: Sequence[str], release: Release) -> Flags:
    """Read `sglang.launch_server`'s flags; ends the process with status 2 as argparse does."""
    parser = argparse.ArgumentParser(prog="launch_server.py", add_help=False)
    add = parser.add_argument
    add("--model-path", "--model", required=True)
    add("--host", default="127.0.0.1")
    add("--port", type=int, default=30000)
    add("--tensor-parallel-size", "--tp-size", dest="tp_size", type=int, default=1)
    add("--device", default="cuda")
    add("--mem-fraction-static", type=float)
    add("--max-running-requests", type=int)
    add("--context-length", type=int)
    add("--chunked-prefill-size", type=int, default=8192)
    add("--speculative-algorithm", dest="algorithm")
    add("--speculative-draft-model-path", "--speculative-draft-model", dest="draft_model_path")
    add("--speculative-num-steps", dest="steps", type=int)
    add("--speculative-eagle-topk", dest="topk", type=int)
    add("--speculative-num-draft-tokens", dest="draft_tokens", type=int)
    if release.since(0, 5, 11):
        add("--speculative-adaptive", dest="adaptive", action="store_true")
    add("--enable-metrics", dest="metrics", action="store_true")
    add("--decode-log-interval", type=int, default=40)
    add("--disable-cuda-graph", action="store_true")
    for flag in graph_flags(release):
        add(flag, dest=flag.strip("-").replace("-", "_"), type=int)
    add("--api-key")
    known, _ = parser.parse_known_args(argv)
    return _resolve(vars(known), release)


def graph_flags(release: Release) -> tuple[str, ...]:
    """How the largest captured batch is called: renamed in 0.5.14, the old name gone in 0.5.20."""
    old, new = "--cuda-graph-max-bs", "--cuda-graph-max-bs-decode"
    prefill = "--cuda-graph-max-bs-prefill"
    if release.since(0, 5, 20):
        return (new, prefill)
    return (old, new, prefill) if release.since(0, 5, 14) else (old,)


def _resolve(values: Mapping[str, Any], release: Release) -> Flags:
    algorithm = values["algorithm"].upper() if values["algorithm"] else None
    largest = values.get("cuda_graph_max_bs_decode") or values.get("cuda_graph_max_bs")
    given = {
        name: value
        for name, value in values.items()
        if name in Flags.__struct_fields__ and value is not None
    }
    given |= {"algorithm": algorithm, "cuda_graph_max_bs": largest}
    if algorithm is None:
        return Flags(**(given | {"steps": 0, "topk": None, "draft_tokens": 1}))
    default = (3, 1, 4) if release.since(0, 5, 8) else (5, 4, 8)
    steps, topk, tokens = (
        default
        if values["steps"] is None
        else (values["steps"], values["topk"] or 1, values["draft_tokens"] or 0)
    )
    adjusted = topk == 1 and tokens != steps + 1
    return Flags(
        **(
            given
            | {
                "steps": steps,
                "topk": topk,
                "draft_tokens": steps + 1 if adjusted else tokens,
                "adjusted": adjusted,
            }
        )
    )
