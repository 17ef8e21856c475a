"""A small server that streams as SGLang does, and misbehaves on demand."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

Misbehave = Callable[[int], str]
"""By the number of the request, from 0: "" answers well; else a word that `FakeServer` knows."""

WORDS = (
    "the ferry leaves at nine and {} people wait on the pier while {} gulls argue over bread; "
    "nobody asked for {} umbrellas, yet the shop near gate {} sold them all before noon {}"
)


class FakeServer:
    """SGLang's streaming, in small.

    Args:
        chunk: tokens of each chunk.
        misbehave: what goes wrong with which request: `500`, `close` (in the middle), `hang`
            (after two chunks), `die` (this and every later connection is closed at once),
            `error` (an error event), `loop` (the same words again and again).
        continuous: whether usage comes with each chunk.
        spec: whether replies tell of drafts.
        native_repeats: whether each chunk of `/generate` holds the whole text so far.
    """

    def __init__(
        self,
        *,
        chunk: int = 2,
        pace: float = 0.002,
        misbehave: Misbehave = lambda _: "",
        continuous: bool = True,
        spec: bool = True,
        native_repeats: bool = True,
    ) -> None:
        self.chunk = chunk
        self.pace = pace
        self.misbehave = misbehave
        self.continuous = continuous
        self.spec = spec
        self.native_repeats = native_repeats
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.under_way = 0
        self.most_under_way = 0
        self.generated = 0
        self.prompted = 0
        self.steps = 0
        self.others = 0
        self.usage = 0.1
        self.retracted = 0
        self.dead = False
        self.flushed = 0
        self.metrics = True
        self.loads: str | None = None
        """What `/v1/loads` tells of decoding: None nothing, for a release before 0.5.8."""
        self.asked: list[str] = []
        app = web.Application(client_max_size=1 << 26)
        for path in ("/v1/chat/completions", "/v1/completions", "/generate"):
            app.router.add_post(path, self._stream)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/v1/loads", self._loads)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/server_info", self._info)
        app.router.add_post("/tokenize", self._tokenize)
        app.router.add_post("/flush_cache", self._flush)
        self.server = TestServer(app)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        number = len(self.bodies)
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        wrong = self.misbehave(number)
        if wrong == "die":
            self.dead = True
        if self.dead:
            assert request.transport is not None
            request.transport.abort()
            raise ConnectionResetError
        if wrong == "500":
            return web.json_response({"message": "out of luck"}, status=500)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            return await self._tokens(request, body, wrong)
        finally:
            self.under_way -= 1

    async def _tokens(
        self, request: web.Request, body: dict[str, Any], wrong: str
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        response.enable_chunked_encoding()
        await response.prepare(request)
        native = request.path == "/generate"
        parameters = body["sampling_params"] if native else body
        total = parameters["max_new_tokens"] if native else parameters["max_tokens"]
        chat = request.path.startswith("/v1/chat")
        prompt = 7
        self.prompted += prompt
        text, count, steps = "", 0, 0
        while count < total:
            await asyncio.sleep(self.pace)
            size = min(self.chunk, total - count)
            count += size
            steps += 1
            self.generated += size
            self.steps += 1
            piece = (
                "again and again. "
                if wrong == "loop"
                else WORDS.format(*(f"{count}{letter}" for letter in "abcde")) + '" \\ '
            )
            text += piece
            if native:
                meta = {
                    "prompt_tokens": prompt,
                    "completion_tokens": count,
                    "cached_tokens": 3,
                    **(_spec(steps, count) if self.spec else {}),
                }
                shown = text if self.native_repeats else piece
                event: dict[str, Any] = {"text": shown, "meta_info": meta}
            else:
                part = {"delta": {"content": piece}} if chat else {"text": piece}
                event = {"choices": [{"index": 0, **part, "finish_reason": None}]}
                if self.continuous:
                    event["usage"] = {"prompt_tokens": prompt, "completion_tokens": count}
            await _say(response, event)
            if wrong == "error":
                await _say(response, {"error": {"message": "no memory left"}})
                return response
            if steps == 2 and wrong == "close":
                assert request.transport is not None
                request.transport.abort()
                return response
            if steps == 2 and wrong == "hang":
                await asyncio.sleep(3600)
        if not native:
            if self.spec and body.get("return_spec_tokens_details"):
                details = {"spec_tokens_details": _spec(steps, count)}
                await _say(response, {"choices": [], "sglext": details})
            usage = {"prompt_tokens": prompt, "completion_tokens": count}
            await _say(response, {"choices": [], "usage": usage})
        await response.write(b"data: [DONE]\n\n")
        return response

    async def _loads(self, request: web.Request) -> web.Response:
        self.asked.append("loads")
        if self.loads is None:
            return web.Response(status=404)
        load: dict[str, Any] = {
            "num_running_reqs": self.under_way + self.others,
            "num_waiting_reqs": 0,
            "token_usage": self.usage,
        }
        if self.loads == "moments" and self.steps:
            # Steps of one request, of 2 ms each.
            steps = self.steps
            load["decode_moments"] = [steps, steps, 2e3 * steps, steps, 2e3 * steps, self.generated]
        return web.json_response({"loads": [load]})

    async def _metrics(self, request: web.Request) -> web.Response:
        self.asked.append("metrics")
        if not self.metrics or self.dead:
            return web.Response(status=404)
        label = '{model_name="m",tp_rank="0",pp_rank="0"}'
        rows = {
            "sglang:num_running_reqs": self.under_way + self.others,
            "sglang:num_queue_reqs": 0,
            "sglang:token_usage": self.usage,
            "sglang:num_retracted_reqs": self.retracted,
            "sglang:generation_tokens_total": self.generated,
            "sglang:prompt_tokens_total": self.prompted,
        }
        lines = [f"{name}{label} {float(value)}" for name, value in rows.items()]
        lines += [
            f'sglang:realtime_tokens_total{{mode="decode",tp_rank="0",pp_rank="0"}} '
            f"{float(self.generated)}",
            f'sglang:cuda_graph_passes_total{{mode="decode_cuda_graph",tp_rank="0",pp_rank="0"}} '
            f"{float(self.steps)}",
        ]
        return web.Response(text="\n".join(lines) + "\n")

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "m"}]})

    async def _info(self, request: web.Request) -> web.Response:
        return web.json_response(
            {"version": "0.5.23", "model_path": "m", "served_model_name": "m", "api_key": None}
        )

    async def _tokenize(self, request: web.Request) -> web.Response:
        body = await request.json()
        tokens = list(range(len(body["prompt"].split())))
        return web.json_response({"tokens": tokens, "count": len(tokens), "max_model_len": 4096})

    async def _flush(self, request: web.Request) -> web.Response:
        self.flushed += 1
        return web.Response(text="Cache flushed.")


def _spec(steps: int, tokens: int) -> dict[str, Any]:
    # Every step but the last accepts as many drafts.
    correct = tokens - steps
    histogram = [0, steps] if correct == steps else [steps - correct, correct]
    return {
        "spec_verify_ct": steps,
        "spec_num_correct_drafts": correct,
        "spec_correct_drafts_histogram": histogram,
    }


async def _say(response: web.StreamResponse, event: dict[str, Any]) -> None:
    await response.write(b"data: " + json.dumps(event).encode() + b"\n\n")


@contextlib.asynccontextmanager
async def serving(**how: Any) -> AsyncIterator[FakeServer]:
    """A server while it is needed."""
    fake = FakeServer(**how)
    await fake.server.start_server()
    try:
        yield fake
    finally:
        await fake.server.close()
