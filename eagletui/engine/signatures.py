"""What can go wrong with a server, as its log tells it: a table of signatures.

The table is read from top to bottom and the first row that matches a line wins, so the specific
stand above the general. A new cause is a new row.
"""

from __future__ import annotations

import re

from eagletui.engine.diagnosis import (
    Context,
    Finding,
    Match,
    Refined,
    Signature,
    Where,
    diagnosis,
)
from eagletui.engine.flags.table import renamed
from eagletui.model.near import nearest
from eagletui.model.phases import PhaseName

# --- rules that look closer --------------------------------------------------------------------


def _flag_advice(match: Match, context: Context) -> Refined:
    flag = (match["flag"] or "").partition("=")[0]
    row = renamed(flag)
    if row is not None:
        if row.now:
            return Refined(advice=f"Since {row.gone} it is {row.now}: use that instead.")
        return Refined(advice=f"Since {row.gone} {row.note}.")
    near = nearest(flag, sorted(context.flags), cutoff=0.6)
    if near:
        return Refined(advice=f"The nearest flag this release has is {near}.")
    return Refined()


def _which_model(match: Match, context: Context) -> Refined:  # noqa: ARG001
    if not context.draft:
        return Refined()
    return Refined(
        code="draft-missing",
        title="The draft model cannot be found",
        advice="Check --speculative-draft-model-path: it must be a folder on the host or a name on "
        "the Hugging Face hub that the host can reach.",
    )


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


_SIGNALS = {
    "-9": "SIGKILL", "-11": "SIGSEGV", "-6": "SIGABRT", "-7": "SIGBUS", "-4": "SIGILL",
    "-15": "SIGTERM", "-3": "SIGQUIT",
}  # fmt: skip


def _exit_code(match: Match, context: Context) -> Refined:  # noqa: ARG001
    groups = match.groupdict()
    name, code = groups.get("name") or "a worker", groups["code"]
    signal = _SIGNALS.get(code, "")
    how = f"signal {signal}" if signal else f"exit code {code}"
    if code in ("-9", "-15", "137", "143"):
        return Refined(
            code="child-killed",
            title=f"{name} was killed ({how})",
            advice="Somebody or the kernel's out-of-memory killer ended it: look at "
            "`dmesg -T | grep -i oom` and at who may kill processes here.",
        )
    if "detokenizer" in name:
        return Refined(code="detokenizer-crashed", title=f"The detokenizer crashed ({how})")
    return Refined(title=f"{name} crashed ({how})")


_HTTP_PORT = "Stop the process that holds it (ss -ltnp shows which), or choose another --port."

# --- the table ---------------------------------------------------------------------------------

