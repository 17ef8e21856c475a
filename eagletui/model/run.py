"""A run: one measurement of one launch, with everything needed to repeat and to judge it.

A run is a list of *cells*; a cell is one concurrency in one repeat. A cell keeps each request's
own result, so that means, quantiles and their intervals can be computed again by whoever doubts
them. Times are seconds, latencies of a step milliseconds, as SGLang's own documents give them.
"""

from __future__ import annotations

from typing import Literal

from eagletui.model.base import Data
from eagletui.model.profile import FlagValue
from eagletui.model.speculative import Speculative

Via = Literal["client", "host", "import"]
"""Where requests were sent from: the user's machine through SSH, the host itself, elsewhere."""

StopReason = Literal[
    "", "cancelled", "looped", "restarted", "other-traffic", "kv-full", "throttled", "failed"
]
"""Why a cell ended before its last request; "" for one that is whole."""


STOPPED = "stopped"
"""The error of a request that was under way when its cell ended early."""


class Sent(Data, frozen=True, gc=False):
    """One request of a cell and what came back.

    Attributes:
        began: seconds from the cell's start.
        ttft: seconds to the first token; None where nothing came or it was not streamed.
        latency: seconds to the last token; None where the request failed before it.
        prompt_tokens: as the server counts them; None where it does not say.
        output_tokens: as the server counts them, never the number of chunks.
        verify_steps: how many times the target verified; None without speculation.
        accepted: steps by how many draft tokens they accepted, from 0 to k; () where unknown.
        distinct_bigrams: distinct pairs of tokens or words over all pairs, 0 to 1; None unknown.
        error: what went wrong, in a few words; "" for a request that was served.
    """

    began: float
    ttft: float | None = None
    latency: float | None = None
    prompt_tokens: int | None = None
    output_tokens: int = 0
    verify_steps: int | None = None
    accepted: tuple[int, ...] = ()
    distinct_bigrams: float | None = None
    error: str = ""

    @property
    def tpot(self) -> float | None:
        """Seconds per output token after the first; None for fewer than two tokens."""
        if self.ttft is None or self.latency is None or self.output_tokens < 2:
            return None
        return (self.latency - self.ttft) / (self.output_tokens - 1)


class Quantiles(Data, frozen=True):
    """A latency's distribution, in milliseconds."""

    mean: float
    p50: float
    p90: float
    p99: float


class StepTimes(Data, frozen=True):
    """What one draft–verify cycle took over a cell's window, in milliseconds; None for unknown.

    Attributes:
        source: where it is from (`device timer`, `decode_moments`, …), as the charts name it.
        verify: only where a timer measured it; what is derived is a step.
    """

    source: str | None = None
    step: float | None = None
    verify: float | None = None
    draft: float | None = None
    draft_extend: float | None = None


class Summary(Data, frozen=True):
    """What another program measured of a cell and kept no requests of; None for what it left out.

    Attributes:
        tok_s: output tokens a second in total.
        ttft_ms, tpot_ms, latency_ms: `mean`, `p50`, `p90`, `p99`, as far as they were written.
    """

    completed: int = 0
    output_tokens: int = 0
    tok_s: float | None = None
    accept_length: float | None = None
    ttft_ms: dict[str, float] = {}
    tpot_ms: dict[str, float] = {}
    latency_ms: dict[str, float] = {}


class Cell(Data, frozen=True):
    """One concurrency in one repeat.

    Attributes:
        seconds: from the first request's start to the last one's end.
        requests: in the order they were sent, failed ones included; warm-up is not among them.
        itl_ms: gaps between chunks over all requests, for each token of a chunk.
        steps: over the same window, from the server's metrics.
        server_tokens: how far the server's own counter of generated tokens moved; None unknown.
        accept_length: tokens a verify step over the window, from the server's counters; for
            requests that do not tell theirs. None unknown, or nothing was verified.
        power_watts: mean over the window of all GPUs of the server together; None unknown.
        stopped: why it ended early.
        doubt: what would have ended it early, and was seen only when all its requests were over.
        why: either of them in words, with the evidence; "" where there is neither.
        warnings: what does not end a cell but must be known to judge it.
        summary: only of an import; what its requests say goes first.
    """

    concurrency: int
    repeat: int = 0
    seconds: float = 0.0
    requests: tuple[Sent, ...] = ()
    itl_ms: Quantiles | None = None
    steps: StepTimes = StepTimes()
    server_tokens: int | None = None
    accept_length: float | None = None
    power_watts: float | None = None
    stopped: StopReason = ""
    doubt: StopReason = ""
    why: str = ""
    warnings: tuple[str, ...] = ()
    summary: Summary | None = None


class Workload(Data, frozen=True):
    """What was asked of the server. Two runs are alike only where these are equal.

    Attributes:
        prompts: the set's name (`chat`, `code`, `maths`, `summary`) or the file's.
        digest: SHA-256 of the prompts as sent and in order, hexadecimal; "" unknown.
        endpoint: `/v1/chat/completions`, `/v1/completions` or `/generate`.
        output_tokens: how many were asked for each request; None for until the end.
        input_tokens: exact length of each prompt where one was asked for.
        rate: requests a second; None for a closed loop.
    """

    prompts: str = ""
    digest: str = ""
    endpoint: str = ""
    output_tokens: int | None = None
    input_tokens: int | None = None
    temperature: float | None = None
    rate: float | None = None
    requests: int | None = None
    warmup: int | None = None
    repeats: int = 1
    seed: int | None = None
    ignore_eos: bool = False


class Surroundings(Data, frozen=True):
    """What the server is and runs on; None or empty for what nothing said.

    Attributes:
        profile: name of the profile it was started with.
        argv: its command line, masked.
        arguments: the resolved arguments (`server_args`), masked.
        environment: `NCCL_*`, `SGLANG_*`, `CUDA_*`, masked.
        versions: `sglang`, `torch`, `cuda`, `driver`, `nccl`, as far as they are known.
        gpus: names, one for each GPU of the server.
        topology: `NVLink`, `PCIe`, … as the host says it.
        load_seconds: how long this launch took to be ready.
        memory_bytes: used on all its GPUs together.
    """

    host: str = ""
    model: str = ""
    profile: str = ""
    argv: tuple[str, ...] = ()
    arguments: dict[str, FlagValue | None] = {}
    speculative: Speculative = Speculative()
    environment: dict[str, str] = {}
    versions: dict[str, str] = {}
    gpus: tuple[str, ...] = ()
    topology: str = ""
    tensor_parallel: int | None = None
    load_seconds: float | None = None
    memory_bytes: int | None = None


class Run(Data, frozen=True):
    """One measurement of one launch.

    Attributes:
        id: twelve letters and digits, unique everywhere.
        began: seconds since 1970, on the machine that measured.
        via: where the requests were sent from.
        round_trip_ms: from there to the server; None unknown.
        partial: whether it was cancelled or ended early.
        source: the file it was imported from; "" for one measured here.
    """

    id: str
    name: str = ""
    began: float = 0.0
    ended: float | None = None
    via: Via = "client"
    round_trip_ms: float | None = None
    workload: Workload = Workload()
    surroundings: Surroundings = Surroundings()
    cells: tuple[Cell, ...] = ()
    partial: bool = False
    notes: str = ""
    tags: tuple[str, ...] = ()
    source: str = ""
