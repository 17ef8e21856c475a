"""Rules on deterministic inference, and on what it does to speculation and NCCL."""

from __future__ import annotations

from typing import NamedTuple

from eagletui.engine.check.situation import Finds, Found, Situation
from eagletui.engine.releases import Range

FLAG = "--enable-deterministic-inference"


class Backends(NamedTuple):
    """Which attention backends deterministic inference takes; `latent` with MLA models."""

    since: str
    until: str
    any_model: tuple[str, ...]
    latent: tuple[str, ...]


# Read in 0.5.3, 0.5.9, 0.5.16 and 0.5.23; a release between has the benefit of the doubt.
BACKENDS: tuple[Backends, ...] = (
    Backends("0.5.3", "0.5.9", ("flashinfer", "fa3", "triton"), ("fa3", "triton")),
    Backends(
        "0.5.10",
        "",
        ("flashinfer", "fa3", "fa4", "triton", "ascend", "intel_xpu"),
        ("fa3", "fa4", "triton", "ascend"),
    ),
)

# The models with multi-head latent attention that are looked at (read in 0.5.9 and 0.5.23).
_LATENT = frozenset(
    {
        "DeepseekV2ForCausalLM",
        "DeepseekV3ForCausalLM",
        "DeepseekV32ForCausalLM",
        "MistralLarge3ForCausalLM",
        "PixtralForConditionalGeneration",
        "GlmMoeDsaForCausalLM",
    }
)


def refused(situation: Situation) -> Finds:
    """What deterministic inference refuses: attention backends (0.5.3+), UNO (0.5.23)."""
    if not situation.given(FLAG):
        return
    backend = situation.text("--attention-backend")
    row = next((r for r in BACKENDS if situation.release in Range(r.since, r.until)), None)
    if backend is not None and row is not None:
        latent = situation.architecture in _LATENT and situation.since("0.5.9")
        taken = row.latent if latent else row.any_model
        if backend not in taken:
            yield Found(
                "server.flags.attention-backend",
                f"Deterministic inference takes only {', '.join(taken)}"
                f"{' with this model' if latent else ''}, not {backend}: the server refuses.",
                "Use one of them, or leave enable-deterministic-inference out.",
            )
    if situation.drafting.algorithm == "UNO" and situation.since("0.5.23"):
        yield Found(
            "speculative.algorithm",
            "UNO does not go with deterministic inference: the server refuses.",
            "Leave one of the two out.",
        )


def unseeded(situation: Situation) -> Finds:
    """Speculation that draws by chance in spite of it (read in 0.5.9 and 0.5.16)."""
    if not situation.given(FLAG) or not situation.drafting.eagle:
        return
    if situation.between("0.5.3", "0.5.16"):
        yield Found(
            "server.flags.enable-deterministic-inference",
            "In this release verify accepts drafts by chance, without the request's seed: with a "
            "temperature above 0 the answers differ all the same.",
            "Use temperature 0, a newer SGLang, or no speculation where answers must repeat.",
        )


def pinned(situation: Situation) -> tuple[str, ...]:
    """The variables of NCCL's that deterministic inference sets itself on several GPUs."""
    if not situation.given(FLAG) or situation.tp_size < 2:
        return ()
    if situation.since("0.5.23"):
        return ("NCCL_ALGO", "NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS")
    return ("NCCL_ALGO",)
