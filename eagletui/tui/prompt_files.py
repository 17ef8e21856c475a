"""Whether what is named as prompts can be measured with: looked at beside the screen."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from eagletui.bench.promptsets import SETS, file_of, find_prompts
from eagletui.host.within import within
from eagletui.model.errors import EagletuiError
from eagletui.model.text import visible

WAIT = 5.0
"""Seconds that a disk has to answer."""


class Looked(NamedTuple):
    """What was found of what a person named.

    Attributes:
        prompts: how many there are to send; None where they cannot be used.
        problem: why not, without the name; "" where they can.
        said: the same with the name, and what to do.
    """

    given: str
    prompts: int | None = None
    problem: str = ""
    said: str = ""


def known(given: str) -> Looked | None:
    """What needs no disk: a shipped set."""
    return Looked(given, prompts=32) if given in SETS else None


async def look(given: str, requests: int | None = None, wait: float = WAIT) -> Looked:
    """Read it as the benchmark will, on a thread."""
    try:
        _, prompts = await within(asyncio.to_thread(find_prompts, given, requests), wait)
    except EagletuiError as error:
        problem = error.what.removeprefix(visible(str(file_of(given)))).lstrip(":, ")
        return Looked(given, problem=problem, said=error.sentences)
    except asyncio.TimeoutError:
        problem = f"could not be read in {wait:.0f} s."
        advice = "Its disk does not answer: name a file on another one."
        return Looked(given, problem=problem, said=f"{visible(given)} {problem} {advice}")
    return Looked(given, prompts=len(prompts))
