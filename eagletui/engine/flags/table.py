"""What is known of SGLang's flags per release, a row a flag; a new release adds or ends rows.

Read from the wheels of `RELEASES`; releases between them were not read, so a `since` may be late by
the releases that were skipped. 0.5.23's complete list is in `listed_0_5_23`.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["switch", "text", "int", "float", "size", "json"]

RELEASES: tuple[str, ...] = (
    "0.4.6",
    "0.4.10",
    "0.5.1",
    "0.5.3",
    "0.5.5",
    "0.5.6",
    "0.5.7",
    "0.5.8",
    "0.5.9",
    "0.5.10",
    "0.5.11",
    "0.5.12",
    "0.5.13",
    "0.5.14",
    "0.5.16",
    "0.5.18",
    "0.5.19",
    "0.5.20",
    "0.5.21",
    "0.5.22",
    "0.5.23",
)
"""The releases that were read, oldest first."""

HIDDEN = frozenset({"--forward-pass-metrics-worker-id", "--forward-pass-metrics-ipc-name"})
"""Flags that are taken and that `--help` does not tell (seen in 0.5.23)."""


class Flag(NamedTuple):
    """A flag in the releases that have it.

    Attributes:
        names: its spellings, the one to show first.
        kind: what its value is; `size` is a number that may end in k, M, Ki, …
        since: first release that has it; "" for all that were read.
        until: last release that has it; "" for no end.
        now: the flag to use instead, once it is deprecated or gone.
        deprecated: first release that warns of it.
        nargs: as argparse has it: "" for one word, "+", "*" or "?".
        note: where there is no `now`: what happened, `it was removed; leave it out`.
    """

    names: str
    kind: Kind = "text"
    since: str = ""
    until: str = ""
    now: str = ""
    deprecated: str = ""
    nargs: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        """The spelling to show."""
        return self.names.partition(" ")[0]

    @property
    def gone(self) -> str:
        """The first release read that lacks it, "" where it is still there."""
        if not self.until:
            return ""
        last = _order(self.until)
        return next((release for release in RELEASES if _order(release) > last), "")


def _order(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


_SPEC = "--speculative-"
_AMBIGUOUS = "the short form became ambiguous"
_REPLACED = "--speculative-ngram-max-trie-depth"

FLAGS: tuple[Flag, ...] = (
    # --- speculative ---------------------------------------------------------------------------
    Flag("--speculative-algorithm"),
    Flag("--speculative-draft-model-path --speculative-draft-model"),
    Flag("--speculative-draft-model-revision", since="0.5.3"),
    Flag("--speculative-draft-load-format", since="0.5.5"),
    Flag("--speculative-num-steps", "int"),
    Flag("--speculative-eagle-topk", "int"),
    Flag("--speculative-num-draft-tokens", "int"),
    Flag("--speculative-accept-threshold-single", "float"),
    Flag("--speculative-accept-threshold-acc", "float"),
    Flag("--speculative-token-map"),
    Flag("--speculative-attention-mode", since="0.5.3"),
    Flag("--speculative-moe-runner-backend", since="0.5.5"),
    Flag("--speculative-moe-a2a-backend", since="0.5.7"),
    Flag("--speculative-draft-model-quantization", since="0.5.7"),
    Flag("--speculative-draft-attention-backend", since="0.5.7"),
    Flag("--enable-multi-layer-eagle", "switch", since="0.5.7"),
    Flag("--enable-draft-weights-cpu-backup", "switch", since="0.5.6"),
    Flag("--speculative-adaptive", "switch", since="0.5.11"),
    Flag("--speculative-adaptive-config", since="0.5.11"),
    Flag(
        "--speculative-skip-dp-mlp-sync",
        "switch",
        since="0.5.11",
        until="0.5.22",
        note="it was removed; leave it out",
    ),
    Flag("--speculative-dflash-block-size", "int", since="0.5.11"),
    Flag("--speculative-draft-window-size", "int", since="0.5.12"),
    Flag(
        "--speculative-dflash-draft-window-size",
        "int",
        since="0.5.11",
        until="0.5.19",
        now="--speculative-draft-window-size",
        deprecated="0.5.12",
    ),
    Flag("--speculative-use-rejection-sampling", "switch", since="0.5.14"),
    Flag("--speculative-dspark-block-size", "int", since="0.5.16"),
    Flag("--speculative-dspark-sps-table-path", since="0.5.16"),
    Flag("--speculative-dspark-confidence-sts-path", since="0.5.16"),
    Flag("--speculative-dspark-align-verify-tokens-to-graph-tier", "switch", since="0.5.16"),
    Flag("--decoupled-spec-bind-endpoint", since="0.5.16"),
    Flag("--decoupled-spec-connect-endpoints", "json", since="0.5.16"),
    Flag("--decoupled-spec-rank", "int", since="0.5.16"),
    Flag("--decoupled-spec-role", since="0.5.16"),
    Flag("--spec-trace-dir", since="0.5.16"),
    Flag("--speculative-draft-kv-cache-dtype", since="0.5.18"),
    Flag("--speculative-dsa-topk-backend", since="0.5.20"),
    Flag("--speculative-domino-candidate-pool-size", "int", since="0.5.20"),
    Flag("--uno-lora-path", since="0.5.20"),
    Flag("--speculative-draft-sink-size", "int", since="0.5.21"),
    Flag("--speculative-use-block-verification", "switch", since="0.5.22"),
    Flag(
        f"{_SPEC}enable-w4a4-mxfp4-megamoe --no-{_SPEC[2:]}enable-w4a4-mxfp4-megamoe",
        "switch",
        "0.5.22",
    ),
    Flag(f"{_SPEC}ngram-min-match-window-size", "int", "0.5.3", "0.5.9", _REPLACED),
    Flag(f"{_SPEC}ngram-max-match-window-size", "int", "0.5.3", "0.5.9", _REPLACED),
    Flag(f"{_SPEC}ngram-branch-length", "int", "0.5.3", "0.5.9", _REPLACED),
    Flag("--speculative-ngram-max-trie-depth", "int", since="0.5.10"),
    Flag("--speculative-ngram-min-bfs-breadth", "int", since="0.5.3"),
    Flag("--speculative-ngram-max-bfs-breadth", "int", since="0.5.3"),
    Flag("--speculative-ngram-match-type", since="0.5.3"),
    Flag("--speculative-ngram-capacity", "int", since="0.5.3"),
    Flag("--speculative-ngram-external-corpus-path", since="0.5.11"),
    Flag("--speculative-ngram-external-sam-budget", "int", since="0.5.11"),
    Flag("--speculative-ngram-external-corpus-max-tokens", "int", since="0.5.11"),
    # --- model and server ----------------------------------------------------------------------
    Flag("--model-path --model"),
    Flag("--served-model-name"),
    Flag("--trust-remote-code", "switch"),
    Flag("--context-length", "size"),
    Flag("--quantization"),
    Flag("--dtype"),
    Flag("--kv-cache-dtype"),
    Flag("--chat-template"),
    Flag("--host"),
    Flag("--port", "int"),
    Flag("--api-key"),
    Flag("--admin-api-key", since="0.5.8"),
    Flag("--config", since="0.5.3"),
    # --- parallelism ---------------------------------------------------------------------------
    Flag("--tp-size --tensor-parallel-size", "int"),
    Flag("--dp-size --data-parallel-size", "int"),
    Flag("--pp-size --pipeline-parallel-size", "int"),
    Flag("--pp", "int", until="0.5.4", now="--pp-size", note=_AMBIGUOUS),
    Flag("--pp-max-micro-batch-size", "int", since="0.5.5"),
    Flag("--ep-size --expert-parallel-size --ep", "int"),
    Flag(
        "--enable-dp-attention",
        "switch",
        now="--attn-dp-size",
        deprecated="0.5.22",
        note="--attn-dp-size N stands for --dp-size N --enable-dp-attention",
    ),
    Flag("--attn-dp-size --attention-data-parallel-size", "int", since="0.5.22"),
    Flag("--nnodes", "int"),
    Flag("--node-rank", "int"),
    Flag("--dist-init-addr --nccl-init-addr"),
    Flag("--nccl-port", "int", since="0.4.10"),
    Flag("--dist-timeout", "int"),
    # --- memory, batches, graphs ---------------------------------------------------------------
    Flag("--mem-fraction-static", "float"),
    Flag("--max-running-requests", "int"),
    Flag("--max-total-tokens", "size"),
    Flag("--chunked-prefill-size", "int"),
    Flag("--page-size", "int"),
    Flag("--stream-interval", "int"),
    Flag("--enable-mixed-chunk", "switch"),
    Flag("--enable-two-batch-overlap", "switch"),
    Flag("--disable-overlap-schedule", "switch"),
    Flag(
        "--cuda-graph-max-bs",
        "int",
        until="0.5.19",
        now="--cuda-graph-max-bs-decode",
        deprecated="0.5.14",
    ),
    Flag(
        "--cuda-graph-bs",
        "int",
        until="0.5.19",
        now="--cuda-graph-bs-decode",
        deprecated="0.5.14",
        nargs="+",
    ),
    Flag("--cuda-graph-max-bs-decode", "int", since="0.5.14"),
    Flag("--cuda-graph-max-bs-prefill", "int", since="0.5.14"),
    Flag("--cuda-graph-bs-decode", "int", since="0.5.14", nargs="+"),
    Flag("--cuda-graph-bs-prefill", "int", since="0.5.14", nargs="+"),
    Flag("--cuda-graph-backend-decode", since="0.5.14"),
    Flag("--cuda-graph-backend-prefill", since="0.5.14"),
    Flag("--cuda-graph-config", since="0.5.14"),
    Flag(
        "--disable-cuda-graph",
        "switch",
        deprecated="0.5.14",
        note="--cuda-graph-backend-{decode,prefill} disabled says it now",
    ),
    Flag("--disable-cuda-graph-padding", "switch"),
    Flag("--enable-profile-cuda-graph", "switch", since="0.4.10"),
    # --- kernels and communication -------------------------------------------------------------
    Flag("--attention-backend"),
    Flag("--prefill-attention-backend", since="0.4.10"),
    Flag("--decode-attention-backend", since="0.4.10"),
    Flag("--disable-custom-all-reduce", "switch"),
    Flag("--enable-nccl-nvls", "switch"),
    Flag("--enable-symm-mem", "switch", since="0.4.10"),
    Flag("--enable-mscclpp", "switch", since="0.4.10"),
    Flag("--enable-torch-symm-mem", "switch", since="0.5.3"),
    Flag("--pre-warm-nccl", "switch", since="0.5.10"),
    Flag("--flashinfer-allreduce-fusion-backend", since="0.5.14"),
    Flag("--enable-flashinfer-allreduce-fusion", "switch", since="0.4.10"),
    # --- what is seen and logged ---------------------------------------------------------------
    Flag("--enable-metrics", "switch"),
    Flag("--enable-metrics-for-all-schedulers", "switch", since="0.4.10"),
    Flag("--enable-mfu-metrics", "switch", since="0.5.10"),
    Flag("--enable-forward-pass-metrics", "switch", since="0.5.12"),
    Flag("--export-metrics-to-file", "switch", since="0.5.6"),
    Flag("--export-metrics-to-file-dir", since="0.5.6"),
    Flag("--extra-metric-labels", "json", since="0.5.9"),
    Flag("--decode-log-interval", "int"),
    Flag("--log-level"),
    Flag("--log-level-http"),
    Flag("--log-requests", "switch"),
    Flag("--log-requests-level", "int"),
    Flag("--log-requests-format", since="0.5.7"),
    Flag("--log-requests-target", since="0.5.8", nargs="+"),
    Flag("--uvicorn-access-log-exclude-prefixes", since="0.5.8", nargs="*"),
    Flag("--watchdog-timeout", "float"),
    Flag("--soft-watchdog-timeout", "float", since="0.5.7"),
    Flag("--skip-server-warmup", "switch", since="0.4.10"),
    Flag("--sleep-on-idle", "switch", since="0.4.10"),
    Flag("--crash-dump-folder", since="0.4.10"),
    Flag("--forward-hooks", "json", since="0.5.6"),
)


class Choices(NamedTuple):
    """The values a flag takes from `since` to `until`; releases without a row take any."""

    flag: str
    values: tuple[str, ...]
    since: str = ""
    until: str = ""


_FIRST = ("EAGLE", "EAGLE3", "NEXTN")
CHOICES: tuple[Choices, ...] = (
    Choices("--speculative-algorithm", _FIRST, until="0.5.2"),
    Choices("--speculative-algorithm", (*_FIRST, "STANDALONE", "NGRAM"), "0.5.3", "0.5.10"),
    Choices(
        "--speculative-algorithm",
        (*_FIRST, "STANDALONE", "NGRAM", "DFLASH"),
        "0.5.11",
        "0.5.11",
    ),
    Choices("--speculative-attention-mode", ("prefill", "decode"), since="0.5.3"),
    Choices(
        "--speculative-draft-kv-cache-dtype",
        ("auto", "fp8_e5m2", "fp8_e4m3", "bf16", "bfloat16"),
        since="0.5.18",
    ),
    Choices("--log-requests-format", ("text", "json"), since="0.5.7"),
)


def renamed(flag: str) -> Flag | None:
    """The row of a flag that no longer exists in the newest release, else None."""
    return next((row for row in FLAGS if row.until and flag in row.names.split()), None)
