"""Rules on what does not go together with speculation, per release."""

from __future__ import annotations

from typing import NamedTuple

from eagletui.engine.check.settle import settled
from eagletui.engine.check.situation import Finds, Found, Situation
from eagletui.engine.releases import Range

_TRUE = frozenset({"1", "true", "yes", "y", "on", "t"})


class TreePages(NamedTuple):
    """Which attention backends hold a tree in pages of more than one token."""

    since: str
    until: str
    backends: tuple[str, ...]


# 0.4.10 to 0.5.2 did not look. triton was read in 0.5.23 and missing in 0.5.6; the releases between
# were not read for it and are given the benefit of the doubt.
TREE_PAGES: tuple[TreePages, ...] = (
    TreePages("0.5.3", "0.5.5", ("flashinfer",)),
    TreePages("0.5.6", "0.5.6", ("flashinfer", "fa3")),
    TreePages("0.5.7", "", ("flashinfer", "fa3", "triton")),
)

# Backends whose pages are larger than 1 whatever is asked for (read in 0.5.23).
OWN_PAGES = frozenset({"flashmla", "trtllm_mla", "cutedsl_mla", "hpc_ops"})

# Backends that the draft has no worker for: `EAGLE is not supported in decode attention backend`
# (read in 0.5.23's draft_utils; torch_native also in a log of a server that died of it).
NO_DRAFT_BACKEND = frozenset(
    {
        "torch_native",
        "flex_attention",
        "wave",
        "hpc_ops",
        "tokenspeed_mla",
        "llada2_cfg_flashinfer",
        "minicpm_flashattn",
        "minicpm_flashinfer",
    }
)

# The union of the candidates of the built-in configuration; 0.5.11 to 0.5.13 refuse nothing.
ADAPTIVE_STEPS: tuple[tuple[str, frozenset[int]], ...] = (
    ("0.5.14", frozenset({0, 1, 3, 7})),
    ("0.5.20", frozenset({0, 1, 3, 5, 7})),
)


def tree_pages(situation: Situation) -> Finds:
    """A tree in pages that the backend cannot hold: ValueError from 0.5.3 on."""
    final = settled(situation)
    if final is None or final.eagle_topk < 2:
        return
    backend = situation.text("--attention-backend")
    size = situation.number("--page-size") or 1
    pages = size > 1 or backend in OWN_PAGES
    row = next((r for r in TREE_PAGES if situation.release in Range(r.since, r.until)), None)
    if pages and row is not None and backend is not None and backend not in row.backends:
        yield Found(
            "server.flags.page-size" if size > 1 else "server.flags.attention-backend",
            f"A tree (topk {final.eagle_topk}) in pages of more than one token works only with "
            f"{', '.join(row.backends)} in {situation.release.text}, not with {backend}: the "
            "server refuses.",
            "Use page-size 1, eagle-topk 1 or one of those backends.",
        )


def tree_pages_unknown_backend(situation: Situation) -> Finds:
    """A tree in pages without a named backend: the server's own choice decides."""
    final = settled(situation)
    if final is None or final.eagle_topk < 2 or situation.text("--attention-backend"):
        return
    row = next((r for r in TREE_PAGES if situation.release in Range(r.since, r.until)), None)
    if (situation.number("--page-size") or 1) > 1 and row is not None:
        yield Found(
            "server.flags.page-size",
            f"A tree (topk {final.eagle_topk}) in pages of more than one token works only with "
            f"{', '.join(row.backends)}; no backend is named, so the GPU decides.",
            "Name attention-backend, or use page-size 1.",
        )


def tree_made_chain(situation: Situation) -> Finds:
    """0.4.6 quietly takes topk 1 where pages are larger than one token."""
    topk = situation.drafting.eagle_topk or 1
    pages = (situation.number("--page-size") or 1) > 1
    if situation.drafting.eagle and topk > 1 and pages and not situation.since("0.4.10"):
        yield Found(
            "speculative.eagle-topk",
            f"With page-size above 1 this release quietly takes eagle-topk 1, not {topk}.",
            "Use page-size 1 for a tree.",
        )


