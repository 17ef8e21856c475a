"""Rules on the model, its draft and what their `config.json` say."""

from __future__ import annotations

from typing import Any

from eagletui.engine.check.modes import on
from eagletui.engine.check.situation import Finds, Found, Situation

_CONTEXT_KEYS = (
    "max_sequence_length",
    "seq_length",
    "max_seq_len",
    "model_max_length",
    "max_position_embeddings",
)
DRAFT = "speculative.draft-model-path"
_LISTENS = "eagle_aux_hidden_state_layer_ids"
_LONGER = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_PADDING = 0.02
"""Vocabularies that differ by less are padded differently, not different."""


def target_unreadable(situation: Situation) -> Finds:
    """The model's folder is not there or cannot be read."""
    files = situation.facts.target
    if files is not None and files.problem:
        yield Found("server.model", f"{files.path}: {files.problem}.", "Check the path.")


def draft_unreadable(situation: Situation) -> Finds:
    """The draft's folder is not there or cannot be read."""
    files = situation.facts.draft
    if files is not None and files.problem:
        yield Found(DRAFT, f"{files.path}: {files.problem}.", "Check the path.")


def context_too_long(situation: Situation) -> Finds:
    """More context than the model was made for: ValueError unless a variable allows it."""
    wanted = situation.number("--context-length")
    has = context_length(situation.target)
    if wanted is None or has is None or wanted <= has:
        return
    if not on(situation.environment.get(_LONGER)):
        yield Found(
            "server.flags.context-length",
            f"The model has a context of {has} tokens, {wanted} are asked for: the server refuses.",
            f"Set context-length to at most {has}.",
        )


def draft_context_refused(situation: Situation) -> Finds:
    """A draft that knows less context than the target: ValueError after the load (0.5.23)."""
    lengths = _short_draft(situation)
    if lengths is not None and _refuses_short_drafts(situation):
        draft, target = lengths
        yield Found(
            DRAFT,
            f"The draft knows {draft} tokens of context, the model is served with {target}: the "
            "server ends with a ValueError once the model is loaded.",
            f"Set context-length {draft} or less, use another draft, or set {_LONGER}=1 and watch "
            "the accept length of long requests.",
        )


def draft_context(situation: Situation) -> Finds:
    """A draft that knows less context than the target, and is used past it."""
    lengths = _short_draft(situation)
    if lengths is not None and not _refuses_short_drafts(situation):
        draft, target = lengths
        yield Found(
            DRAFT,
            f"The draft knows {draft} tokens of context, the model is served with {target}: past "
            f"{draft} tokens fewer drafts are accepted, and it can be slower than no speculation.",
            f"Set context-length {draft} or less, use another draft, or watch the accept length of "
            "long requests.",
        )


def _short_draft(situation: Situation) -> tuple[int, int] | None:
    target = situation.number("--context-length") or context_length(situation.target)
    draft = context_length(situation.draft)
    if target is None or draft is None or draft >= target:
        return None
    return draft, target


def _refuses_short_drafts(situation: Situation) -> bool:
    return situation.since("0.5.23") and not on(situation.environment.get(_LONGER))


def draft_vocabulary(situation: Situation) -> Finds:
    """A draft of another vocabulary: its tokens mean something else."""
    target, draft = (_text_config(c).get("vocab_size") for c in (situation.target, situation.draft))
    if not isinstance(target, int) or not isinstance(draft, int) or draft == target:
        return
    if abs(draft - target) <= _PADDING * target:
        return
    yield Found(
        DRAFT,
        f"The draft has a vocabulary of {draft} tokens, the model one of {target}: what it drafts "
        "means something else to the model.",
        "Use a draft that was trained for this model.",
    )


def draft_tokenizer(situation: Situation) -> Finds:
    """A draft whose special tokens differ: another tokenizer."""
    for name in ("bos_token_id", "eos_token_id"):
        target, draft = (
            _ids(_text_config(c).get(name)) for c in (situation.target, situation.draft)
        )
        if target and draft and not target & draft:
            yield Found(
                DRAFT,
                f"The draft's {name} is {_list(draft)}, the model's {_list(target)}: it seems to "
                "have another tokenizer.",
                "Use a draft that was trained for this model.",
            )
            return


