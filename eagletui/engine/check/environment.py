"""Rules on environment variables: misspelt, without effect, or dangerous."""

from __future__ import annotations

import posixpath

from eagletui.engine.check import deterministic
from eagletui.engine.check.modes import on
from eagletui.engine.check.situation import Finds, Found, Situation
from eagletui.engine.check.variables import (
    FILES,
    NCCL_TUNING,
    NCCL_VARIABLES,
    SGLANG_VARIABLES,
    VALUES,
    sglang_variables,
)
from eagletui.engine.flags.known import LISTED_RELEASE
from eagletui.engine.releases import Range, Version
from eagletui.model.near import nearest

_CLOSE = 0.86
"""How alike a name must be before it is called a misspelling: one or two letters."""


def path(name: str) -> str:
    """Where a variable stands in a profile."""
    return f"environment.{name}"


def misspelt(situation: Situation) -> Finds:
    """A variable that nobody reads and that looks like one that somebody does."""
    for name in situation.environment:
        known = _family(name)
        if name in known:
            continue
        near = nearest(name.upper(), known, cutoff=_CLOSE)
        if near:
            yield Found(
                path(name),
                f"Nobody reads {name}; it does nothing.",
                f"Did you mean {near}?",
            )


def unknown(situation: Situation) -> Finds:
    """A variable of SGLang's that its newest listed release does not name."""
    if situation.release != Version(LISTED_RELEASE) or situation.plan.whole_environment:
        return
    for name in situation.environment:
        if name.startswith(("SGLANG_", "SGL_")):
            known = sglang_variables()
            if name not in known and not nearest(name.upper(), known, cutoff=_CLOSE):
                yield Found(
                    path(name),
                    f"SGLang {LISTED_RELEASE} does not name {name}.",
                    "Leave it out, unless a plugin reads it.",
                )


def _family(name: str) -> frozenset[str]:
    """The names that this one could have meant to be; itself alone where it is no family's."""
    first = name.upper().partition("_")[0]
    families = ("NCCL", "SGLANG", "SGL")
    family = first if first in families else nearest(first, families)
    if family == "NCCL":
        return NCCL_VARIABLES
    return sglang_variables() if family else frozenset({name})


def other_release(situation: Situation) -> Finds:
    """A variable that this release does not read."""
    for name in situation.environment:
        row = SGLANG_VARIABLES.get(name)
        if row is not None and situation.release not in Range(*row):
            yield Found(
                path(name),
                f"{name} came with {row.since}; {situation.release.text} does not read it.",
                "Leave it out, or use a newer SGLang.",
            )


def nccl_value(situation: Situation) -> Finds:
    """A word that NCCL does not take."""
    for name, words in VALUES.items():
        value = situation.environment.get(name)
        if value is None or _taken(name, value, words):
            continue
        near = nearest(value.lower(), [word.lower() for word in words], cutoff=0.5)
        word = next((word for word in words if word.lower() == near), "")
        yield Found(
            path(name),
            f"NCCL does not take {name}={value}: it ends with an error or chooses by itself.",
            f"Did you mean {word}?" if word else f"Use one of {', '.join(words)}.",
        )


def _taken(name: str, value: str, words: tuple[str, ...]) -> bool:
    if name == "NCCL_P2P_LEVEL":
        return value in words or (value.isdecimal() and int(value) <= 5)
    # `ring,tree`, `^LL128`, `allreduce:tree;broadcast:ring` (2.24+).
    lower = {word.lower() for word in words}
    parts = [part.rpartition(":")[2] for part in value.split(";")]
    named = [word for part in parts for word in part.lstrip("^").split(",")]
    return bool(named) and all(word.strip().lower() in lower for word in named)


def nccl_contradiction(situation: Situation) -> Finds:
    """Variables that exclude each other."""
    environment = situation.environment
    if on(environment.get("NCCL_P2P_DISABLE")) and "NCCL_P2P_LEVEL" in environment:
        yield Found(
            path("NCCL_P2P_LEVEL"),
            "NCCL_P2P_DISABLE=1 switches off what NCCL_P2P_LEVEL sets.",
            "Keep one of them.",
        )
    for kind in ("NCHANNELS", "CTAS"):
        low, high = (_whole(environment.get(f"NCCL_{end}_{kind}")) for end in ("MIN", "MAX"))
        if low is not None and high is not None and low > high:
            yield Found(
                path(f"NCCL_MIN_{kind}"),
                f"NCCL_MIN_{kind}={low} is above NCCL_MAX_{kind}={high}: NCCL ignores one of them.",
                "Set the least to at most the most.",
            )


def nccl_unused(situation: Situation) -> Finds:
    """NCCL tuning where the all-reduce does not go through NCCL (read in 0.4.6, 0.5.9, 0.5.23)."""
    tuned = sorted(NCCL_TUNING & situation.environment.keys())
    why = _not_nccl(situation)
    if not tuned or not why:
        return
    yield Found(
        path(tuned[0]),
        f"{', '.join(tuned)} will hardly matter: {why}.",
        "Leave it out here, or add --disable-custom-all-reduce to have NCCL do the work.",
    )


