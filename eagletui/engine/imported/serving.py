"""`python -m sglang.bench_serving`'s lines: one a cell, several of one setting are one run.

Fields as 0.4.6 to 0.5.23 write them (`sglang/benchmark/serving.py`, before `bench_serving.py`);
`input_lens`, `output_lens`, `ttfts`, `itls` and `errors` only with `--output-details`. Its
`accept_length` is the server's average since it started or was flushed, not the cell's.
`eagletui bench --export` writes the same fields and some of its own: then it is the cell's.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from eagletui.engine.imported.problem import IMPOSSIBLE, ImportProblem
from eagletui.engine.imported.server import surroundings_of
from eagletui.model.plausible import ASCENDING, SERVING_LATENCIES, faults
from eagletui.model.run import Cell, Run, Sent, StepTimes, Summary, Surroundings, Workload
from eagletui.model.safe import safe
from eagletui.model.statistics import distribution

LIFETIME = "The accept length is the server's average since its start, not this cell's own."

# Our names of a latency's figures → theirs.
_FIGURES = {"mean": "mean", "p50": "median", "p90": "p90", "p99": "p99"}
_ENDPOINTS = {
    "sglang": "/generate",
    "sglang-native": "/generate",
    "sglang-oai": "/v1/completions",
    "sglang-oai-chat": "/v1/chat/completions",
    "vllm": "/v1/completions",
    "vllm-chat": "/v1/chat/completions",
    "lmdeploy": "/v1/completions",
    "lmdeploy-chat": "/v1/chat/completions",
}


# With --output-details: one of each for a request, in one order.
_COLUMNS = ("input_lens", "output_lens", "ttfts", "itls", "errors")
_TOGETHER = (_COLUMNS, *ASCENDING["bench_serving"])
"""Of which one that is wrong takes the others with it."""


class _Line(msgspec.Struct):
    duration: float
    completed: int
    total_output_tokens: int
    output_throughput: float
    backend: str = ""
    dataset_name: str = ""
    tag: str | None = None
    request_rate: float | str | None = None
    max_concurrency: int | None = None
    concurrency: float | None = None
    accept_length: float | None = None
    random_output_len: int | None = None
    random_input_len: int | None = None
    server_info: Any = None
    input_lens: list[int] | None = None
    output_lens: list[int] | None = None
    ttfts: list[float] | None = None
    itls: list[list[float]] | None = None
    errors: list[str] | None = None
    # Ours.
    accept_histogram: list[int] | None = None
    prompts_digest: str = ""
    verify_ms: float | None = None
    draft_ms: float | None = None
    draft_extend_ms: float | None = None
    step_ms: float | None = None
    step_source: str | None = None


def is_serving(row: object) -> bool:
    """Whether a decoded line is one of these."""
    return isinstance(row, dict) and "output_throughput" in row and "duration" in row


def runs_of_serving(
    rows: Iterable[tuple[int, Any]], *, seed: str, name: str, source: str
) -> tuple[Run, ...]:
    """The runs of a file: lines of one tag, server and workload make one; again, a repeat.

    Args:
        rows: decoded lines with their numbers.
        seed: what their ids are made from.

    Raises:
        ImportProblem: a line is something else.
    """
    groups: dict[str, tuple[_Line, Surroundings, list[Cell]]] = {}
    for number, row in rows:
        try:
            line = msgspec.convert(row, _Line, strict=False)
        except (msgspec.ValidationError, RecursionError) as error:
            raise ImportProblem(
                f"this is no line of bench_serving: {safe(str(error))}.", line=number
            ) from error
        told = _plausible(line, row, number)
        line = told.line
        surroundings = surroundings_of(line.server_info) or Surroundings()
        cells = groups.setdefault(_key(line, surroundings), (line, surroundings, []))[2]
        cells.append(_cell(told, cells))
    return tuple(
        _run(
            line,
            surroundings,
            cells,
            run=hashlib.sha256(f"{seed}/{index}".encode()).hexdigest()[:12],
            name=name if len(groups) == 1 else f"{name}-{index + 1}",
            source=source,
        )
        for index, (line, surroundings, cells) in enumerate(groups.values())
    )


def _key(line: _Line, surroundings: Surroundings) -> str:
    # The server's own arguments hold what drifts while it runs, such as its last throughput.
    return repr(
        (
            line.tag,
            line.backend,
            line.dataset_name,
            line.prompts_digest,
            line.request_rate,
            line.random_input_len,
            line.random_output_len,
            surroundings.model,
            surroundings.speculative,
            surroundings.versions,
            surroundings.tensor_parallel,
        )
    )


def _run(
    line: _Line,
    surroundings: Surroundings,
    cells: list[Cell],
    *,
    run: str,
    name: str,
    source: str,
) -> Run:
    rate = _number(line.request_rate)
    random = line.dataset_name.startswith("random")
    return Run(
        id=run,
        name=safe(line.tag) if line.tag else name,
        via="import",
        workload=Workload(
            prompts=safe(line.dataset_name),
            digest=safe(line.prompts_digest),
            endpoint=_ENDPOINTS.get(line.backend, ""),
            output_tokens=line.random_output_len if random else None,
            input_tokens=line.random_input_len if random else None,
            rate=rate,
            requests=max(cell.summary.completed for cell in cells if cell.summary),
            repeats=max(cell.repeat for cell in cells) + 1,
        ),
        surroundings=surroundings,
        cells=tuple(cells),
        source=source,
    )


class _Told(NamedTuple):
    """What of a line can be.

    Attributes:
        latencies: milliseconds, by their names in it.
        left_out: what else it says, a sentence each.
    """

    line: _Line
    latencies: dict[str, float]
    left_out: tuple[str, ...]


def _plausible(line: _Line, row: dict[str, Any], number: int) -> _Told:
    """A line without the figures that cannot be.

    Raises:
        ImportProblem: what a speed is made of is among them.
    """
    latencies = {
        name: value for name in SERVING_LATENCIES if (value := _number(row.get(name))) is not None
    }
    # 0 is how it is written that there is none, `inf` that there is no limit.
    besides = {
        "accept_length": line.accept_length or None,
        "request_rate": _number(line.request_rate),
    }
    found = list(faults("bench_serving", {**asdict(line), **latencies, **besides}))
    for fault in found:
        if fault.needed:
            raise ImportProblem(f"{fault.words}.", line=number, advice=IMPOSSIBLE)
    left_out = [f"{fault.words}: {_with_it(fault.name)} left out." for fault in found]
    wrong = {fault.name for fault in found}
    lengths = {name: len(held) for name in _COLUMNS if (held := getattr(line, name)) is not None}
    if len(set(lengths.values())) > 1:
        left_out.append(f"{', '.join(lengths)} are of unlike lengths: they are left out.")
        wrong.update(lengths)
    elif lengths and line.completed > (asked := max(lengths.values())):
        raise ImportProblem(
            f"completed is {line.completed}, of {asked} requests in {next(iter(lengths))}.",
            line=number,
            advice=IMPOSSIBLE,
        )
    for together in _TOGETHER:
        wrong.update(together if wrong & set(together) else ())
    fields = {name: None for name in wrong if name in line.__struct_fields__}
    return _Told(
        line=replace(line, **fields),
        latencies={name: value for name, value in latencies.items() if name not in wrong},
        left_out=tuple(left_out),
    )


def _with_it(name: str) -> str:
    """What goes with a figure: of percentiles out of order nobody knows which one is wrong."""
    if name in _COLUMNS:
        return "the figures of each request are"
    return "its percentiles are" if any(name in names for names in _TOGETHER) else "it is"


def _cell(told: _Told, before: Sequence[Cell]) -> Cell:
    line = told.line
    concurrency = line.max_concurrency or max(1, round(line.concurrency or 1.0))
    accept = _number(line.accept_length)
    requests = _requests(line)
    return Cell(
        concurrency=concurrency,
        repeat=sum(cell.concurrency == concurrency for cell in before),
        seconds=line.duration,
        requests=requests,
        itl_ms=distribution(
            1000.0 * gap for gaps in line.itls or () for gap in gaps if math.isfinite(gap)
        ),
        steps=StepTimes(
            source=None if line.step_source is None else safe(line.step_source),
            step=_number(line.step_ms),
            verify=_number(line.verify_ms),
            draft=_number(line.draft_ms),
            draft_extend=_number(line.draft_extend_ms),
        ),
        warnings=(
            *((LIFETIME,) if accept and line.accept_histogram is None else ()),
            *told.left_out,
        ),
        summary=Summary(
            completed=line.completed,
            output_tokens=line.total_output_tokens,
            tok_s=_number(line.output_throughput),
            accept_length=accept or None,
            ttft_ms=_figures(told.latencies, "ttft"),
            tpot_ms=_figures(told.latencies, "tpot"),
            latency_ms=_figures(told.latencies, "e2e_latency"),
        ),
    )


def _requests(line: _Line) -> tuple[Sent, ...]:
    """Each request, where its columns are there: they are of one length, or were left out."""
    if line.output_lens is None or line.ttfts is None or line.itls is None:
        return ()
    inputs: Sequence[int | None] = line.input_lens or [None] * len(line.output_lens)
    errors = line.errors or [""] * len(line.output_lens)
    return tuple(
        Sent(began=0.0, prompt_tokens=prompt, error=safe(error)[:200] or "no tokens")
        if error or tokens < 1
        else Sent(
            began=0.0,
            ttft=ttft,
            latency=ttft + math.fsum(gaps),
            prompt_tokens=prompt,
            output_tokens=tokens,
        )
        for prompt, tokens, ttft, gaps, error in zip(
            inputs, line.output_lens, line.ttfts, line.itls, errors, strict=True
        )
    )


def _figures(latencies: dict[str, float], latency: str) -> dict[str, float]:
    named = {ours: f"{theirs}_{latency}_ms" for ours, theirs in _FIGURES.items()}
    return {ours: latencies[name] for ours, name in named.items() if name in latencies}


def _number(value: object) -> float | None:
    """A finite number, also one that was written as a text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
