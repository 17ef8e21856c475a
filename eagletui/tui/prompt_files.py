"""Whether what is named as prompts can be measured with: looked at beside the screen."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import NamedTuple

from eagletui.bench.plan import Prompt
from eagletui.bench.promptsets import SETS, file_of, find_prompts
from eagletui.host.aside import aside
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


_Read = asyncio.Future[tuple[str, tuple[Prompt, ...]]]


class PromptFiles:
    """Reads files as the benchmark will, one look at a time at each of them.

    Args:
        wait: seconds that a disk has to answer; a look that takes longer goes on by itself.
    """

    def __init__(self, wait: float = WAIT) -> None:
        self._wait = wait
        self._reads: dict[Path, _Read] = {}
        self._given_up: set[Path] = set()

    async def look(self, given: str, requests: int | None = None) -> Looked:
        """What is found there now. A disk on which an earlier look hangs is not asked again."""
        path = file_of(given)
        if path in self._given_up:
            return _silent(given, "is still being read.")
        while (earlier := self._reads.get(path)) is not None:
            if not await self._ended(path, earlier):
                return self._late(given)
        read = self._begin(path, given, requests)
        if not await self._ended(path, read):
            return self._late(given)
        try:
            _, prompts = read.result()
        except EagletuiError as error:
            problem = error.what.removeprefix(visible(str(path))).lstrip(":, ")
            return Looked(given, problem=problem, said=error.sentences)
        return Looked(given, prompts=len(prompts))

    async def _ended(self, path: Path, read: _Read) -> bool:
        """Whether it ended in time."""
        await asyncio.wait([read], timeout=self._wait)
        if not read.done():
            self._given_up.add(path)
        return read.done()

    def _late(self, given: str) -> Looked:
        return _silent(given, f"could not be read in {self._wait:.0f} s.")

    def _begin(self, path: Path, given: str, requests: int | None) -> _Read:
        read = self._reads[path] = aside(partial(find_prompts, given, requests))

        def ended(_: _Read) -> None:
            del self._reads[path]
            self._given_up.discard(path)
            read.exception()  # nobody else may ask for it any more

        read.add_done_callback(ended)
        return read


def _silent(given: str, problem: str) -> Looked:
    advice = "Its disk does not answer: name a file on another one."
    return Looked(given, problem=problem, said=f"{visible(given)} {problem} {advice}")