def ngram_pages(situation: Situation) -> Finds:
    """NGRAM is a tree as wide as its breadth; in pages only flashinfer holds it (0.5.23)."""
    if situation.drafting.algorithm != "NGRAM" or not situation.since("0.5.23"):
        return
    breadth = situation.number("--speculative-ngram-max-bfs-breadth")
    breadth = 10 if breadth is None else breadth
    backend = situation.text("--attention-backend")
    if breadth > 1 and (situation.number("--page-size") or 1) > 1 and backend != "flashinfer":
        yield Found(
            "server.flags.page-size",
            f"NGRAM with breadth {breadth} in pages of more than one token works only with "
            "flashinfer: the server refuses.",
            "Use page-size 1, ngram-max-bfs-breadth 1 or attention-backend flashinfer.",
        )


def trtllm_mha_tree(situation: Situation) -> Finds:
    """trtllm_mha drafts chains only (0.5.1+)."""
    final = settled(situation)
    if final is None or final.eagle_topk < 2 or not situation.since("0.5.1"):
        return
    if "trtllm_mha" in situation.backends:
        yield Found(
            "speculative.eagle-topk",
            f"trtllm_mha takes only eagle-topk 1, not {final.eagle_topk}: the server refuses.",
            "Set eagle-topk 1 or another attention backend.",
        )


def trtllm_mla(situation: Situation) -> Finds:
    """trtllm_mla did not speculate in 0.4.10."""
    used = "trtllm_mla" in situation.backends
    if situation.drafting.algorithm and used and situation.between("0.4.10", "0.5.0"):
        yield Found(
            "server.flags.attention-backend",
            "trtllm_mla does not speculate in this release: the server refuses.",
            "Use another attention backend or a newer SGLang.",
        )


def no_draft_backend(situation: Situation) -> Finds:
    """A backend that the draft cannot run on: the server dies after both models are loaded."""
    given = situation.drafting
    if not given.eagle:
        return
    prefill, decode = situation.backends
    own = situation.text("--speculative-draft-attention-backend")
    extend = decode if situation.text("--speculative-attention-mode") == "decode" else prefill
    used = [own or extend]
    final = settled(situation)
    if final is None or final.num_steps > 1:
        used.insert(0, own or decode)
    for backend in used:
        if backend in NO_DRAFT_BACKEND:
            yield Found(
                "speculative.draft-attention-backend" if own else "server.flags.attention-backend",
                f"{given.algorithm} has no draft for attention backend {backend}: the server loads "
                "both models and then ends with `EAGLE is not supported in decode attention "
                "backend`.",
                "Use flashinfer, fa3, triton or another backend that drafts.",
            )
            return


def adaptive_falls_back(situation: Situation) -> Finds:
    """What adaptive cannot do: the server warns and keeps k as it is (0.5.11+)."""
    given = situation.drafting
    if not given.adaptive or not situation.since("0.5.11"):
        return
    reasons = []
    if given.algorithm not in ("EAGLE", "EAGLE3", "NEXTN"):
        reasons.append(("algorithm", f"it is for EAGLE and EAGLE3, not {given.algorithm}"))
    if given.eagle_topk not in (None, 1):
        reasons.append(("eagle-topk", f"it needs eagle-topk 1, not {given.eagle_topk}"))
    if situation.attention_dp > 1:
        reasons.append(("adaptive", "it does not work with attention data parallelism"))
    for flag, words in _NOT_ADAPTIVE:
        if situation.given(flag):
            reasons.append(("adaptive", f"it does not work with {words}"))
    if situation.between("0.5.11", "0.5.11") and not situation.given("--disable-overlap-schedule"):
        reasons.append(("adaptive", "this release needs --disable-overlap-schedule for it"))
    for name, reason in reasons:
        yield Found(
            f"speculative.{name}",
            f"Adaptive steps are switched off by the server: {reason}.",
            "Change that, or leave adaptive out and set num-steps.",
        )


_NOT_ADAPTIVE = (
    ("--enable-multi-layer-eagle", "multi-layer EAGLE"),
    ("--enable-two-batch-overlap", "two-batch overlap"),
    ("--enable-pdmux", "PD multiplexing"),
)


