"""Rules on steps, topk, draft tokens and the algorithm."""

from __future__ import annotations

from eagletui.engine.check.settle import MTP_FAMILY, defaults, most_draft_tokens, settled
from eagletui.engine.check.situation import Finds, Found, Situation, place
from eagletui.model.near import nearest

STEPS, TOPK = "speculative.num-steps", "speculative.eagle-topk"
TOKENS, ALGORITHM = "speculative.num-draft-tokens", "speculative.algorithm"
DRAFT = "speculative.draft-model-path"

# Algorithm → first release that has it. From 0.5.12 on the parser takes any name.
ALGORITHMS: dict[str, str] = {
    "EAGLE": "0.4.6",
    "EAGLE3": "0.4.6",
    "NEXTN": "0.4.6",
    "STANDALONE": "0.5.3",
    "NGRAM": "0.5.3",
    "DFLASH": "0.5.11",
    "DSPARK": "0.5.16",
    "UNO": "0.5.20",
    "FROZEN_KV_MTP": "0.5.14",
}


def topk_without_steps(situation: Situation) -> Finds:
    """topk or draft tokens without steps: an assertion without a word, read in every release."""
    given = situation.drafting
    if given.eagle and not given.adaptive and given.num_steps is None:
        for flag, path, value in (
            ("topk", TOPK, given.eagle_topk),
            ("draft tokens", TOKENS, given.num_draft_tokens),
        ):
            if value is not None:
                yield Found(
                    path,
                    f"{flag} is set without num-steps: the server ends with an AssertionError that "
                    "says nothing.",
                    "Set num-steps, eagle-topk and num-draft-tokens, or none of them.",
                )
                return


def steps_without_topk(situation: Situation) -> Finds:
    """Steps without topk: nothing fills it in, and comparing it with 1 fails (seen in 0.5.23)."""
    given = situation.drafting
    if not given.eagle or given.adaptive or given.num_steps is None:
        return
    if given.eagle_topk is None:
        yield Found(
            TOPK,
            "num-steps is set without eagle-topk: no default is filled in, and the server ends "
            "with a TypeError.",
            f"Set eagle-topk 1 and num-draft-tokens {given.num_steps + 1} for a chain.",
        )


def tree_without_tokens(situation: Situation) -> Finds:
    """A tree without draft tokens: the parser takes it, the draft has no width."""
    given = situation.drafting
    topk, steps = given.eagle_topk or 1, given.num_steps
    if given.eagle and topk > 1 and steps is not None and given.num_draft_tokens is None:
        yield Found(
            TOKENS,
            f"eagle-topk {topk} is set without num-draft-tokens: nothing fills it in, and the "
            "server fails when it first drafts, after the whole load.",
            f"Set num-draft-tokens to at most {most_draft_tokens(steps, topk)}.",
        )


def chain_without_tokens(situation: Situation) -> Finds:
    """A chain without draft tokens: the server takes steps + 1."""
    given = situation.drafting
    chain = given.eagle and given.eagle_topk == 1 and not given.adaptive
    if chain and given.num_steps is not None and given.num_draft_tokens is None:
        yield Found(
            TOKENS,
            f"num-draft-tokens is left out: the server takes {given.num_steps + 1} for this chain.",
            "Set all three, so that the profile says what runs.",
        )


def server_chooses(situation: Situation) -> Finds:
    """None of the three is given: the server chooses by release and model family."""
    given = situation.drafting
    three = (given.num_steps, given.eagle_topk, given.num_draft_tokens)
    if not given.eagle or given.adaptive or any(value is not None for value in three):
        return
    chosen = defaults(situation)
    if chosen is not None:
        what = f"the server takes {_three(*chosen)}"
    elif situation.since("0.5.8"):
        what = "the server takes 5/4/8 for Llama and Grok, 3/1/4 for every other model"
    else:
        chains = "GptOss, GLM 4 MoE, Bailing and Mistral Large 3"
        if situation.since("0.4.10"):
            chains = f"DeepSeek, {chains}"
        what = f"the server takes 3/1/4 for {chains}, 5/4/8 for every other model"
    yield Found(
        STEPS,
        f"num-steps, eagle-topk and num-draft-tokens are left out: {what} (steps/topk/tokens).",
        "Set all three, so that the profile says what runs.",
    )


