"""What each number means and where it comes from: shown by `F2`, quoted in the README."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Meaning(NamedTuple):
    """One number on the screen."""

    name: str
    unit: str
    means: str
    source: str


MEANINGS: tuple[Meaning, ...] = (
    Meaning(
        "accept length",
        "tokens per step",
        "Tokens that one draft–verify step yields, the bonus token included: from 1 (the draft is "
        "useless) to k+1 (every drafted token was accepted). Higher is better, but only as long "
        "as drafting costs less than it saves.",
        "The window's tokens divided by its verify passes where counters allow it; else the "
        "server's gauge, which is the value of its last decode interval; else `accept len` of "
        "`Decode batch` log lines.",
    ),
    Meaning(
        "accept rate",
        "%",
        "(accept length − 1) / k: the part of drafted tokens that was accepted, for a chain "
        "(topk 1).",
        "Computed here. SGLang's own figure changed its definition in 0.5.11.",
    ),
    Meaning(
        "verify",
        "ms of GPU time per step",
        "The target model checks all drafted tokens in one pass. Usually most of a step.",
        "Only from SGLang's device timer (SGLANG_ENABLE_METRICS_DEVICE_TIMER=1). Nothing else "
        "is called verify here.",
    ),
    Meaning(
        "draft · draft extend",
        "ms of GPU time per step",
        "The draft model's k steps; and its pass over the tokens that were accepted, which fills "
        "its own KV cache.",
        "Device timer.",
    ),
    Meaning(
        "step",
        "ms of wall time",
        "One whole cycle: draft, verify, draft extend, sampling, scheduling. Shown instead of "
        "verify where no device timer runs.",
        "Named beside the number: decode moments (/v1/loads, 0.5.18+), the pass counter, or "
        "derived from decode log lines as running × accept length / throughput.",
    ),
    Meaning(
        "k",
        "draft steps",
        "speculative num steps. A step line on the accept length chart, because k+1 is its upper "
        "bound; it moves when the server adapts it.",
        "Command line, /server_info, the `spec_num_steps` gauge, or the log.",
    ),
    Meaning(
        "tok/s",
        "tokens per second",
        "Generated tokens of all requests together.",
        "Difference of the token counters between two scrapes; else `gen throughput` of log "
        "lines. The first line after idle is left out: it counts the idle time.",
    ),
    Meaning(
        "running · queued",
        "requests",
        "Requests being decoded now, and those that wait for room.",
        "Gauges, one tensor rank, summed over DP ranks.",
    ),
    Meaning(
        "KV usage · cache hit",
        "%",
        "Part of the KV cache in use; part of prompt tokens found in the prefix cache.",
        "Gauges.",
    ),
    Meaning(
        "TTFT · ITL",
        "ms, p50 and p99",
        "Time to the first token; time between tokens of one request.",
        "Histogram buckets of the server, only what was added since the scrape before.",
    ),
    Meaning(
        "GPU",
        "%, W, GiB",
        "Utilisation says that something runs, not that it makes progress: 100 % at idle power "
        "with no tokens is how a deadlock looks. A * marks the GPUs that this server uses, where "
        "the host has others.",
        "nvidia-smi, rocm-smi or amd-smi on the host.",
    ),
    Meaning(
        "time to go",
        "s",
        "From what earlier launches of this model took on this host; a first guess before that.",
        "Kept on your disk. `stalled` means longer than it ever took.",
    ),
)

# Screen → marks on it and what they say, for its help.
MARKS_OF: Mapping[str, tuple[tuple[str, str], ...]] = {
    "main": (
        ("0* (a GPU)", "This server uses it; the host has others that it does not use."),
        ("┊ and ▲R ●r ▲A ✖L ●b ✖G", "On a chart: restart, ready, alert, connection lost, "
         "connection back, process gone."),
        ("━ k", "On the chart of the accept length: the draft steps, where they are known."),
        ("–", "Not known, or not given by this release."),
    ),
}  # fmt: skip