def adaptive_steps(situation: Situation) -> Finds:
    """Steps that are no candidate of the built-in configuration: ValueError (0.5.14+)."""
    given = situation.drafting
    steps = given.num_steps
    if not given.adaptive or steps is None or situation.given("--speculative-adaptive-config"):
        return
    if any(True for _ in adaptive_falls_back(situation)) or not situation.since("0.5.14"):
        return
    candidates = frozenset[int]()
    for since, values in ADAPTIVE_STEPS:
        candidates = values if situation.since(since) else candidates
    if steps not in candidates:
        yield Found(
            "speculative.num-steps",
            f"{steps} steps are none of adaptive's candidates "
            f"({', '.join(map(str, sorted(candidates)))}): the server refuses.",
            "Set one of them, leave num-steps out, or give adaptive-config.",
        )


def pipeline(situation: Situation) -> Finds:
    """Pipeline parallelism with speculation, per release."""
    given = situation.drafting
    if given.algorithm is None or (situation.number("--pp-size") or 1) < 2:
        return
    path = "server.flags.pp-size"
    if not situation.since("0.5.22"):
        yield Found(
            path,
            "Speculation with pipeline parallelism is refused up to 0.5.21.",
            "Use pp-size 1 (more tensor parallelism), or run without speculation.",
        )
        return
    mode = situation.text("--disaggregation-mode") or "null"
    if given.algorithm == "DSPARK":
        if mode != "prefill":
            yield Found(
                path,
                "DSPARK with pipeline parallelism works only on prefill nodes: the server refuses.",
                "Use pp-size 1.",
            )
        return
    if given.algorithm not in ("EAGLE", "NEXTN") or situation.given("--enable-multi-layer-eagle"):
        yield Found(
            path,
            f"With pipeline parallelism only single-layer EAGLE speculates, not "
            f"{given.algorithm}: the server refuses.",
            "Use pp-size 1, or an EAGLE draft.",
        )
    elif on(situation.environment.get("SGLANG_ENABLE_PP_SPEC")):
        for wrong, words in (
            (mode != "null", "disaggregation"),
            (given.adaptive, "adaptive steps"),
            (situation.attention_dp > 1, "attention data parallelism"),
        ):
            if wrong:
                yield Found(
                    path,
                    f"SGLANG_ENABLE_PP_SPEC does not go with {words}: the server refuses.",
                    "Leave one of the two out.",
                )
    elif mode != "prefill":
        yield Found(
            path,
            "With pipeline parallelism EAGLE speculates only on prefill nodes: the server refuses.",
            "Use pp-size 1, or try SGLANG_ENABLE_PP_SPEC=1, which is experimental.",
        )


def attention_dp(situation: Situation) -> Finds:
    """Algorithms that do not go with attention data parallelism (read in 0.5.23)."""
    algorithm = situation.drafting.algorithm
    if algorithm in ("STANDALONE", "NGRAM", "UNO") and situation.attention_dp > 1:
        yield Found(
            "speculative.algorithm",
            f"{algorithm} does not go with attention data parallelism: the server refuses.",
            "Use EAGLE or EAGLE3, or leave attention data parallelism out.",
        )


def mixed_chunk(situation: Situation) -> Finds:
    """Mixed chunks are switched off (0.5.23 keeps them for EAGLE, EAGLE3, DFLASH and DSPARK)."""
    algorithm = situation.drafting.algorithm
    if algorithm is None or not situation.given("--enable-mixed-chunk"):
        return
    if situation.since("0.5.23") and algorithm in ("EAGLE", "EAGLE3", "NEXTN", "DFLASH", "DSPARK"):
        return
    yield Found(
        "server.flags.enable-mixed-chunk",
        f"With {algorithm} the server quietly switches mixed chunks off.",
        "Leave it out.",
    )


def running_requests(situation: Situation) -> Finds:
    """Speculation bounds the batch to 48 unless it is set (every release)."""
    given = situation.drafting
    if given.algorithm is not None and not situation.given("--max-running-requests"):
        yield Found(
            "server.flags.max-running-requests",
            f"With {given.algorithm} the server runs at most 48 requests at once unless "
            "max-running-requests is set; without speculation there is no such bound.",
            "Set it, so that runs with and without speculation can be compared.",
        )


