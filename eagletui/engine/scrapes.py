"""Several scrapes in one file, each after a line `### unix-time`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from eagletui.model.text import visible_bytes

_STAMP = re.compile(rb"^###[ \t]+([0-9]+(?:\.[0-9]*)?)[ \t]*\r?\n", re.MULTILINE)
# What was meant as one; no comment of a metrics page begins with three.
_MEANT = re.compile(rb"^###[ \t]*([^\r\n]*)", re.MULTILINE)
_SHOWN = 3


class Scrape(NamedTuple):
    """One page; `at` is None where the file does not say when it was taken."""

    at: float | None
    body: bytes


def split_scrapes(data: bytes) -> list[Scrape]:
    """The pages of a file in order; a file without stamps is one page."""
    marks = list(_STAMP.finditer(data))
    if not marks:
        return [Scrape(None, data)]
    ends = [mark.start() for mark in marks[1:]] + [len(data)]
    return [
        Scrape(float(mark[1]), data[mark.end() : end])
        for mark, end in zip(marks, ends, strict=True)
    ]


def doubts(data: bytes, scrapes: Sequence[Scrape]) -> list[str]:
    """What is odd about the stamps of a file, in words: rates over them would be wrong."""
    found = []
    good = {mark.start() for mark in _STAMP.finditer(data)}
    broken = [m[1] for m in _MEANT.finditer(data) if m.start() not in good]
    if broken:
        words = ", ".join(visible_bytes(text[:40], 40) or "nothing" for text in broken[:_SHOWN])
        more = f" and {len(broken) - _SHOWN} more" if len(broken) > _SHOWN else ""
        found.append(f"Lines `### unix-time` without a time are passed over: {words}{more}.")
    times = [scrape.at for scrape in scrapes if scrape.at is not None]
    steps = [after - before for before, after in pairwise(times)]
    if same := sum(step == 0.0 for step in steps):
        found.append(f"{same} scrapes have the same time as the one before.")
    if back := sum(step < 0.0 for step in steps):
        found.append(f"{back} scrapes are older than the one before: the clock went back.")
    return found
