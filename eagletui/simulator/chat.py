"""`/v1/chat/completions` of a simulated server: words that mean nothing, told as they are made."""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from aiohttp import web

from eagletui.simulator.serving import Request, Serving

LOOK_EVERY = 0.01
"""Seconds between two looks at how far a request is."""

_WORDS = (
    *("ferry", "river", "lantern", "copper", "morning", "bread", "signal", "harbour"),
    *("window", "seven", "engine", "violet", "paper", "bridge", "winter", "market"),
    *("kettle", "garden", "stone", "letter", "orchard", "thunder", "silver", "compass"),
)


def words(seed: int) -> Iterator[str]:
    """Text that does not loop."""
    chance = random.Random(seed)
    while True:
        yield f" {chance.choice(_WORDS)}{chance.randrange(100)}"


def submitted(serving: Serving, body: dict[str, Any]) -> Request:
    """The request of a body, on its way.

    Raises:
        TypeError, KeyError, ValueError: it is none.
    """
    prompt = sum(len(str(message["content"]).split()) for message in body["messages"])
    return serving.submit(max(1, prompt), int(body.get("max_tokens") or 128))


async def answer(
    request: web.Request,
    job: Request,
    *,
    model: str,
    sleep: Callable[[float], Awaitable[None]],
    usage: bool,
) -> web.StreamResponse:
    """Stream it, with the tokens so far in each chunk where `usage` is asked for."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)
    text, told = words(job.prompt), 0
    head = {"id": job.rid, "object": "chat.completion.chunk", "created": int(time.time())}

    async def say(choices: list[dict[str, Any]], **more: Any) -> None:
        event = {**head, "model": model, "choices": choices, **more}
        await response.write(b"data: " + json.dumps(event).encode() + b"\n\n")

    with contextlib.suppress(ConnectionResetError):
        while job.finished is None or told < job.generated:
            if told == job.generated:
                await sleep(LOOK_EVERY)
                continue
            made = "".join(next(text) for _ in range(job.generated - told))
            told = job.generated
            delta = {"index": 0, "delta": {"content": made}, "finish_reason": None}
            await say([delta], **({"usage": counted(job)} if usage else {}))
        await say([{"index": 0, "delta": {}, "finish_reason": "length"}])
        await say([], usage=counted(job))
        await response.write(b"data: [DONE]\n\n")
    return response


def counted(job: Request) -> dict[str, int]:
    """`usage` as SGLang writes it."""
    return {
        "prompt_tokens": job.prompt,
        "completion_tokens": job.generated,
        "total_tokens": job.tokens,
    }