def _not_nccl(situation: Situation) -> str:
    if situation.nodes > 1:
        return ""
    if situation.ours and situation.gpus == 1:
        return "one GPU has nobody to talk to"
    for flag in ("--disable-custom-all-reduce", "--enable-symm-mem", deterministic.FLAG):
        if situation.given(flag):
            return ""
    custom = "custom all-reduce carries every message up to 8 MB"
    if situation.facts.nvlink:
        return f"all GPUs are linked by NVLink, and {custom}"
    if situation.tp_size == 2:
        return f"with two ranks {custom}"
    return ""


def custom_all_reduce_off(situation: Situation) -> Finds:
    """`--disable-custom-all-reduce` on a machine where it is the faster way."""
    if situation.given("--disable-custom-all-reduce") and situation.facts.nvlink:
        yield Found(
            "server.flags.disable-custom-all-reduce",
            "All GPUs are linked by NVLink, where custom all-reduce is the faster way for the "
            "small messages of decode and verify.",
            "Leave it out, or measure both.",
        )


def custom_all_reduce_pcie(situation: Situation) -> Finds:
    """More than two PCIe GPUs: SGLang switches custom all-reduce off by itself."""
    asked_off = any(
        situation.given(flag) for flag in ("--disable-custom-all-reduce", deterministic.FLAG)
    )
    if situation.facts.nvlink is False and situation.tp_size > 2 and not asked_off:
        yield Found(
            "server.flags.disable-custom-all-reduce",
            "Without NVLink SGLang switches custom all-reduce off for more than two GPUs: NCCL "
            "carries every all-reduce, and its variables matter for verify.",
            "Try the NCCL profiles.",
        )


def overwritten(situation: Situation) -> Finds:
    """Variables that SGLang sets itself."""
    environment = situation.environment
    path_of, old = path, not situation.since("0.4.10")
    for name, flag in (("NCCL_CUMEM_ENABLE", ""), ("NCCL_NVLS_ENABLE", "--enable-nccl-nvls")):
        if name in environment and old:
            with_flag = f" (1 with {flag})" if flag else ""
            yield Found(
                path_of(name),
                f"This release overwrites {name} with 0{with_flag}.",
                "Leave it out.",
            )
    if "CUDA_DEVICE_MAX_CONNECTIONS" in environment:
        value = "8" if situation.since("0.5.9") else "4"
        if environment["CUDA_DEVICE_MAX_CONNECTIONS"] != value:
            yield Found(
                path_of("CUDA_DEVICE_MAX_CONNECTIONS"),
                f"SGLang overwrites CUDA_DEVICE_MAX_CONNECTIONS with {value}.",
                "Leave it out.",
            )
    for name in deterministic.pinned(situation):
        if name in environment:
            yield Found(
                path_of(name),
                f"Deterministic inference overwrites {name}, and switches custom all-reduce off.",
                "Leave one of the two out.",
            )


def metrics_folder(situation: Situation) -> Finds:
    """A metrics folder of the person's own, which nobody empties (every release)."""
    if "PROMETHEUS_MULTIPROC_DIR" in situation.environment:
        yield Found(
            path("PROMETHEUS_MULTIPROC_DIR"),
            "SGLang writes its metrics there and never empties it: after a restart the old run's "
            "counters are added to the new one's.",
            "Leave it out; SGLang then makes a fresh folder.",
        )


def simulated(situation: Situation) -> Finds:
    """A made-up accept length: the answers are garbage (0.5.3+)."""
    value = situation.environment.get("SGLANG_SIMULATE_ACC_LEN")
    if value is not None and _above_zero(value):
        yield Found(
            path("SGLANG_SIMULATE_ACC_LEN"),
            f"The accept length is made up ({value}): speed can be measured, but every answer is "
            "garbage.",
            "Never leave it on a server that people use.",
        )


def few_devices(situation: Situation) -> Finds:
    """Fewer visible GPUs than the server wants."""
    value = situation.environment.get("CUDA_VISIBLE_DEVICES")
    if value is None or not situation.ours:
        return
    seen = len([part for part in value.split(",") if part.strip()])
    wanted = -(-situation.gpus // situation.nodes)
    if seen < wanted and situation.text("--device") in (None, "cuda"):
        yield Found(
            path("CUDA_VISIBLE_DEVICES"),
            f"CUDA_VISIBLE_DEVICES shows {seen} GPUs, the server wants {wanted}: it fails with "
            "`invalid device ordinal`.",
            f"Name {wanted} GPUs, or lower tp-size.",
        )


def files(situation: Situation) -> tuple[str, ...]:
    """Absolute paths in the environment that must be readable."""
    return tuple(
        value for name in FILES if posixpath.isabs(value := situation.environment.get(name, ""))
    )


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None


def _above_zero(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False