def graphs_below_requests(situation: Situation) -> Finds:
    """More requests than the largest captured batch: larger batches run without graphs."""
    largest = situation.number("--cuda-graph-max-bs-decode")
    flag = "--cuda-graph-max-bs-decode"
    if largest is None:
        largest = situation.number("--cuda-graph-max-bs")
    requests = situation.number("--max-running-requests")
    if requests is None and situation.drafting.algorithm is not None:
        requests = 48
    if largest is not None and requests is not None and largest < requests:
        name = flag if situation.since("0.5.14") else "--cuda-graph-max-bs"
        yield Found(
            f"server.flags.{name[2:]}",
            f"Graphs are captured up to batch {largest}, but {requests} requests may run: larger "
            "batches are slow (`cuda graph: False`).",
            f"Raise {name} to {requests}, or lower max-running-requests.",
        )


def spec_v2(situation: Situation) -> Finds:
    """SGLANG_ENABLE_SPEC_V2 where it does nothing."""
    value = situation.environment.get("SGLANG_ENABLE_SPEC_V2")
    if value is None:
        return
    path = "environment.SGLANG_ENABLE_SPEC_V2"
    if not situation.since("0.5.5"):
        yield Found(
            path,
            "SGLANG_ENABLE_SPEC_V2 does nothing before 0.5.5: there is no overlapped worker.",
            "Leave it out.",
        )
    elif situation.since("0.5.13"):
        what = (
            "only warns that it has been removed" if not situation.since("0.5.21") else "ignores it"
        )
        yield Found(
            path,
            f"The overlapped worker is the only one from 0.5.13 on; the server {what}.",
            "Leave it out.",
        )


def spec_v2_tree(situation: Situation) -> Finds:
    """The overlapped worker of 0.5.7 to 0.5.10 takes chains only."""
    final = settled(situation)
    asked = on(situation.environment.get("SGLANG_ENABLE_SPEC_V2"))
    if (
        final is not None
        and final.eagle_topk > 1
        and asked
        and situation.between("0.5.7", "0.5.10")
    ):
        yield Found(
            "environment.SGLANG_ENABLE_SPEC_V2",
            f"In this release SGLANG_ENABLE_SPEC_V2 takes only eagle-topk 1, not "
            f"{final.eagle_topk}: the server refuses.",
            "Leave the variable out, or set eagle-topk 1.",
        )


def spec_v1(situation: Situation) -> Finds:
    """The worker without overlap, which is slower and, for MTP models, loads the target twice."""
    given = situation.drafting
    if not given.eagle or given.algorithm == "STANDALONE":
        return
    v2 = situation.environment.get("SGLANG_ENABLE_SPEC_V2")
    if situation.between("0.5.5", "0.5.10") and not on(v2):
        yield Found(
            "environment.SGLANG_ENABLE_SPEC_V2",
            "This release drafts without overlap unless SGLANG_ENABLE_SPEC_V2=1 is set; MTP models "
            "(NEXTN) were seen to run out of memory without it.",
            "Try SGLANG_ENABLE_SPEC_V2=1 with eagle-topk 1.",
        )
    elif situation.between("0.5.11", "0.5.12"):
        final = settled(situation)
        tree = final is not None and final.eagle_topk > 1
        off = v2 is not None and not on(v2)
        if tree or off or situation.given("--disable-overlap-schedule"):
            why = "a tree" if tree else "SGLANG_ENABLE_SPEC_V2=0" if off else "no overlap schedule"
            yield Found(
                "speculative.eagle-topk" if tree else "environment.SGLANG_ENABLE_SPEC_V2",
                f"With {why} this release drafts without overlap (`Spec v1 is used`).",
                "Use a chain with overlap for the faster worker.",
            )


def decoupled(situation: Situation) -> Finds:
    """The decoupled drafter: its flags are there, its workers are not in the wheel (0.5.23)."""
    if situation.text("--decoupled-spec-role") not in (None, "null"):
        yield Found(
            "server.flags.decoupled-spec-role",
            "A draft in an engine of its own is not usable: the public release has the flags, but "
            "not the workers.",
            "Leave the decoupled-spec flags out.",
        )


def on(value: str | None) -> bool:
    """Whether a variable is switched on, as SGLang reads it."""
    return value is not None and value.strip().lower() in _TRUE
