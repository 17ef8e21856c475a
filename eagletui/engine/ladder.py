"""Which phases a launch goes through, in which order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from eagletui.engine.releases import Range, feature_in
from eagletui.model.phases import PhaseName, Role
from eagletui.model.speculative import Speculative

Step = tuple[PhaseName, Role]
Ladder = tuple[Step, ...]


class Drafting(NamedTuple):
    """What an algorithm loads and captures beside the target."""

    weights: bool = True
    graphs: bool = True
    extend: bool = True


# Algorithm → what it brings. One row each; unknown names (plug-ins, 0.5.12+) are taken as EAGLE.
DRAFTING: dict[str, Drafting] = {
    "EAGLE": Drafting(),
    "EAGLE3": Drafting(),
    "NEXTN": Drafting(),
    "STANDALONE": Drafting(),
    "FROZEN_KV_MTP": Drafting(),
    "DFLASH": Drafting(extend=False),
    "DSPARK": Drafting(extend=False),
    "UNO": Drafting(weights=False, graphs=False, extend=False),
    "NGRAM": Drafting(weights=False, graphs=False, extend=False),
}
NOTHING = Drafting(weights=False, graphs=False, extend=False)
GRAPHS: frozenset[PhaseName] = frozenset({"prefill graphs", "graphs", "extend graphs"})


def drafting(speculative: Speculative) -> Drafting:
    """What the draft side of this server loads and captures.

    With one step there is no draft decode graph: the extend pass already gives the one token.
    """
    if speculative.algorithm is None:
        return NOTHING
    row = DRAFTING.get(speculative.algorithm, Drafting())
    return row._replace(graphs=False) if speculative.num_steps == 1 else row


def captures(args: dict[str, Any]) -> tuple[bool, bool]:
    """Whether decode and prefill graphs are captured, as far as the arguments say."""
    if args.get("disable_cuda_graph") is True or args.get("device") == "cpu":
        return False, False
    config = args.get("cuda_graph_config")
    phases = config if isinstance(config, dict) else {}

    def on(phase: str, disable: str, default: bool) -> bool:
        settings = phases.get(phase)
        backend = settings.get("backend") if isinstance(settings, dict) else None
        if args.get(disable) is True or backend == "disabled":
            return False
        return default or backend is not None

    return on("decode", "disable_decode_cuda_graph", True), on(
        "prefill", "disable_prefill_cuda_graph", args.get("enable_piecewise_cuda_graph") is True
    )


def plan(speculative: Speculative, args: dict[str, Any], releases: Range) -> Ladder:
    """The ladder of a launch. Where the release is open, the newer order is taken.

    The draft's KV cache is a phase of its own only where it does not follow the target's.
    """
    draft = drafting(speculative)
    decode, prefill = captures(args)
    loads_first = feature_in("ladder order", releases) != "model by model"
    target_graphs: list[Step] = [
        *([("prefill graphs", "target")] if prefill else []),  # type: ignore[list-item]
        *([("graphs", "target")] if decode else []),  # type: ignore[list-item]
    ]
    draft_graphs: list[Step] = [
        *([("graphs", "draft")] if draft.graphs and decode else []),  # type: ignore[list-item]
        *([("extend graphs", "draft")] if draft.extend and decode else []),  # type: ignore[list-item]
    ]
    draft_weights: list[Step] = [("weights", "draft")] if draft.weights else []
    steps: list[Step] = [("arguments", ""), ("distributed init", ""), ("weights", "target")]
    if loads_first:
        steps += [*draft_weights, ("kv cache", ""), *target_graphs, *draft_graphs]
    else:
        steps += [("kv cache", ""), *target_graphs, *draft_weights]
        if draft_weights:
            steps.append(("kv cache", "draft"))
        steps += draft_graphs
    return (*steps, ("warm-up", ""), ("ready", ""))


def with_step(ladder: Ladder, step: Step, after: Step | None) -> Ladder:
    """The ladder with a step that the plan did not foresee, after another one."""
    if step in ladder:
        return ladder
    index = ladder.index(after) + 1 if after in ladder else max(0, len(ladder) - 2)
    return (*ladder[:index], step, *ladder[index:])


def without_pending(ladder: Ladder, begun: Iterable[Step]) -> Ladder:
    """The ladder without the phases before the warm-up that never began."""
    seen = {*begun, ("warm-up", ""), ("ready", "")}
    return tuple(step for step in ladder if step in seen)