def draft_of_another(situation: Situation) -> Finds:
    """An EAGLE draft whose width is not the target's: it was trained on another model."""
    if situation.drafting.algorithm not in ("EAGLE", "EAGLE3", "NEXTN"):
        return
    target = _text_config(situation.target).get("hidden_size")
    own = _text_config(situation.draft)
    draft = own.get("target_hidden_size", own.get("hidden_size"))
    if isinstance(target, int) and isinstance(draft, int) and draft != target:
        yield Found(
            DRAFT,
            f"The draft was made for a model with hidden size {draft}, this one has {target}: the "
            "server fails while it loads the draft or at the first step.",
            "Use a draft that was trained for this model.",
        )


def draft_layers(situation: Situation) -> Finds:
    """An EAGLE3 draft that listens to layers the model does not have: trained on a deeper one."""
    layers = _text_config(situation.target).get("num_hidden_layers")
    settings = situation.draft.get("eagle_config")
    if situation.drafting.algorithm != "EAGLE3" or not isinstance(layers, int):
        return
    ids = _ids(settings.get(_LISTENS)) if isinstance(settings, dict) else frozenset[int]()
    beyond = frozenset(layer for layer in ids if layer >= layers)
    if beyond:
        yield Found(
            DRAFT,
            f"The draft listens to layer {_list(beyond)}, the model has {layers}: the server fails "
            "at the first step.",
            "Use a draft that was trained for this model.",
        )


def heads_not_shared(situation: Situation) -> Finds:
    """Attention heads that the ranks cannot share evenly: an assertion while the model is built."""
    heads = _text_config(situation.target).get("num_attention_heads")
    ranks = situation.tp_size // situation.attention_dp
    padded = situation.text("--device") == "cpu"  # 0.5.23 fills the heads up there
    if not isinstance(heads, int) or heads < 1 or ranks < 2 or padded:
        return
    if heads % ranks and not situation.given("--attn-cp-size"):
        fitting = ", ".join(str(n) for n in range(1, ranks) if heads % n == 0)
        yield Found(
            "server.flags.tp-size",
            f"The model's {heads} attention heads cannot be shared by {ranks} ranks: the server "
            "ends with an AssertionError.",
            f"Use one of {fitting}.",
        )


def plain_draft(situation: Situation) -> Finds:
    """A quantised target with a plain draft: the draft is looked for as quantised too."""
    given = situation.drafting
    if given.draft is None or given.draft == situation.text("--model-path"):
        return
    if given.algorithm is None or situation.given("--speculative-draft-model-quantization"):
        return
    method = situation.text("--quantization")
    if method in (None, "unquant") or "quantization_config" in situation.draft:
        return
    advice = "Set draft-model-quantization unquant, or the draft's own."
    if not situation.since("0.5.7"):
        advice = "Use a draft quantised the same way, or a newer SGLang (0.5.7+) with "
        advice += "draft-model-quantization."
    yield Found(
        DRAFT,
        f"quantization {method} holds for the draft too: a plain draft fails with `Cannot find the "
        f"config file for {method}`.",
        advice,
    )


def context_length(config: dict[str, Any]) -> int | None:
    """The context that 0.5.23 derives from a `config.json`; None where it says nothing of it."""
    text = _text_config(config)
    scaling = text.get("rope_scaling")
    factor: object = 1
    if isinstance(scaling, dict) and scaling:
        factor = scaling.get("factor", 1)
        if "original_max_position_embeddings" in scaling or scaling.get("rope_type") == "llama3":
            factor = 1
    for key in _CONTEXT_KEYS:
        value = text.get(key)
        if isinstance(value, int) and isinstance(factor, (int, float)):
            return int(factor * value)
    return None


def _text_config(config: dict[str, Any]) -> dict[str, Any]:
    text = config.get("text_config")
    return text if isinstance(text, dict) else config


def _ids(value: object) -> frozenset[int]:
    values = value if isinstance(value, list) else [value]
    return frozenset(v for v in values if isinstance(v, int) and not isinstance(v, bool))


def _list(ids: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(ids)))
