"""`/metrics` of a simulated server, written as `prometheus_client` does in multiprocess mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eagletui.simulator.counters import Histo
from eagletui.simulator.families import FAMILIES, Scope, Source, Values
from eagletui.simulator.serving import Serving


def render(source: Source) -> str:
    """The whole page, as `prometheus_client` writes it in multiprocess mode."""
    serving = source.serving
    release = serving.release
    lines: list[str] = []
    last = ""
    for family in FAMILIES:
        if not family.since <= release.number <= family.until:
            continue
        value = family.value(source)
        if value is None:
            continue
        name = f"sglang:{family.name}"
        if name != last:
            old = family.old_help and not release.since(0, 5, 11)
            lines.append(f"# HELP {name} {family.old_help if old else family.help}")
            lines.append(f"# TYPE {name} {family.kind}")
            last = name
        for labels in _label_sets(family.scope, serving):
            lines.extend(_samples(name, labels, value))
    return "\n".join(lines) + "\n"


def _label_sets(scope: Scope, serving: Serving) -> Iterator[dict[str, str]]:
    release, flags = serving.release, serving.flags
    labels = {"model_name": flags.model_path}
    if scope in ("tokenizer", "streaming"):
        if release.since(0, 5, 11):
            labels["engine_type"] = "unified"
        if scope == "streaming" and release.since(0, 5, 18):
            labels["is_streaming"] = "false"
        yield labels
        return
    labels["engine_type"] = "unified"
    if not release.since(0, 4, 10):
        yield labels
        return
    labels["pp_rank"] = "0"
    if release.since(0, 5, 7):
        labels["moe_ep_rank"] = "0"
    for rank in range(flags.tp_size if scope == "all ranks" else 1):
        yield {**labels, "tp_rank": str(rank)}


def _samples(name: str, labels: dict[str, str], value: float | Values | Histo) -> Iterator[str]:
    if isinstance(value, Histo):
        yield _sample(f"{name}_sum", labels, value.sum)
        running = 0
        for bound, count in zip((*value.bounds, float("inf")), value.counts, strict=True):
            running += count
            le = "+Inf" if bound == float("inf") else repr(bound)
            yield _sample(f"{name}_bucket", {**labels, "le": le}, float(running))
        yield _sample(f"{name}_count", labels, float(running))
    elif isinstance(value, Mapping):
        for more, number in value.items():
            yield _sample(name, {**labels, **dict(more)}, number)
    else:
        yield _sample(name, labels, value)


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{key}="{_escaped(labels[key])}"' for key in sorted(labels))
    number = "NaN" if value != value else repr(float(value))
    return f"{name}{{{inside}}} {number}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
