"""Every rule of a check, a row a rule. `docs/check.md` is made from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from eagletui.engine.check import (
    deterministic,
    environment,
    flags,
    host,
    models,
    modes,
    serving,
    speculative,
)
from eagletui.engine.check.situation import Finds, Situation
from eagletui.model.finding import FindingSeverity

Reads = Literal["flags", "environment", "host"]


class Rule(NamedTuple):
    """One thing to know before a start.

    Attributes:
        code: stable; other tools key on it.
        severity: of its findings.
        reads: what it looks at; a rule that reads the host finds nothing without one.
        find: the rule. The first line of its docstring is its title.
    """

    code: str
    severity: FindingSeverity
    reads: tuple[Reads, ...]
    find: Callable[[Situation], Finds]

    @property
    def title(self) -> str:
        """One line that says what is found."""
        return (self.find.__doc__ or "").partition("\n")[0]


_F: tuple[Reads, ...] = ("flags",)
_E: tuple[Reads, ...] = ("environment",)
_FE: tuple[Reads, ...] = ("flags", "environment")
_H: tuple[Reads, ...] = ("host",)
_FH: tuple[Reads, ...] = ("flags", "host")
_ALL: tuple[Reads, ...] = ("flags", "environment", "host")

RULES: tuple[Rule, ...] = (
    # --- flags ---------------------------------------------------------------------------------
    Rule("flag-renamed", "error", _F, flags.renamed),
    Rule("flag-too-new", "error", _F, flags.too_new),
    Rule("unknown-flag", "error", _F, flags.unknown),
    Rule("ambiguous-flag", "error", _F, flags.ambiguous),
    Rule("flag-without-value", "error", _F, flags.no_value),
    Rule("value-for-switch", "error", _F, flags.value_for_switch),
    Rule("stray-word", "error", _F, flags.stray),
    Rule("bad-number", "error", _F, flags.bad_number),
    Rule("bad-choice", "error", _F, flags.bad_choice),
    Rule("no-model", "error", _F, flags.no_model),
    Rule("config-joined", "warning", _F, flags.config_joined),
    Rule("flag-twice", "warning", _F, flags.twice),
    Rule("flag-deprecated", "info", _F, flags.deprecated),
    Rule("flag-not-known", "info", _F, flags.not_known),
    Rule("config-file", "info", _F, flags.config_unread),
    Rule("own-command", "info", _F, flags.own_script),
    # --- speculative ---------------------------------------------------------------------------
    Rule("topk-without-steps", "error", _F, speculative.topk_without_steps),
    Rule("steps-without-topk", "error", _F, speculative.steps_without_topk),
    Rule("tree-without-tokens", "error", _F, speculative.tree_without_tokens),
    Rule("too-many-draft-tokens", "error", _F, speculative.too_many_tokens),
    Rule("too-few-draft-tokens", "error", _F, speculative.too_few_tokens),
    Rule("unknown-algorithm", "error", _FE, speculative.unknown_algorithm),
    Rule("no-draft", "error", _F, speculative.no_draft),
    Rule("rejection-sampling", "error", _FH, speculative.rejection_sampling),
    Rule("block-verification", "error", _F, speculative.block_verification),
    Rule("draft-window", "error", _F, speculative.draft_window),
    Rule("draft-tokens-adjusted", "warning", _F, speculative.tokens_adjusted),
    Rule("wasted-steps", "warning", _F, speculative.wasted_depth),
    Rule("nothing-drafted", "warning", _F, speculative.not_positive),
    Rule("speculation-off", "warning", _F, speculative.ignored),
    Rule("mtp-without-draft", "warning", _FH, speculative.no_draft_eagle),
    Rule("draft-tokens-chosen", "info", _F, speculative.chain_without_tokens),
    Rule("speculative-defaults", "info", _FH, speculative.server_chooses),
    Rule("nextn-is-eagle", "info", _F, speculative.nextn),
    # --- what does not go together -------------------------------------------------------------
    Rule("tree-pages", "error", _FH, modes.tree_pages),
    Rule("ngram-pages", "error", _F, modes.ngram_pages),
    Rule("trtllm-mha-tree", "error", _FH, modes.trtllm_mha_tree),
    Rule("trtllm-mla-speculation", "error", _F, modes.trtllm_mla),
    Rule("backend-without-draft", "error", _FH, modes.no_draft_backend),
    Rule("adaptive-steps", "error", _F, modes.adaptive_steps),
    Rule("pipeline-speculation", "error", _FE, modes.pipeline),
    Rule("attention-dp-speculation", "error", _F, modes.attention_dp),
    Rule("spec-v2-tree", "error", _ALL, modes.spec_v2_tree),
    Rule("decoupled-draft", "error", _F, modes.decoupled),
    Rule("deterministic-refused", "error", _FH, deterministic.refused),
    Rule("tree-made-chain", "warning", _F, modes.tree_made_chain),
    Rule("tree-pages-backend", "warning", _FH, modes.tree_pages_unknown_backend),
    Rule("adaptive-off", "warning", _F, modes.adaptive_falls_back),
    Rule("mixed-chunk-off", "warning", _F, modes.mixed_chunk),
    Rule("deterministic-unseeded", "warning", _F, deterministic.unseeded),
    Rule("spec-v2-variable", "warning", _E, modes.spec_v2),
    Rule("graphs-below-requests", "info", _F, modes.graphs_below_requests),
    Rule("running-requests-48", "info", _F, modes.running_requests),
    Rule("spec-v1", "info", _ALL, modes.spec_v1),
    # --- environment ---------------------------------------------------------------------------
    Rule("too-few-devices", "error", _FE, environment.few_devices),
    Rule("misspelt-variable", "warning", _E, environment.misspelt),
    Rule("variable-of-another-release", "warning", _E, environment.other_release),
    Rule("nccl-value", "warning", _E, environment.nccl_value),
    Rule("nccl-contradiction", "warning", _E, environment.nccl_contradiction),
    Rule("nccl-unused", "warning", _ALL, environment.nccl_unused),
    Rule("variable-overwritten", "warning", _FE, environment.overwritten),
    Rule("metrics-folder", "warning", _E, environment.metrics_folder),
    Rule("simulated-acceptance", "warning", _E, environment.simulated),
    Rule("custom-all-reduce-off", "warning", _FH, environment.custom_all_reduce_off),
    Rule("custom-all-reduce-pcie", "info", _FH, environment.custom_all_reduce_pcie),
    Rule("unknown-variable", "info", _E, environment.unknown),
    # --- serving -------------------------------------------------------------------------------
    Rule("bad-port", "error", _F, serving.bad_port),
    Rule("secret-visible", "warning", _F, serving.visible_key),
    Rule("metrics-off", "info", _F, serving.metrics_off),
    Rule("device-timer-off", "info", _FE, serving.timer_off),
    Rule("log-interval", "info", _F, serving.log_interval),
    # --- model and draft -----------------------------------------------------------------------
    Rule("plain-draft", "warning", _FH, models.plain_draft),
    Rule("model-unreadable", "error", _H, models.target_unreadable),
    Rule("draft-unreadable", "error", _H, models.draft_unreadable),
    Rule("context-too-long", "error", _ALL, models.context_too_long),
    Rule("draft-vocabulary", "error", _H, models.draft_vocabulary),
    Rule("draft-of-another-model", "error", _FH, models.draft_of_another),
    Rule("heads-not-shared", "error", _FH, models.heads_not_shared),
    Rule("draft-layers", "error", _FH, models.draft_layers),
    Rule("draft-context-refused", "error", _ALL, models.draft_context_refused),
    Rule("draft-tokenizer", "warning", _H, models.draft_tokenizer),
    Rule("draft-context", "warning", _ALL, models.draft_context),
    # --- host ----------------------------------------------------------------------------------
    Rule("sglang-missing", "error", _H, host.installation),
    Rule("port-taken", "error", _H, host.port_taken),
    Rule("too-few-gpus", "error", _FH, host.too_few_gpus),
    Rule("file-unreadable", "error", _H, host.file_unreadable),
    Rule("log-disk-full", "error", _H, host.log_full),
    Rule("gpu-memory-held", "warning", _H, host.memory_held),
    Rule("other-server-loading", "warning", _H, host.other_loading),
    Rule("help-unread", "warning", _H, host.help_unread),
    Rule("log-disk", "info", _H, host.log_nearly_full),
)