SIGNATURES: tuple[Signature, ...] = (
    # the command line
    Signature(
        "bad-flag",
        ("unrecognized arguments", "ambiguous option"),
        re.compile(
            r": error: (?:unrecognized arguments: (?:[^-]\S* )*|ambiguous option: )(?P<flag>\S+)"
        ),
        "This release does not know the flag {flag}",
        "Take it out, or look for its new name in `sglang serve --help`.",
        refine=_flag_advice,
    ),
    Signature(
        "bad-flag",
        ("arguments are required",),
        re.compile(r": error: the following arguments are required: (?P<flag>.+)"),
        "The command line lacks {flag}",
        "Add it.",
    ),
    Signature(
        "bad-choice",
        (": error: argument",),
        re.compile(r": error: argument (?P<flag>[^:]+): (?P<what>.{1,200})"),
        "{flag} does not take this value",
        "{what}",
    ),
    Signature(
        "bad-choice",
        ("Unknown speculative algorithm",),
        re.compile(r"Unknown speculative algorithm(?: name)?:? (?P<name>\S+)"),
        "There is no speculative algorithm {name}",
        "Use EAGLE, EAGLE3, NEXTN, STANDALONE or NGRAM, or install the plug-in that brings it.",
    ),
    Signature(
        "bad-choice",
        ("selected index k out of range",),
        re.compile(r"selected index k out of range"),
        "The draft tree is smaller than the draft tokens asked for",
        "Keep --speculative-num-draft-tokens at most 1 + topk + (steps − 1) · topk².",
        where="exception",
    ),
    # what is not there
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
    # memory
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
    # communication
    Signature(
        "nccl-timeout",
        ("collective operation timeout",),
        re.compile(
            r"Watchdog caught collective operation timeout:.*?OpType=(?P<op>\w+).*?"
            r"Timeout\(ms\)=(?P<ms>\d+)"
        ),
        "A collective ({op}) did not finish within {ms} ms: a rank is stuck or gone",
        "Look at which rank has no later line; try NCCL_P2P_DISABLE=1 or NCCL_DEBUG=INFO, and "
        "raise --dist-timeout only if loading is known to take longer.",
    ),
    Signature(
        "nccl-timeout",
        ("collective operation timeout",),
        re.compile(r"Watchdog caught collective operation timeout"),
        "A collective did not finish in time: a rank is stuck or gone",
        "Look at which rank has no later line; try NCCL_P2P_DISABLE=1 or NCCL_DEBUG=INFO.",
    ),
    Signature(
        "nccl-error",
        ("NCCL error", "nccl", "DistBackendError"),
        re.compile(
            r"NCCL error|ncclSystemError|ncclUnhandledCudaError|ncclInternalError|ncclRemoteError"
            r"|ncclInvalidUsage|ncclInvalidArgument|DistBackendError"
        ),
        "NCCL failed",
        "Set NCCL_DEBUG=INFO and start again; check NCCL_* variables, /dev/shm and that the GPUs "
        "can reach each other.",
        where="exception",
    ),
    Signature(
        "nccl-error",
        ("NCCL error:",),
        re.compile(r"(?:^|\] )(?:RuntimeError: )?NCCL error: (?P<what>.{1,120})"),
        "NCCL failed: {what}",
        "Set NCCL_DEBUG=INFO and start again; check NCCL_* variables (files they name must fit the "
        "number of ranks), /dev/shm and that the GPUs can reach each other.",
        where="message",
    ),
    # what does not go together
    Signature(
        "backend-unsupported",
        ("backend", "Backend"),
        re.compile(
            r"(?:not supported|unsupported|[Nn]ot support|does not support|[Oo]nly support|requires"
            r"|[Ii]nvalid|must be|only available).{0,120}[Bb]ackend"
            r"|[Bb]ackend.{0,160}(?:not supported|unsupported|does not support|doesn't support"
            r"|only support|requires|is not available|must be)"
        ),
        "The chosen attention backend cannot do this",
        "Choose another --attention-backend (or --speculative-draft-attention-backend); for EAGLE "
        "with topk > 1 flashinfer, fa3 or triton.",
        where="exception",
    ),
    # ports
    Signature(
        "port-in-use",
        ("address already in use",),
        re.compile(
            r"bind on address \('(?P<host>[^']*)', (?P<port>\d+)[^)]*\): address already in"
        ),
        "Port {port} is taken by another process",
        _HTTP_PORT,
        where="message",
    ),
    Signature(
        "port-in-use",
        ("ddress already in use", "is used by a process already"),
        re.compile(r"[Aa]ddress already in use|is used by a process already"),
        "A port the server needs is taken by another process",
        "A server that was stopped may still be there: end what is left of it, or choose another "
        "port.",
        where="exception",
    ),
    Signature(
        "port-in-use",
        (" is in use. Waiting",),
        re.compile(r"[Pp]ort (?P<port>\d+) is in use\. Waiting"),
        "Port {port} is in use; the server waits for it",
        "A server that was stopped may still be there: end what is left of it.",
        where="message",
        severity="warning",
        ended=False,
    ),
    # while serving
    Signature(
        "watchdog",
        ("atchdog timeout (self.watchdog_timeout=",),
        re.compile(r"[Ww]atchdog timeout \(self\.watchdog_timeout=(?P<s>[\d.]+), self\.soft=True"),
        "A step took longer than the soft watchdog's {s} s",
        "The server goes on; look at what the ranks were doing in the stack dump above.",
        where="message",
        severity="warning",
        ended=False,
    ),
    Signature(
        "watchdog",
        ("atchdog timeout (self.watchdog_timeout=",),
        re.compile(r"[Ww]atchdog timeout \(self\.watchdog_timeout=(?P<s>[\d.]+)"),
        "The scheduler made no step for {s} s and its watchdog ended the server",
        "A rank hung, often in NCCL or a kernel that compiles: the stack dump above says where; "
        "raise --watchdog-timeout only if a step can really take that long.",
        where="message",
    ),
    Signature(
        "health-check-failed",
        ("Health check failed",),
        re.compile(r"Health check failed\. (?P<what>.{0,200})"),
        "The health check got no answer",
        "The server may be busy with a long prefill or stuck: see whether decode lines still come.",
        where="message",
        severity="error",
        ended=False,
    ),
    Signature(
        "kv-cache-full",
        ("Retract requests", "Decode out of memory happened"),
        re.compile(r"(?:KV cache pool is full|Decode out of memory happened)\."),
        "The KV cache was full and requests were put back into the queue",
        "Lower --max-running-requests or raise --mem-fraction-static; work is done twice "
        "otherwise.",
        where="message",
        severity="warning",
        ended=False,
    ),
    # the general ones: something else may say why
    Signature(
        "detokenizer-crashed",
        ("DetokenizerManager hit an exception",),
        re.compile(r"DetokenizerManager hit an exception"),
        "The detokenizer crashed",
        "The traceback after this line says where.",
        where="message",
        general=True,
    ),
    Signature(
        "scheduler-crashed",
        ("crashed with exit code", "unexpectedly failed with an exit code"),
        re.compile(r"Subprocess (?P<name>\S+) \(pid=\d+\) crashed with exit code (?P<code>-?\d+)"),
        "A worker crashed",
        "Look at the lines before it, and at `dmesg -T` for what the kernel says.",
        where="message",
        general=True,
        refine=_exit_code,
    ),
    Signature(
        "scheduler-crashed",
        ("unexpectedly failed with an exit code",),
        re.compile(r"Child process unexpectedly failed with an exit code (?P<code>-?\d+)"),
        "A worker crashed",
        "Look at the lines before it, and at `dmesg -T` for what the kernel says.",
        where="message",
        general=True,
        refine=_exit_code,
    ),
    Signature(
        "scheduler-crashed",
        ("scheduler died during initialization",),
        re.compile(
            r"(?P<name>Rank \d+ scheduler) died during initialization \(exit code: (?P<code>-?\d+)"
        ),
        "A scheduler died while the server started",
        "Look at the lines before it for the rank's own traceback.",
        general=True,
        refine=_exit_code,
    ),
    Signature(
        "scheduler-crashed",
        ("scheduler is dead",),
        re.compile(r"Rank (?P<rank>\d+) scheduler is dead"),
        "The scheduler of rank {rank} died while the server started",
        "Look at the lines before it for the rank's own traceback.",
        general=True,
    ),
    # Gloo's own words, in a scheduler of SGLang as in others (sglang#1127, pytorch#75512):
    # `[…/gloo/transport/tcp/pair.cc:534] Connection closed by peer [host]:port`, and where it reads
    # `…:589] Read error [host]:port: Connection reset by peer`. This rank is a survivor. Other
    # peers that close, a download's for example, say no `gloo`.
    Signature(
        "scheduler-crashed",
        ("closed by peer", "reset by peer"),
        re.compile(r"\bgloo/.{1,200}Connection (?:closed|reset) by peer"),
        "Another rank died first, and this one lost its connection to it",
        "This rank is not the cause. Look above this line for the other rank's traceback; if it "
        "has none it was killed: `dmesg -T | grep -i oom` on its host tells whether the kernel did "
        "it. With several nodes, look at the logs of the others.",
        where="exception",
        general=True,
    ),
    Signature(
        "scheduler-crashed",
        ("eceived sigquit from a child", "SIGQUIT received"),
        re.compile(r"eceived sigquit from a child process|SIGQUIT received"),
        "A worker failed and took the server with it",
        "Look at the lines before it for a traceback; `dmesg -T` tells of processes that the "
        "kernel killed.",
        where="message",
        general=True,
    ),
)

SCHEDULER_CRASHED = ("The scheduler crashed: {what}", "The traceback above this line says where.")
LAUNCH_FAILED = ("The server could not start: {what}", "The traceback above this line says where.")

_ROWS: dict[Where, tuple[Signature, ...]] = {
    "message": tuple(row for row in SIGNATURES if row.where != "exception"),
    "exception": tuple(row for row in SIGNATURES if row.where != "message"),
}


def find(text: str, where: Where, context: Context, *, line: int | None = None) -> Finding | None:
    """The first row of the table that this line matches."""
    for row in _ROWS[where]:
        for hint in row.hints:
            if hint in text:
                break
        else:
            continue
        if not row.ended and row.code in context.known:
            continue
        match = row.pattern.search(text)
        if match is None:
            continue
        refined = row.refine(match, context) if row.refine is not None else Refined()
        words = {name: value or "" for name, value in match.groupdict().items()}
        verdict = diagnosis(
            refined.code or row.code,
            refined.severity or row.severity,
            refined.title or row.title.format_map(words),
            line=line,
            evidence=text,
            advice=refined.advice or row.advice.format_map(words),
        )
        return Finding(verdict, row.ended, row.general)
    return None
