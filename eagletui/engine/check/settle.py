"""What a server makes of steps, topk and draft tokens, per release and model family."""

from __future__ import annotations

from typing import NamedTuple

from eagletui.engine.check.situation import Situation

# Architectures of which the draft is part of the model (MTP): their draft path may be left out.
# Read in 0.5.23; the DeepSeek family, GLM 4 and Bailing stand there since long.
MTP_FAMILY = frozenset(
    {
        "DeepseekV2ForCausalLM",
        "DeepseekV3ForCausalLM",
        "DeepseekV32ForCausalLM",
        "DeepseekV4ForCausalLM",
        "Glm4MoeForCausalLM",
        "Glm4MoeLiteForCausalLM",
        "GlmMoeDsaForCausalLM",
        "BailingMoeForCausalLM",
        "BailingMoeV2ForCausalLM",
        "BailingMoeV2_5ForCausalLM",
        "MistralLarge3ForCausalLM",
        "PixtralForConditionalGeneration",
        "HYV3ForCausalLM",
        "HYV4ForCausalLM",
        "Qwen4ExpForConditionalGeneration",
    }
)
_WIDE = frozenset({"LlamaForCausalLM", "Grok1ForCausalLM", "Grok1VForCausalLM"})
_DEEPSEEK = frozenset({"DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM"})
TREE = (5, 4, 8)
CHAIN = (3, 1, 4)


class Settled(NamedTuple):
    """What the server drafts with in the end."""

    num_steps: int
    eagle_topk: int
    num_draft_tokens: int


def defaults(situation: Situation) -> Settled | None:
    """What a server takes where none of the three is given; None where it depends on the model.

    Read in 0.4.6 to 0.5.23.
    """
    name = situation.architecture
    if situation.drafting.algorithm == "STANDALONE" and situation.since("0.5.6"):
        return Settled(*CHAIN)
    if not name:
        return None
    if name in _WIDE:
        return Settled(*TREE)
    if name in MTP_FAMILY or name == "GptOssForCausalLM":
        old = name in _DEEPSEEK and not situation.since("0.4.10")
        return Settled(*(TREE if old else CHAIN))
    return Settled(*(CHAIN if situation.since("0.5.8") else TREE))


def settled(situation: Situation) -> Settled | None:
    """What the server drafts with; None where it refuses, or where it cannot be known."""
    steps, topk = situation.drafting.num_steps, situation.drafting.eagle_topk
    tokens = situation.drafting.num_draft_tokens
    if not situation.drafting.eagle:
        return None
    if steps is None:
        return defaults(situation) if topk is None and tokens is None else None
    if topk is None:
        return None
    if topk == 1:
        return Settled(steps, 1, steps + 1)
    return Settled(steps, topk, tokens) if tokens is not None else None


def most_draft_tokens(num_steps: int, eagle_topk: int) -> int:
    """The widest verify a tree of this depth can fill, its root included."""
    return 1 + eagle_topk + (num_steps - 1) * eagle_topk**2
