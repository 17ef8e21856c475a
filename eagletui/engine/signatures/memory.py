"""Memory that ran out, by what was being done."""

from __future__ import annotations

import re

from eagletui.engine.diagnosis import Context, Match, Refined, Signature
from eagletui.model.phases import PhaseName

_OUT_OF_MEMORY: dict[str, tuple[str, str, str]] = {
    "weights": (
        "out-of-memory-weights",
        "The weights do not fit into memory",
        "Use more GPUs (--tp-size), a quantised model, or free the GPUs of other processes; "
        "a draft is loaded beside the target.",
    ),
    "kv cache": (
        "out-of-memory-kv",
        "No memory is left for the KV cache",
        "Raise --mem-fraction-static, or use more GPUs; draft weights count since June 2026.",
    ),
    "graphs": (
        "out-of-memory-graphs",
        "Memory ran out while graphs were captured",
        "Lower --mem-fraction-static (e.g. by 0.05), or capture fewer batch sizes with "
        "--cuda-graph-max-bs-decode (--cuda-graph-max-bs up to 0.5.19).",
    ),
    "serving": (
        "out-of-memory-serving",
        "Memory ran out while serving",
        "Lower --mem-fraction-static, --chunked-prefill-size or --max-running-requests.",
    ),
}
_MEMORY_PHASES: dict[PhaseName | None, str] = {
    None: "weights",
    "arguments": "weights",
    "distributed init": "weights",
    "weights": "weights",
    "kv cache": "kv cache",
    "prefill graphs": "graphs",
    "graphs": "graphs",
    "extend graphs": "graphs",
    "warm-up": "serving",
    "ready": "serving",
}


def _memory(match: Match, context: Context) -> Refined:  # noqa: ARG001
    kind = "serving" if context.ready else _MEMORY_PHASES[context.phase]
    return Refined(*_OUT_OF_MEMORY[kind])


def _minimum(match: Match, context: Context) -> Refined:  # noqa: ARG001
    least = re.search(r"above ([\d.]*\d)|--mem-fraction-static[= ]+to ([\d.]*\d)", match.string)
    code, title, advice = _OUT_OF_MEMORY["kv cache"]
    if least is None:
        return Refined(code, title, advice)
    value = least[1] or least[2]
    return Refined(
        code,
        f"{title}: --mem-fraction-static must be above {value}",
        f"Set --mem-fraction-static above {value}, the least the server says it can live with, or "
        "use more GPUs.",
    )


MEMORY: tuple[Signature, ...] = (
    Signature(
        "out-of-memory-kv",
        ("leave no GPU memory for the KV cache", "Not enough memory"),
        re.compile(r"leave no GPU memory for the KV cache|Not enough memory[.;,]? .*mem-fraction"),
        "",
        "",
        refine=_minimum,
    ),
    Signature(
        "out-of-memory-graphs",
        ("Capture cuda graph failed", "graph failed"),
        re.compile(r"(?i)capture (?:\S+ )*graph failed(?=.*(?:memory|alloc))"),
        _OUT_OF_MEMORY["graphs"][1],
        _OUT_OF_MEMORY["graphs"][2],
    ),
    Signature(
        "gpu-occupied",
        ("capacity is unbalanced",),
        re.compile(r"memory capacity is unbalanced"),
        "The GPUs have different amounts of free memory: another process holds some of it",
        "Look at nvidia-smi for processes left over from an earlier start and end them.",
        where="exception",
    ),
    Signature(
        "out-of-memory-serving",
        ("refill out of memory", "ecode out of memory. "),
        re.compile(r"(?:Prefill|Decode) out of memory\. Try"),
        _OUT_OF_MEMORY["serving"][1],
        _OUT_OF_MEMORY["serving"][2],
    ),
    Signature(
        "out-of-memory-weights",
        ("out of memory", "OutOfMemory", "calloc", "not enough memory"),
        re.compile(
            r"(?:CUDA|HIP|NPU|XPU)(?: error)?:? out of memory|OutOfMemoryError"
            r"|Failed to CUDA calloc|not enough memory: you tried to allocate"
            r"|cudaErrorMemoryAllocation"
        ),
        "",
        "",
        where="exception",
        refine=_memory,
    ),
)
