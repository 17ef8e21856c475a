"""Prompts of an exact length, by the server's tokenizer."""

from __future__ import annotations

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from eagletui.bench import exact
from eagletui.bench.plan import Plan, Prompt
from eagletui.model.errors import EagletuiError, UsageError


async def test_prompts_without_a_token_are_no_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    ids: dict[str, tuple[int, ...]] = {"one": (7, 8), "none": ()}

    async def tokenize(text: str, *_: object) -> tuple[int, ...]:
        return ids[text]

    async def no_context(*_: object) -> None:
        return None

    monkeypatch.setattr(exact, "tokenize", tokenize)
    monkeypatch.setattr(exact, "context_of", no_context)
    both = Plan(
        prompts=(Prompt(text="one"), Prompt(text="none")), endpoint="/generate", input_tokens=5
    )
    async with aiohttp.ClientSession() as session:
        found = await exact.exact(both, session, "", {})
        assert [prompt.ids for prompt in found.prompts] == [(7, 8, 7, 8, 7)]
        empty = Plan(prompts=both.prompts[1:], endpoint="/generate", input_tokens=5)
        with pytest.raises(EagletuiError, match="no token in any of the prompts"):
            await exact.exact(empty, session, "", {})


@pytest.mark.parametrize(
    ("told", "refused"),
    [
        ({"data": [{"id": "m", "max_model_len": 41}]}, True),
        (
            {"data": [{"id": "m", "max_model_len": 42}, {"id": "lora", "max_model_len": None}]},
            False,
        ),
        ({"data": [{"id": "m"}]}, False),
        ({"data": ["m"]}, False),
        (["m"], False),
    ],
)
async def test_more_than_the_context_is_refused_before_prompts_are_made(
    told: object, refused: bool
) -> None:
    """A prompt of millions of tokens would be made 32 times, and refused one by one."""

    async def models(request: web.Request) -> web.Response:
        return web.json_response(told)

    async def tokens(request: web.Request) -> web.Response:
        # The tokenizer's own limit is another.
        return web.json_response({"tokens": [7, 8], "max_model_len": 10})

    app = web.Application()
    app.add_routes([web.get("/v1/models", models), web.post("/tokenize", tokens)])
    plan = Plan(
        prompts=(Prompt(text="one"),), endpoint="/generate", input_tokens=33, output_tokens=9
    )
    async with TestServer(app) as server, aiohttp.ClientSession() as session:
        url = str(server.make_url("")).rstrip("/")
        if refused:
            with pytest.raises(UsageError, match=r"33 tokens .* 9 of output .* the 41 of"):
                await exact.exact(plan, session, url, {})
        else:
            (prompt,) = (await exact.exact(plan, session, url, {})).prompts
            assert len(prompt.ids) == 33
