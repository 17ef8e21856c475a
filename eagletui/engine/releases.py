"""What changed between releases of SGLang, as tables; a new release adds rows.

Read from the wheels of 0.4.6.post5 to 0.5.23. Releases 0.5.0, 0.5.2, 0.5.4, 0.5.15 and 0.5.17 were
not read, so a `since` may be one release late.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Literal, NamedTuple

Feature = Literal["ladder order", "batch separator", "server_args", "accept rate", "weight bars"]

_VERSION = re.compile(
    r"v?(\d{1,9}(?:\.\d{1,9}){0,9})(?:[.-]?(dev|a|alpha|b|beta|rc|post)[.-]?(\d{0,9}))?(?:\+\S*)?",
    re.IGNORECASE,
)
_SUFFIX = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1, "": 0, "post": 1}


@functools.total_ordering
class Version:
    """A release that orders: `0.4.6.post5` < `0.4.10` < `0.5.0rc1` < `0.5` = `0.5.0`."""

    def __init__(self, text: str) -> None:
        match = _VERSION.match(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is no version")
        self.text = match[0]
        numbers = [int(part) for part in match[1].split(".")]
        while numbers and numbers[-1] == 0:
            numbers.pop()
        suffix = (match[2] or "").lower()
        self._key = (tuple(numbers), _SUFFIX[suffix], int(match[3] or 0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._key == other._key

    def __lt__(self, other: Version) -> bool:
        return self._key < other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"Version({self.text!r})"


@functools.lru_cache(maxsize=256)
def version(text: str) -> Version:
    """The same as `Version`, for texts that come again and again: those of tables."""
    return Version(text)


def told_version(text: str) -> Version | None:
    """What a server or its host says of its release; None for nothing, or nothing that orders."""
    try:
        return Version(text) if text else None
    except ValueError:
        return None


class Change(NamedTuple):
    """From this release on, a feature has this value."""

    since: str
    feature: Feature
    value: str


CHANGES: tuple[Change, ...] = (
    # target: load → KV → graphs, then the same for the draft
    Change("0.4.6", "ladder order", "model by model"),
    # load target → load draft → KV of both → target graphs → draft graphs
    Change("0.5.14", "ladder order", "loads first"),
    Change("0.4.6", "batch separator", "."),
    Change("0.5.5", "batch separator", ","),
    Change("0.4.6", "server_args", "dataclass"),
    Change("0.5.20", "server_args", "dict"),
    # accept length / num_draft_tokens (0.5.5: / (steps + 1)): the bonus token counts
    Change("0.5.5", "accept rate", "with bonus"),
    # (accept length − 1) / (num_draft_tokens − 1)
    Change("0.5.11", "accept rate", "drafts only"),
    # every update of a weight bar ends with a newline, and the text is `Loading … shards`
    Change("0.4.6", "weight bars", "newline"),
    # only `\r`, and the text is `Multi-thread loading shards`
    Change("0.5.10", "weight bars", "carriage return"),
)


class Range(NamedTuple):
    """Releases a log can come from; "" is open. Both ends included."""

    since: str = ""
    until: str = ""

    @property
    def text(self) -> str:
        """`0.5.23`, `0.5.16–0.5.19`, `0.5.20+`, `up to 0.5.3`, or "" for no idea."""
        if self.since and self.since == self.until:
            return self.since
        if self.since and self.until:
            return f"{self.since}–{self.until}"
        if self.since:
            return f"{self.since}+"
        return f"up to {self.until}" if self.until else ""

    def __contains__(self, release: object) -> bool:
        """Whether this release lies in it."""
        at = release if isinstance(release, Version) else version(str(release))
        return not (self.since and at < version(self.since)) and not (
            self.until and version(self.until) < at
        )

    def narrowed(self, other: Range) -> Range:
        """Both at once; where they contradict, what was known before stays."""
        since = max((s for s in (self.since, other.since) if s), key=Version, default="")
        until = min((u for u in (self.until, other.until) if u), key=Version, default="")
        if since and until and Version(until) < Version(since):
            return self
        return Range(since, until)


def feature(name: Feature, version: str) -> str | None:
    """The value of a feature in a release, or None before its first row."""
    at = Version(version)
    value = None
    for change in CHANGES:
        if change.feature == name and Version(change.since) <= at:
            value = change.value
    return value


def feature_in(name: Feature, releases: Range) -> str | None:
    """The value where all of these releases agree, else None."""
    values = {
        feature(name, releases.since or "0.4.6"),
        feature(name, releases.until or "9999"),
    }
    return values.pop() if len(values) == 1 else None


class Hint(NamedTuple):
    """A text in a log that only some releases write."""

    text: str
    releases: Range


# Messages, as they stand in the log.
HINTS: tuple[Hint, ...] = (
    Hint("server_args=ServerArgs(", Range("", "0.5.19")),
    Hint("server_args={", Range("0.5.20", "")),
    Hint("Decode batch. ", Range("", "0.5.4")),
    Hint("Decode batch, ", Range("0.5.4", "")),
    Hint("Prefill batch. ", Range("", "0.5.4")),
    Hint("Prefill batch, ", Range("0.5.4", "")),
    Hint("#pending-token: ", Range("0.5.11", "")),
    Hint("input throughput (token/s): ", Range("0.5.10", "")),
    Hint("Multi-thread loading shards", Range("0.4.10", "")),
    Hint("Init torch distributed ends. mem usage=", Range("", "0.5.8")),
    Hint("Init torch distributed ends. elapsed=", Range("0.5.9", "")),
    Hint("Load weight end. type=", Range("", "0.5.8")),
    Hint("Load weight end. elapsed=", Range("0.5.9", "")),
    Hint("KV Cache is allocated. dtype:", Range("0.5.13", "")),
    Hint("Capture cuda graph begin. This can take", Range("", "0.5.13")),
    Hint("Capture target ", Range("0.5.14", "")),
    Hint("num_tokens_per_bs=", Range("0.5.14", "0.5.15")),
    Hint("num_tokens_per_req=", Range("0.5.16", "")),
    Hint("Engine startup timings (s):", Range("0.5.18", "")),
    Hint("fwd+idle occupancy:", Range("0.5.22", "")),
)

# Keys of `server_args`, which always holds all of them.
ARGUMENT_HINTS: dict[str, Range] = {
    "speculative_draft_model_revision": Range("0.5.3", ""),
    "speculative_draft_load_format": Range("0.5.5", ""),
    "enable_draft_weights_cpu_backup": Range("0.5.6", ""),
    "enable_multi_layer_eagle": Range("0.5.7", ""),
    "admin_api_key": Range("0.5.8", ""),
    "extra_metric_labels": Range("0.5.9", ""),
    "enable_mfu_metrics": Range("0.5.10", ""),
    "speculative_adaptive": Range("0.5.11", ""),
    "enable_forward_pass_metrics": Range("0.5.12", ""),
    "cuda_graph_config": Range("0.5.14", ""),
    "speculative_dspark_block_size": Range("0.5.16", ""),
    "speculative_draft_kv_cache_dtype": Range("0.5.18", ""),
    "uno_lora_path": Range("0.5.20", ""),
    "speculative_draft_sink_size": Range("0.5.21", ""),
    "attn_dp_size": Range("0.5.22", ""),
    "speculative_skip_dp_mlp_sync": Range("0.5.11", "0.5.22"),
}
# Keys whose absence from a whole `server_args` says something.
ABSENT_ARGUMENT_HINTS: dict[str, Range] = {
    "speculative_draft_model_revision": Range("", "0.5.2"),
    "speculative_adaptive": Range("", "0.5.10"),
    "cuda_graph_config": Range("", "0.5.13"),
    "speculative_dspark_block_size": Range("", "0.5.15"),
    "speculative_draft_kv_cache_dtype": Range("", "0.5.17"),
}
# Keys that went away: a later log lacks them.
REMOVED_ARGUMENTS: dict[str, str] = {"speculative_skip_dp_mlp_sync": "0.5.23"}
WHOLE_ARGUMENTS = 60


def releases_of_arguments(arguments: Iterable[str]) -> Range:
    """The releases whose `server_args` has these keys."""
    keys = set(arguments)
    found = Range()
    for key, releases in ARGUMENT_HINTS.items():
        if key in keys:
            found = found.narrowed(releases)
    if len(keys) < WHOLE_ARGUMENTS:
        return found
    for key, releases in ABSENT_ARGUMENT_HINTS.items():
        if key not in keys:
            found = found.narrowed(releases)
    for key, since in REMOVED_ARGUMENTS.items():
        if key not in keys and found.since and Version(found.since) >= Version("0.5.11"):
            found = found.narrowed(Range(since, ""))
    return found


def infer_releases(texts: Iterable[str], known: Range = Range()) -> Range:  # noqa: B008
    """Narrow what is known by the hints in these messages."""
    for text in texts:
        for hint in HINTS:
            if hint.text in text:
                known = known.narrowed(hint.releases)
    return known
