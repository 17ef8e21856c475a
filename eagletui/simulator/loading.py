"""What a server writes from its first line to ready, as a script of waits and texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from eagletui.simulator.bars import batch_bar, shard_bar
from eagletui.simulator.flags import Flags
from eagletui.simulator.releases import Release, arguments
from eagletui.simulator.scenarios import ServerPlan

SITE = "/opt/venv/lib/python3.12/site-packages"
_DRAWINGS = 400
_DTYPE = "torch.bfloat16"


class Wait(NamedTuple):
    """Nothing is written for this long, seconds at speed 1. `busy`: what the GPUs do, 0 to 1."""

    seconds: float
    busy: float = 0.0


class Line(NamedTuple):
    """A log record of one rank; "" is the main process."""

    message: str
    rank: str = ""


class Raw(NamedTuple):
    """Text as it is: bars, warnings, tracebacks."""

    text: str


class Memory(NamedTuple):
    """GB in use on each GPU from here on."""

    used: float


class Workers(NamedTuple):
    """The scheduler and detokenizer processes are started now."""


class Crash(NamedTuple):
    """This rank's scheduler dies; the server goes with it."""

    rank: str
    message: str


class Stall(NamedTuple):
    """Nothing comes any more."""


Act = Wait | Line | Raw | Memory | Workers | Crash | Stall