def tokens_adjusted(situation: Situation) -> Finds:
    """A chain verifies steps + 1 tokens, whatever is asked for (every release)."""
    given = situation.drafting
    steps, tokens = given.num_steps, given.num_draft_tokens
    if not given.eagle or given.eagle_topk != 1 or steps is None or tokens is None:
        return
    if tokens != steps + 1:
        yield Found(
            TOKENS,
            f"With eagle-topk 1 the server quietly changes {tokens} draft tokens to {steps + 1} "
            "(num-steps + 1).",
            f"Set num-draft-tokens {steps + 1}; for a tree set eagle-topk above 1.",
        )


def too_many_tokens(situation: Situation) -> Finds:
    """More draft tokens than the tree has nodes: torch.topk fails in capture or the first draft."""
    found = _tree(situation)
    if found is None:
        return
    steps, topk, tokens = found
    most = most_draft_tokens(steps, topk)
    if tokens > most:
        yield Found(
            TOKENS,
            f"A tree of {steps} steps and topk {topk} has at most {most} tokens, {tokens} are "
            "asked for: the server starts, loads everything and then fails with `selected index k "
            "out of range`.",
            f"Set num-draft-tokens to at most {most} (1 + topk + (steps − 1)·topk²).",
        )


def too_few_tokens(situation: Situation) -> Finds:
    """A tree without a single draft: the root alone."""
    found = _tree(situation)
    if found is not None and found[2] < 2:
        yield Found(
            TOKENS,
            f"{found[2]} draft tokens hold no draft: the root is one of them.",
            "Set at least 2.",
        )


def wasted_depth(situation: Situation) -> Finds:
    """A tree that is deeper than its verify is wide."""
    found = _tree(situation)
    if found is not None and 2 <= found[2] <= found[0]:
        steps, _, tokens = found
        yield Found(
            TOKENS,
            f"{tokens} draft tokens cannot hold a path of {steps} steps: the last "
            f"{steps - tokens + 1} steps draft for nothing.",
            f"Set num-draft-tokens to {steps + 1} or more, or num-steps to {tokens - 1}.",
        )


def not_positive(situation: Situation) -> Finds:
    """Zero or less where at least one is needed."""
    given = situation.drafting
    if not given.eagle:
        return
    for path, value in ((STEPS, given.num_steps), (TOPK, given.eagle_topk)):
        if value is not None and value < 1:
            yield Found(
                path,
                f"{path.partition('.')[2]} is {value}: nothing can be drafted, and the server "
                "fails after the load or drafts nothing.",
                "Set at least 1, or leave the algorithm out to run without speculation.",
            )


def unknown_algorithm(situation: Situation) -> Finds:
    """An algorithm that this release does not have."""
    given = situation.drafting.algorithm
    written = situation.text("--speculative-algorithm") or ""
    if given is None or situation.known.exact("--speculative-algorithm") is None:
        return
    first = ALGORITHMS.get(given)
    if first is not None and situation.since(first):
        return
    if any(c.word == "--speculative-algorithm" for c in situation.arguments.complaints):
        return  # the parser's own choices have said so
    if first is not None:
        yield Found(
            ALGORITHM,
            f"{given} came with {first}: the server ends with `Unknown speculative algorithm`.",
            "Choose another algorithm or a newer SGLang.",
        )
    elif "SGLANG_PLUGINS" not in situation.environment:
        near = nearest(given, ALGORITHMS, cutoff=0.5)
        yield Found(
            ALGORITHM,
            f"No SGLang here has an algorithm {written!r}: the server ends with `Unknown "
            "speculative algorithm`, unless a plugin brings it.",
            f"Did you mean {near}?" if near else f"Choose one of {', '.join(ALGORITHMS)}.",
        )


def nextn(situation: Situation) -> Finds:
    """NEXTN is EAGLE by another name (every release)."""
    if situation.drafting.algorithm == "NEXTN":
        yield Found(
            ALGORITHM,
            "NEXTN is another name for EAGLE: the server shows EAGLE.",
            "",
        )


def ignored(situation: Situation) -> Finds:
    """Speculative flags without an algorithm: the server does not speculate."""
    if situation.drafting.algorithm is not None:
        return
    flags = [
        given.flag
        for given in situation.arguments.given
        if given.flag.startswith("--speculative-") and given.flag != "--speculative-algorithm"
    ]
    if flags:
        yield Found(
            place(flags[0]),
            f"Without speculative.algorithm the server does not speculate: {', '.join(flags)} "
            "does nothing."
            if len(flags) == 1
            else "Without speculative.algorithm the server does "
            f"not speculate: {', '.join(flags)} do nothing.",
            "Set the algorithm, or take the speculative flags out.",
        )


