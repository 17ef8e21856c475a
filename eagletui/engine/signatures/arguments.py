"""The command line: flags and values that this release does not know or refuses."""

from __future__ import annotations

import re

from eagletui.engine.diagnosis import Context, Match, Refined, Signature
from eagletui.engine.flags.table import renamed
from eagletui.model.near import nearest


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


ARGUMENTS: tuple[Signature, ...] = (
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
)
