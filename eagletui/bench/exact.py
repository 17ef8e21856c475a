"""Prompts of an exact length in tokens, by the server's own tokenizer."""

from __future__ import annotations

import asyncio

import aiohttp
from msgspec.structs import replace

from eagletui.bench.load import Endpoint
from eagletui.bench.plan import Plan, Prompt
from eagletui.model.bodies import body_of
from eagletui.model.errors import EagletuiError, UsageError
from eagletui.model.jsontext import read_json
from eagletui.model.safe import excerpt

# Newer releases serve both; it is in 0.5.23 and not in 0.4.6.
PATHS = ("/tokenize", "/v1/tokenize")
MOST = 64 << 20
"""Bytes of the largest reply that is read: the prompts of a file are fewer together."""

_OTHERWISE = (AttributeError, KeyError, TypeError)
"""JSON of another form."""

_LIMIT = aiohttp.ClientTimeout(total=60.0, sock_connect=5.0)


def must_take_lengths(endpoint: Endpoint, input_tokens: int | None) -> None:
    """Refuse an exact length where the endpoint takes none: no server is needed to know that.

    Raises:
        UsageError: the endpoint takes no token numbers.
    """
    if input_tokens is not None and endpoint == "/v1/chat/completions":
        raise UsageError(
            "An exact length of the input needs --endpoint /generate or /v1/completions.",
            meaning="The chat template adds tokens of its own, as many as it likes.",
        )


async def exact(
    plan: Plan, session: aiohttp.ClientSession, url: str, headers: dict[str, str]
) -> Plan:
    """The plan with each prompt cut, or repeated, to `input_tokens` tokens.

    Raises:
        UsageError: the endpoint takes no token numbers, or the model's context not so many.
        EagletuiError: the server does not tokenize, or finds no token in any prompt.
    """
    if plan.input_tokens is None:
        return plan
    must_take_lengths(plan.endpoint, plan.input_tokens)
    context = await context_of(session, url, headers)
    if context is not None and plan.input_tokens + plan.output_tokens > context:
        raise UsageError(
            f"{plan.input_tokens} tokens of input and {plan.output_tokens} of output are more than "
            f"the {context} of this model's context.",
            advice="Name a smaller --input-tokens or --output-tokens.",
        )
    prompts = []
    for prompt in plan.prompts:
        ids = await tokenize(prompt.text, session, url, headers)
        if not ids:
            continue
        rounds = -(-plan.input_tokens // len(ids))
        prompts.append(Prompt(text=prompt.text, ids=(ids * rounds)[: plan.input_tokens]))
    if not prompts:
        raise EagletuiError(
            "The server's tokenizer finds no token in any of the prompts.",
            advice="Leave --input-tokens out, or give other prompts.",
        )
    return replace(plan, prompts=tuple(prompts))


async def context_of(
    session: aiohttp.ClientSession, url: str, headers: dict[str, str]
) -> int | None:
    """How many tokens a request may have with its reply; None where the server does not say.

    `max_model_len` of `/v1/models` (0.5.23); that of `/tokenize` is the tokenizer's own.
    """
    try:
        async with session.get(url + "/v1/models", headers=headers, timeout=_LIMIT) as response:
            body, _ = await body_of(response.content.iter_any(), MOST)
        cards = read_json(body)["data"]
        told = [card.get("max_model_len") for card in cards]
    except (aiohttp.ClientError, OSError, asyncio.TimeoutError, ValueError, *_OTHERWISE):
        return None
    return max((length for length in told if isinstance(length, int) and length > 0), default=None)


async def tokenize(
    text: str, session: aiohttp.ClientSession, url: str, headers: dict[str, str]
) -> tuple[int, ...]:
    """A text's token numbers.

    Raises:
        EagletuiError: the server does not tokenize, with what it said.
    """
    said = ""
    for path in PATHS:
        try:
            async with session.post(
                url + path, json={"prompt": text}, headers=headers, timeout=_LIMIT
            ) as response:
                body, _ = await body_of(response.content.iter_any(), MOST)
                said = f"HTTP {response.status} for {path}: {excerpt(body, 120)}"
                ids = _ids(body) if response.status == 200 else None
        except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
            said = str(error)
            continue
        if ids is not None:
            return ids
    raise EagletuiError(
        f"The server does not tokenize ({said}).",
        meaning="Without its tokenizer no length in tokens is exact.",
        advice="Leave --input-tokens out: each request's own count is measured anyway. Releases "
        "that tokenize have /tokenize (seen in 0.5.23).",
    )


def _ids(body: bytes) -> tuple[int, ...] | None:
    try:
        found = read_json(body)
    except ValueError:
        return None
    tokens = found.get("tokens") if isinstance(found, dict) else None
    if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
        return None
    return tuple(tokens)
