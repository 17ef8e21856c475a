"""What is not there or cannot be read: packages, models, drafts, checkpoints."""

from __future__ import annotations

import re

from eagletui.engine.diagnosis import Context, Match, Refined, Signature


def _which_model(match: Match, context: Context) -> Refined:  # noqa: ARG001
    if not context.draft:
        return Refined()
    return Refined(
        code="draft-missing",
        title="The draft model cannot be found",
        advice="Check --speculative-draft-model-path: it must be a folder on the host or a name on "
        "the Hugging Face hub that the host can reach.",
    )


MISSING: tuple[Signature, ...] = (
    Signature(
        "thread-binding",
        ("SGLANG_CPU_OMP_THREADS_BIND",),
        re.compile(r"SGLANG_CPU_OMP_THREADS_BIND is not set"),
        "The ranks have no CPU threads assigned",
        'Set SGLANG_CPU_OMP_THREADS_BIND, one group of cores a rank, e.g. "0-31|32-63".',
        where="exception",
    ),
    Signature(
        "kernel-package-missing",
        ("No module named",),
        re.compile(r"(?:ModuleNotFoundError|ImportError): No module named '(?P<name>[^']+)'"),
        "The Python package {name} is missing",
        "Install it into the environment the server runs in, in the version this SGLang asks for.",
        where="exception",
    ),
    Signature(
        "kernel-package-missing",
        ("ImportError", "OSError"),
        re.compile(
            r"(?:ImportError|OSError): (?:.*cannot open shared object file"
            r"|.*undefined symbol|cannot import name (?P<name>\S+)).*"
        ),
        "A compiled package does not fit this environment",
        "Reinstall the kernel packages (sgl-kernel, flashinfer) in the version that fits this "
        "SGLang and this torch.",
        where="exception",
    ),
    Signature(
        "draft-missing",
        ("set_embed", "hot_token_id", "speculative_draft_model_path"),
        re.compile(
            r"(?:AttributeError|AssertionError|ValueError|TypeError).*"
            r"(?:set_embed|hot_token_id|speculative_draft_model_path)"
        ),
        "Speculation is on, but there is no fitting draft model",
        "Give --speculative-draft-model-path a draft made for this target.",
        where="exception",
    ),
    Signature(
        "checkpoint-unreadable",
        ("Cannot find the config file for",),
        re.compile(r"Cannot find the config file for (?P<name>\w+)"),
        "The draft is read as if it were quantised ({name}) like its target",
        "Say --speculative-draft-model-quantization unquant for a draft that is not quantised.",
        where="exception",
    ),
    Signature(
        "model-not-found",
        (
            "Repo id must be",
            "is not a local folder",
            "RepositoryNotFound",
            "config.json",
            "not a valid model identifier",
            "Can't load the configuration",
            "LocalEntryNotFound",
            "couldn't connect to",
            "Repository Not Found",
            "GatedRepo",
            "gated repo",
        ),
        re.compile(
            r"Repo id must be|is not a local folder|RepositoryNotFound|Repository Not Found"
            r"|not a valid model identifier|Can't load the configuration|LocalEntryNotFound"
            r"|couldn't connect to|[Gg]ated ?[Rr]epo"
            r"|(?:does not appear to have|No such file).*\bconfig\.json"
        ),
        "The model cannot be found",
        "Check --model-path: it must be a folder on the host or a name on the Hugging Face hub "
        "that the host can reach (and HF_TOKEN may read).",
        where="exception",
        refine=_which_model,
    ),
    Signature(
        "checkpoint-unreadable",
        (
            "Safetensor",
            "safetensors",
            "model weights",
            "HeaderTooLarge",
            "size mismatch",
            "PytorchStreamReader",
            "UnpicklingError",
            "InvalidHeader",
            "MetadataIncomplete",
            "JSONDecodeError",
        ),
        re.compile(
            r"SafetensorError|HeaderTooLarge|InvalidHeader|MetadataIncomplete|[Ss]ize mismatch"
            r"|Cannot find any model weights|PytorchStreamReader failed|UnpicklingError"
            r"|JSONDecodeError|(?:invalid|[Ee]rror while|corrupt).*safetensors"
        ),
        "A checkpoint file cannot be read",
        "It may be truncated or only a Git LFS pointer: download it again and compare its size.",
        where="exception",
    ),
)