class Loader:
    """The script of one load.

    Args:
        gpu_gb: memory of one GPU.
        speed: divides every length, also those that the log itself tells.
    """

    def __init__(
        self, plan: ServerPlan, flags: Flags, release: Release, *, gpu_gb: float, speed: float
    ) -> None:
        self.plan = plan
        self.flags = flags
        self.release = release
        self.speed = speed
        self.total = gpu_gb
        self.used = 0.3
        self.took: dict[str, float] = {}
        self.ranks = [f"TP{n}" for n in range(flags.tp_size)] if flags.tp_size > 1 else [""]
        self.first = self.ranks[0]

    @property
    def avail(self) -> float:
        """Free memory of one GPU, GB."""
        return max(0.05, self.total - self.used)

    def script(self) -> Iterator[Act]:
        """Everything up to the moment the HTTP port is bound."""
        loading, release = self.plan.loading, self.release
        yield from self._arguments()
        yield Wait(loading.imports * 0.6)
        yield from self._distributed()
        yield from self._weights("target")
        drafts = self.flags.speculates
        if release.draft_after_target:
            yield from self._pool("target")
            yield from self._graphs("verify" if drafts else "decode")
        if drafts:
            yield from self._each(*release.draft_init)
            yield from self._weights("draft")
        if not release.draft_after_target:
            yield from self._pool("target")
        if drafts:
            yield from self._pool("draft")
        if not release.draft_after_target:
            yield from self._each(*filter(None, (release.no_prefill_graph,)))
            yield from self._graphs("verify" if drafts else "decode")
        if drafts:
            if self.flags.steps > 1:
                yield from self._graphs("draft")
            yield from self._graphs("extend")
        yield from self._summary()

    # --- phases --------------------------------------------------------------------------------

    def _arguments(self) -> Iterator[Act]:
        release, loading = self.release, self.plan.loading
        for warning in release.warnings:
            yield Raw(warning.format(site=SITE) + "\n")
        if self.flags.adjusted:
            yield Line(
                "speculative_num_draft_tokens is adjusted to speculative_num_steps + 1 when "
                "speculative_eagle_topk == 1"
            )
        if self.flags.speculates and self.flags.max_running_requests is None:
            yield Line(
                "Max running requests is reset to 48 for speculative decoding. You can override "
                "this by explicitly setting --max-running-requests."
            )
        yield Wait(loading.imports * 0.3)
        yield Line(arguments(release, self.flags.as_server_args()))
        yield Wait(loading.imports * 0.1)
        yield Line("Using default HuggingFace chat template with detected content format: string")
        yield Workers()

    def _distributed(self) -> Iterator[Act]:
        release, seconds = self.release, self.plan.loading.distributed
        yield from self._each(release.init_begin)
        yield Wait(seconds)
        if self.flags.tp_size > 2 and self.plan.machine.nccl:
            yield from self._each(
                "Custom allreduce is disabled because it's not supported on more than two "
                "PCIe-only GPUs. To silence this warning, specify disable_custom_all_reduce=True "
                "explicitly."
            )
        used = self.plan.loading.cuda_gb
        self.used += used
        yield Memory(self.used)
        for message in release.init_end:
            yield from self._each(message.format(elapsed=seconds / self.speed, used=used))

    def _weights(self, role: str) -> Iterator[Act]:
        loading, release = self.plan.loading, self.release
        target = role == "target"
        seconds = loading.weights if target else loading.draft_weights
        shards = loading.shards if target else loading.draft_shards
        gb = loading.weights_gb if target else loading.draft_gb
        yield from self._each(release.load_begin.format(avail=self.avail))
        stop = self.plan.fate_at if self.plan.fate == "stalls" and target else None
        before = self.used
        for done in range(shards + 1):
            elapsed = self._shard_time(seconds, done, shards) / self.speed
            bar = shard_bar(release.shards_label, done, shards, elapsed)
            yield Raw(f"\r{bar}{release.shards_end}")
            self.used = before + gb * done / shards
            yield Memory(self.used)
            if stop is not None and done >= stop * shards:
                yield Stall()
            if done < shards:
                ahead = self._shard_time(seconds, done + 1, shards)
                yield Wait(ahead - elapsed * self.speed, busy=0.04)
        yield Raw("\n")
        self.took[f"weights/{role}"] = seconds / self.speed
        for number, rank in enumerate(self.ranks):
            late = seconds * 0.004 * number
            yield Line(
                release.load_end.format(
                    elapsed=(seconds + late) / self.speed,
                    type=loading.target_type if target else loading.draft_type,
                    dtype=_DTYPE,
                    avail=self.avail,
                    used=gb,
                ),
                rank,
            )
            yield Wait(seconds * 0.004)

    @staticmethod
    def _shard_time(seconds: float, done: int, shards: int) -> float:
        """Shards are not equal: every fifth takes longer, the whole takes `seconds`."""
        weights = [1.6 if number % 5 == 4 else 0.85 for number in range(shards)]
        return seconds * sum(weights[:done]) / sum(weights)

    def _pool(self, role: str) -> Iterator[Act]:
        loading, release = self.plan.loading, self.release
        gb = loading.kv_gb if role == "target" else loading.draft_kv_gb
        yield Wait(loading.kv / 2, busy=0.02)
        self.took["kv"] = loading.kv / self.speed
        self.used += gb
        yield Memory(self.used)
        mla = loading.mla and role == "target"
        template = release.kv_cache_mla if mla else release.kv_cache
        yield from self._each(
            template.format(
                dtype=_DTYPE,
                tokens=loading.kv_tokens,
                k=gb if mla else gb / 2,
                v=gb / 2,
            ),
            release.pool_end.format(avail=self.avail),
        )

    def _graphs(self, kind: str) -> Iterator[Act]:
        release, loading = self.release, self.plan.loading
        name = release.capture_names.get(kind)
        if name is None or self.flags.disable_cuda_graph or self.flags.device != "cuda":
            return
        lengths = {"draft": loading.draft, "extend": loading.extend}
        seconds = lengths.get(kind, loading.verify)
        widths = {"draft": self.flags.topk or 1, "decode": 1}
        sizes = capture_sizes(self.flags.cuda_graph_max_bs, loading.batches)
        values = {
            "what": name,
            "width": widths.get(kind, self.flags.draft_tokens),
            "bs": list(sizes),
            "avail": self.avail,
        }
        of_target = kind in ("verify", "decode")
        begins = (of_target and release.target_capture_begin) or release.capture_begin
        for begin in begins:
            yield from self._each(begin.format(**values))
        gb = loading.graphs_gb * (0.8 if of_target else 0.1)
        yield from self._batches(sizes, seconds, gb)
        self.took[kind] = seconds / self.speed
        end = (of_target and release.target_capture_end) or release.capture_end
        values |= {"elapsed": seconds / self.speed, "used": gb, "avail": self.avail}
        yield from self._each(end.format(**values))

    def _batches(self, sizes: tuple[int, ...], seconds: float, gb: float) -> Iterator[Act]:
        release, total, before = self.release, len(sizes), self.used
        yield Raw("\r" + batch_bar("", 0, total, 0.0))
        for done, size in enumerate(reversed(sizes)):
            label = release.capture_label.format(bs=size, avail=self.avail)
            elapsed = self._batch_time(seconds, done, total)
            yield Raw("\r" + batch_bar(label, done, total, elapsed / self.speed))
            if self.plan.fate == "out of memory" and done >= total * 0.4:
                yield Crash(self.ranks[-1], out_of_memory(self.flags, release, self.total))
            ahead = self._batch_time(seconds, done + 1, total)
            yield Wait(ahead - elapsed, busy=0.35)
            self.used = before + gb * (done + 1) / total
            yield Memory(self.used)
            yield Raw("\r" + batch_bar(label, done + 1, total, ahead / self.speed))
        yield Raw("\n")

    @staticmethod
    def _batch_time(seconds: float, done: int, total: int) -> float:
        """The first batch compiles kernels and takes a fifth of it all."""
        return seconds * (0.2 + 0.8 * (done - 1) / max(1, total - 1)) if done else 0.0

    def _summary(self) -> Iterator[Act]:
        release, loading, flags = self.release, self.plan.loading, self.flags
        yield Line(
            release.summary.format(
                tokens=loading.kv_tokens,
                chunk=flags.chunked_prefill_size,
                running=flags.running_limit,
                device="cpu" if flags.device == "cpu" else "gpu",
                context=flags.context_length or loading.context,
                avail=self.avail,
            ),
            self.first,
        )
        yield from self._each(*release.tree_cache)
        if release.startup_timings:
            took = self.took
            yield Line(
                release.startup_timings.format(
                    load=took.get("weights/target", 0.0) + took.get("weights/draft", 0.0),
                    kv=took.get("kv", 0.0),
                    scheduler=sum(took.values()),
                    decode=took.get("decode", 0.0),
                    verify=took.get("verify", 0.0),
                    draft=took.get("draft", 0.0),
                    extend=took.get("extend", 0.0),
                    tokenizer=sum(took.values()) + loading.imports / self.speed,
                )
            )

    def _each(self, *messages: str) -> Iterator[Act]:
        for rank in self.ranks:
            for message in messages:
                yield Line(message, rank)


