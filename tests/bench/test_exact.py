"""Prompts of an exact length, by the server's tokenizer."""

from __future__ import annotations

import aiohttp
import pytest

from eagletui.bench import exact
from eagletui.bench.plan import Plan, Prompt
from eagletui.model.errors import EagletuiError


async def test_prompts_without_a_token_are_no_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    ids: dict[str, tuple[int, ...]] = {"one": (7, 8), "none": ()}

    async def tokenize(text: str, *_: object) -> tuple[int, ...]:
        return ids[text]

    monkeypatch.setattr(exact, "tokenize", tokenize)
    both = Plan(
        prompts=(Prompt(text="one"), Prompt(text="none")), endpoint="/generate", input_tokens=5
    )
    async with aiohttp.ClientSession() as session:
        found = await exact.exact(both, session, "", {})
        assert [prompt.ids for prompt in found.prompts] == [(7, 8, 7, 8, 7)]
        empty = Plan(prompts=both.prompts[1:], endpoint="/generate", input_tokens=5)
        with pytest.raises(EagletuiError, match="no token in any of the prompts"):
            await exact.exact(empty, session, "", {})
