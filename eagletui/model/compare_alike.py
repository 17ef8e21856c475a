"""How runs differ, and which differences keep them from being measured against each other.

Three kinds stand in the way. Another *question* (prompts, lengths, temperature, rate, model): the
figures answer different things. Another *NCCL environment*: a speed-up over a baseline measured
under another one is not claimed, whatever else is alike. Another *ground* (release, GPUs,
parallelism): it may well be what is compared, but not together with another speculative setting,
because a speed-up could be either's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from eagletui.model.base import Data
from eagletui.model.run import Run

Value = str | int | float | bool | None
"""What a difference shows; None where a run does not say."""

CONTEXT_TOLERANCE = 0.1
"""Mean prompt lengths that are nearer than this are one context."""

CLOSED_LOOP = "closed loop"

Kind = Literal["question", "ground", "setting", "detail"]


class Difference(Data, frozen=True):
    """One thing that is not the same in all runs.

    Attributes:
        what: its name: `speculative num steps`, `NCCL_ALGO`, `temperature`.
        unlike: whether it can keep runs from being compared.
        values: by run id.
    """

    what: str
    unlike: bool
    values: dict[str, Value]


class _Row(NamedTuple):
    what: str
    kind: Kind
    read: Callable[[Run], Value]


def _joined(values: Sequence[str]) -> str | None:
    """`8 × NVIDIA H200`."""
    if not values:
        return None
    names = dict.fromkeys(values)
    return ", ".join(
        f"{values.count(name)} × {name}" if values.count(name) > 1 else name for name in names
    )


def _digest(run: Run) -> Value:
    """A set of prompts is known by its digest: names are given and files are moved."""
    return run.workload.digest[:12] or None


def _undigested(run: Run) -> Value:
    return None if run.workload.digest else run.workload.prompts or None


def _model(run: Run) -> Value:
    """Its last name: one host has it in a folder, another from a hub."""
    return run.surroundings.model.rstrip("/").rpartition("/")[2] or None


def _rate(run: Run) -> Value:
    """No rate is a closed loop, where that can be known: its speed is another thing."""
    rate = run.workload.rate
    return CLOSED_LOOP if rate is None and run.via != "import" else rate


def _adaptive(run: Run) -> Value:
    """Of a run that does not draft there is nothing to adapt."""
    speculative = run.surroundings.speculative
    return speculative.adaptive if speculative.on else None


def _ignore_eos(run: Run) -> Value:
    """What comes behind an answer's end is easily drafted; another program does not tell."""
    return None if run.via == "import" else run.workload.ignore_eos


def _concurrency(run: Run) -> Value:
    return ", ".join(map(str, sorted({cell.concurrency for cell in run.cells}))) or None


_ROWS: tuple[_Row, ...] = (
    _Row("algorithm", "setting", lambda run: run.surroundings.speculative.algorithm or "none"),
    _Row("num steps", "setting", lambda run: run.surroundings.speculative.num_steps),
    _Row("eagle topk", "setting", lambda run: run.surroundings.speculative.eagle_topk),
    _Row("draft tokens", "setting", lambda run: run.surroundings.speculative.num_draft_tokens),
    _Row("draft model", "setting", lambda run: run.surroundings.speculative.draft_model),
    _Row("adaptive", "setting", _adaptive),
    _Row("model", "question", _model),
    _Row("prompt set", "question", _digest),
    _Row("prompt set's name", "question", _undigested),
    _Row("input length", "question", lambda run: run.workload.input_tokens),
    _Row("output length", "question", lambda run: run.workload.output_tokens),
    _Row("temperature", "question", lambda run: run.workload.temperature),
    _Row("request rate", "question", _rate),
    _Row("ignore EOS", "question", _ignore_eos),
    _Row("release", "ground", lambda run: run.surroundings.versions.get("sglang")),
    _Row("GPU", "ground", lambda run: _joined(run.surroundings.gpus)),
    _Row("tensor parallel size", "ground", lambda run: run.surroundings.tensor_parallel),
    _Row("topology", "ground", lambda run: run.surroundings.topology or None),
    _Row("concurrency", "detail", _concurrency),
    _Row("prompts", "detail", lambda run: run.workload.prompts or None),
    _Row("endpoint", "detail", lambda run: run.workload.endpoint or None),
    _Row("requests", "detail", lambda run: run.workload.requests),
    _Row("repeats", "detail", lambda run: run.workload.repeats),
    _Row("sent from", "detail", lambda run: run.via),
    _Row("host", "detail", lambda run: run.surroundings.host or None),
    _Row("profile", "detail", lambda run: run.surroundings.profile or None),
)

NCCL = "NCCL_"

# Resolved arguments that say the same as a row above, or that no speed depends on.
_PASSED_OVER = (
    "speculative_algorithm", "speculative_num_steps", "speculative_eagle_topk",
    "speculative_num_draft_tokens", "speculative_draft_model_path", "speculative_adaptive",
    "model_path", "tokenizer_path", "served_model_name", "version", "tp_size", "host", "port",
    "nccl_port", "random_seed", "log_level", "log_level_http", "status", "api_key",
    "admin_api_key", "launch_command", "last_gen_throughput", "avg_spec_accept_length",
)  # fmt: skip


