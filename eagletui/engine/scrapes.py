"""Several scrapes in one file, each after a line `### unix-time`."""

from __future__ import annotations

import re
from typing import NamedTuple

_STAMP = re.compile(rb"^###[ \t]+([0-9]+(?:\.[0-9]*)?)[ \t]*\r?\n", re.MULTILINE)


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