def no_draft(situation: Situation) -> Finds:
    """An algorithm that needs a draft, without one: the target is loaded a second time."""
    given = situation.drafting
    if given.draft is not None or given.algorithm not in ("EAGLE3", "STANDALONE", "DFLASH"):
        return
    if given.algorithm == "DFLASH":
        what = "the server refuses to start"
    else:
        what = "the server loads the model a second time as its own draft and then fails"
    yield Found(
        DRAFT,
        f"{given.algorithm} has no draft model: {what}.",
        "Set draft-model-path.",
    )


def no_draft_eagle(situation: Situation) -> Finds:
    """EAGLE or NEXTN without a draft: only models that bring one (MTP) can do it."""
    given = situation.drafting
    if given.draft is not None or given.algorithm not in ("EAGLE", "NEXTN"):
        return
    name = situation.architecture
    if name in MTP_FAMILY:
        return
    if name:
        yield Found(
            DRAFT,
            f"{name} brings no draft of its own that this check knows of: without "
            "draft-model-path the server loads the model a second time and then fails.",
            "Set draft-model-path, unless this model's checkpoint has MTP layers.",
        )
    else:
        yield Found(
            DRAFT,
            f"{given.algorithm} without draft-model-path works only with models that bring their "
            "draft (DeepSeek V3, GLM 4 MoE, …); others are loaded twice and fail.",
            "Set draft-model-path, unless the model has MTP layers.",
        )


def rejection_sampling(situation: Situation) -> Finds:
    """What `--speculative-use-rejection-sampling` refuses (0.5.14 to 0.5.23)."""
    if not situation.given("--speculative-use-rejection-sampling"):
        return
    path = "speculative.use-rejection-sampling"
    given = situation.drafting
    final = settled(situation)
    if given.algorithm is not None and given.algorithm not in ("EAGLE", "EAGLE3", "NEXTN"):
        yield Found(
            path,
            f"Rejection sampling is for EAGLE, EAGLE3 and NEXTN, not {given.algorithm}: the server "
            "refuses.",
            "Leave it out.",
        )
    if final is not None and final.eagle_topk != 1:
        yield Found(
            path,
            f"Rejection sampling needs eagle-topk 1, the server would take {final.eagle_topk} and "
            "refuse.",
            "Set eagle-topk 1 or leave it out.",
        )
    for flag in ("--speculative-accept-threshold-single", "--speculative-accept-threshold-acc"):
        if situation.text(flag) not in (None, "1", "1.0"):
            yield Found(
                place(flag),
                "Rejection sampling ignores accept thresholds, and the server refuses any but 1.",
                "Leave one of the two out.",
            )


def block_verification(situation: Situation) -> Finds:
    """`--speculative-use-block-verification` with an algorithm that has none (0.5.22+)."""
    algorithm = situation.drafting.algorithm
    if situation.given("--speculative-use-block-verification") and algorithm not in (
        *("EAGLE", "EAGLE3", "NEXTN"),
        *("DFLASH", "DSPARK"),
    ):
        yield Found(
            "speculative.use-block-verification",
            f"Block verification is for EAGLE, EAGLE3, NEXTN, DFLASH and DSPARK, not {algorithm}: "
            "the server refuses.",
            "Leave it out.",
        )


def draft_window(situation: Situation) -> Finds:
    """A draft window that is none, or a sink without a window (0.5.12+, 0.5.21+)."""
    window = situation.number("--speculative-draft-window-size")
    sink = situation.number("--speculative-draft-sink-size")
    if window is not None and window < 1:
        yield Found(
            "speculative.draft-window-size",
            f"The draft window must be positive, not {window}: the server refuses.",
            "Set it above 0 or leave it out.",
        )
    if sink is None:
        return
    if window is None:
        yield Found(
            "speculative.draft-sink-size",
            "draft-sink-size needs draft-window-size: the server refuses.",
            "Set both or none.",
        )
    elif sink < 0:
        yield Found(
            "speculative.draft-sink-size",
            f"draft-sink-size must not be negative, it is {sink}: the server refuses.",
            "Set 0 or more.",
        )


def _tree(situation: Situation) -> tuple[int, int, int] | None:
    given = situation.drafting
    steps, topk, tokens = given.num_steps, given.eagle_topk, given.num_draft_tokens
    if not given.eagle or steps is None or topk is None or tokens is None:
        return None
    return (steps, topk, tokens) if topk > 1 and steps > 0 else None


def _three(*values: int) -> str:
    return "/".join(map(str, values))