def differences(runs: Sequence[Run]) -> tuple[Difference, ...]:
    """Everything that at least two runs say differently, what matters most first."""
    found = [
        Difference(what=row.what, unlike=row.kind in ("question", "ground"), values=values)
        for row in _ROWS
        if _differ(values := {run.id: row.read(run) for run in runs})
    ]
    for name in _names(run.surroundings.environment for run in runs):
        values = {run.id: _variable(run, name) for run in runs}
        if _differ(values):
            found.append(Difference(what=name, unlike=name.startswith(NCCL), values=values))
    for name in _names(run.surroundings.versions for run in runs):
        values = {run.id: run.surroundings.versions.get(name) for run in runs}
        if name != "sglang" and _differ(values):
            found.append(Difference(what=name, unlike=False, values=values))
    for name in sorted(_unequal([run.surroundings.arguments for run in runs])):
        values = {run.id: _argument(run, name) for run in runs}
        if name not in _PASSED_OVER and _differ(values):
            found.append(Difference(what=name, unlike=False, values=values))
    return tuple(found)


class Likeness(NamedTuple):
    """How a run stands to a baseline beside its speed.

    Attributes:
        unlike: what of it is another: `release`, `temperature`, `NCCL environment`.
        obstacles: why a speed-up is not claimed, in words; () where it can be.
        noted: what must be known of one that is claimed, in words.
        nccl_alone: whether NCCL's environment is the only obstacle, and the speculative setting
            the same: the question then was what NCCL's variables do.
    """

    unlike: tuple[str, ...]
    obstacles: tuple[str, ...]
    noted: tuple[str, ...]
    nccl_alone: bool = False


def likeness(run: Run, baseline: Run) -> Likeness:
    """What is not the same, and what follows from that."""
    question, ground = (_unlike(run, baseline, kind) for kind in ("question", "ground"))
    unlike = [row.what for row in question]
    obstacles = [_words(row.what, run, baseline, row.read) for row in question]
    noted: list[str] = []
    if context := _context(run, baseline):
        unlike.append("context")
        obstacles.append(context)
    unlike += [row.what for row in ground]
    said = [_words(row.what, run, baseline, row.read) for row in ground]
    same_setting = _setting(run) == _setting(baseline)
    if same_setting:
        noted += said
    else:
        obstacles += [f"{text}, and another speculative setting" for text in said]
    nccl = _nccl(run, baseline)
    nccl_alone = bool(nccl) and same_setting and not obstacles and not noted
    if nccl:
        unlike.append("NCCL environment")
        obstacles.append(f"the baseline was measured under another NCCL environment ({nccl})")
    return Likeness(tuple(unlike), tuple(obstacles), tuple(noted), nccl_alone)


def _setting(run: Run) -> tuple[Value, ...]:
    return tuple(row.read(run) for row in _ROWS if row.kind == "setting")


def _unlike(run: Run, baseline: Run, kind: str) -> list[_Row]:
    return [
        row
        for row in _ROWS
        if row.kind == kind and _differ({"a": row.read(run), "b": row.read(baseline)})
    ]


def _words(what: str, run: Run, baseline: Run, read: Callable[[Run], Value]) -> str:
    return f"another {what} ({read(run)}, not {read(baseline)})"


def _nccl(run: Run, baseline: Run) -> str:
    names = [
        name
        for name in _names((run.surroundings.environment, baseline.surroundings.environment))
        if name.startswith(NCCL)
        and _differ({"a": _variable(run, name), "b": _variable(baseline, name)})
    ]
    return ", ".join(names)


def _context(run: Run, baseline: Run) -> str:
    """Another context, where not both were asked for a length and the prompts are unlike."""
    lengths = [_mean_prompt(one) for one in (run, baseline)]
    new, old = lengths
    asked = (run.workload.input_tokens, baseline.workload.input_tokens)
    if new is None or old is None or None not in asked:
        return ""
    if abs(new - old) <= CONTEXT_TOLERANCE * max(new, old):
        return ""
    return f"another context ({new:.0f} prompt tokens, not {old:.0f})"


def _mean_prompt(run: Run) -> float | None:
    lengths = [
        request.prompt_tokens
        for cell in run.cells
        for request in cell.requests
        if request.prompt_tokens is not None and not request.error
    ]
    return sum(lengths) / len(lengths) if lengths else None


def _variable(run: Run, name: str) -> Value:
    """A variable's value; "not set" only where the environment was read at all."""
    environment = run.surroundings.environment
    if name in environment:
        return environment[name]
    return "not set" if environment or run.via != "import" else None


def _argument(run: Run, name: str) -> Value:
    arguments = run.surroundings.arguments
    value = arguments.get(name)
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return "not set" if value is None and arguments else value


def _names(mappings: Iterable[Mapping[str, object]]) -> list[str]:
    return sorted({name for mapping in mappings for name in mapping})


def _unequal(mappings: Sequence[Mapping[str, object]]) -> set[str]:
    """Names that may differ: a server has hundreds of arguments, and nearly all are alike."""
    first = mappings[0].items()
    return {
        name
        for mapping in mappings[1:]
        if mapping != mappings[0]
        for name in mapping.keys() | mappings[0].keys()
        if (name, mapping.get(name)) not in first
    }


def _differ(values: Mapping[str, Value]) -> bool:
    known = [value for value in values.values() if value is not None]
    return any(value != known[0] for value in known[1:])