def capture_sizes(largest: int | None, batches: int) -> tuple[int, ...]:
    """The batch sizes that get a graph: 1 to 8 singly, then by 8."""
    sizes = [*range(1, 9), *range(16, 16 + 8 * 512, 8)]
    if largest is not None:
        return tuple(size for size in sizes if size <= largest)
    return tuple(sizes[:batches])


_TRACEBACK = """Scheduler hit an exception: Traceback (most recent call last):
  File "{site}/sglang/srt/model_executor/runner/decode_cuda_graph_runner.py", line 600, in __init__
    self.capture()
  File "{site}/sglang/srt/model_executor/runner/decode_cuda_graph_runner.py", line 1372, in capture
    ) = self.capture_one_batch_size(bs, forward)
torch.OutOfMemoryError: {cause}

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "{site}/sglang/srt/managers/scheduler.py", line 4012, in run_scheduler_process
    scheduler = Scheduler(server_args, port_args)
  File "{site}/sglang/srt/managers/scheduler.py", line 424, in __init__
    self.init_model_worker()
Exception: Capture cuda graph failed: {cause}
Possible solutions:
1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)
2. set {flag} to a smaller value (e.g., 16)
3. disable decode CUDA graph by --cuda-graph-backend-decode=disabled. (Not recommended. Huge \
performance loss)
Open an issue on GitHub https://github.com/sgl-project/sglang/issues/new/choose{space}
"""
_CAUSE = (
    "CUDA out of memory. Tried to allocate 1.17 GiB. GPU {gpu} has a total capacity of "
    "{total:.2f} GiB of which 512.88 MiB is free. Including non-PyTorch memory, this process has "
    "{used:.2f} GiB memory in use. Of the allocated memory {torch:.2f} GiB is allocated by "
    "PyTorch, with 1.10 GiB allocated in private pools (e.g., CUDA Graphs), and 1.03 GiB is "
    "reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation "
    "for Memory Management  "
    "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
)


def out_of_memory(flags: Flags, release: Release, total: float) -> str:
    """The words of a scheduler whose GPU is full while it captures graphs."""
    cause = _CAUSE.format(
        gpu=flags.tp_size - 1, total=total, used=total - 0.5, torch=max(0.1, total - 3.6)
    )
    return _TRACEBACK.format(site=SITE, cause=cause, flag=release.capture_failed_flag, space=" ")
