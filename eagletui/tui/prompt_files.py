"""Whether what is named as prompts can be measured with: looked at beside the screen."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import NamedTuple

from eagletui.bench.plan import Prompt
from eagletui.bench.promptsets import SETS, file_of, find_prompts
from eagletui.host.aside import aside
from eagletui.model.benchmarking import Wish
from eagletui.model.errors import EagletuiError
from eagletui.model.text import visible

WAIT = 5.0
"""Seconds that a disk has to answer."""


class Looked(NamedTuple):
    """What was found of what a person named.

    Attributes:
        given, requests: of what wish: they decide what is read, and how much of it.
        prompts: how many there are to send; None where they cannot be used.
        problem: why not, without the name; "" where they can.
        said: the same with the name, and what to do.
    """

    given: str
    requests: int | None
    prompts: int | None = None
    problem: str = ""
    said: str = ""

    def of(self, wish: Wish) -> bool:
        """Whether it is what would be found for this wish."""
        return (self.given, self.requests) == (wish.prompts, wish.requests)


def known(wish: Wish) -> Looked | None:
    """What needs no disk: a shipped set."""
    return Looked(wish.prompts, wish.requests, prompts=32) if wish.prompts in SETS else None


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

    async def look(self, wish: Wish) -> Looked:
        """What is found there now. A disk on which an earlier look hangs is not asked again."""
        path = file_of(wish.prompts)
        if path in self._given_up:
            return _silent(wish, "is still being read.")
        while (earlier := self._reads.get(path)) is not None:
            if not await self._ended(path, earlier):
                return self._late(wish)
        read = self._begin(path, wish)
        if not await self._ended(path, read):
            return self._late(wish)
        named = wish.prompts, wish.requests
        try:
            _, prompts = read.result()
        except EagletuiError as error:
            problem = error.what.removeprefix(visible(str(path))).lstrip(":, ")
            return Looked(*named, problem=problem, said=error.sentences)
        return Looked(*named, prompts=len(prompts))

    async def _ended(self, path: Path, read: _Read) -> bool:
        """Whether it ended in time."""
        await asyncio.wait([read], timeout=self._wait)
        if not read.done():
            self._given_up.add(path)
        return read.done()

    def _late(self, wish: Wish) -> Looked:
        return _silent(wish, f"could not be read in {self._wait:.0f} s.")

    def _begin(self, path: Path, wish: Wish) -> _Read:
        read = self._reads[path] = aside(partial(find_prompts, wish.prompts, wish.requests))

        def ended(_: _Read) -> None:
            del self._reads[path]
            self._given_up.discard(path)
            read.exception()  # nobody else may ask for it any more

        read.add_done_callback(ended)
        return read


def _silent(wish: Wish, problem: str) -> Looked:
    advice = "Its disk does not answer: name a file on another one."
    said = f"{visible(wish.prompts)} {problem} {advice}"
    return Looked(wish.prompts, wish.requests, problem=problem, said=said)
