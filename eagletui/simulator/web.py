"""The HTTP side of a simulated server, as `aiohttp.web` handlers."""

from __future__ import annotations

import datetime
import json
import secrets
import time
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from aiohttp import web

from eagletui.simulator.chat import answer, counted, submitted, words
from eagletui.simulator.metricspage import render
from eagletui.simulator.releases import access

if TYPE_CHECKING:
    from eagletui.simulator.server import Server

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_OPEN = ("/health", "/metrics", "/ready")
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}
_REASONS |= {503: "Service Unavailable"}
_HEALTH_TIMEOUT = 20
_UNHEALTHY = (
    "Health check failed. Server couldn't get a response from detokenizer for last "
    "{seconds} seconds."
)
_DEPRECATED = (
    "Endpoint '/get_{name}' is deprecated and will be removed in a future version. "
    "Please use '/{name}' instead."
)
METRICS_TYPE = "text/plain; version=1.0.0; charset=utf-8"


def build(server: Server) -> web.Application:
    """The application with the paths this release has."""
    app = web.Application(middlewares=[_watch(server), _guard(server)])
    pages = Pages(server)
    release = server.release
    get, post = app.router.add_get, app.router.add_post
    get("/health", pages.health)
    get("/health_generate", pages.health)
    get("/get_model_info", pages.model_info)
    get("/get_server_info", pages.server_info)
    get("/v1/models", pages.models)
    post("/generate", pages.generate)
    post("/v1/chat/completions", pages.chat)
    post("/abort_request", pages.abort)
    app.router.add_route("*", "/flush_cache", pages.flush)
    if release.since(0, 5, 6):
        get("/model_info", pages.model_info)
        get("/server_info", pages.server_info)
    if release.since(0, 5, 8):
        get("/v1/loads", pages.loads)
    if release.since(0, 5, 20):
        get("/ready", pages.ready)
    if server.flags.metrics:
        get("/metrics", pages.metrics)
        get("/metrics/", pages.metrics)
    return app


def _watch(server: Server) -> Any:
    """Write uvicorn's line for each request; answer unknown paths as FastAPI does."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            response = await handler(request)
        except web.HTTPException as problem:
            words = {404: "Not Found", 405: "Method Not Allowed"}.get(problem.status, "Error")
            response = _json({"detail": words}, status=problem.status)
        peer = request.transport.get_extra_info("peername") if request.transport else None
        client = f"{peer[0]}:{peer[1]}" if peer else "127.0.0.1:0"
        reason = _REASONS.get(response.status, response.reason or "")
        server.say(
            access(client, request.method, request.path_qs, response.status, reason), rank=""
        )
        return response

    return middleware


def _guard(server: Server) -> Any:
    """Refuse what needs the API key."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        key = server.flags.api_key
        if key and not request.path.startswith(_OPEN):
            given = request.headers.get("Authorization", "").removeprefix("Bearer ")
            if not secrets.compare_digest(given.encode(), key.encode()):
                return _json({"error": "Unauthorized"}, status=401)
        return await handler(request)

    return middleware


def _json(value: Any, status: int = 200) -> web.Response:
    body = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return web.Response(text=body, status=status, content_type="application/json")


class Pages:
    """The handlers of one server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.serving = server.serving

    async def health(self, _: web.Request) -> web.Response:
        """503 until ready and while draining; else one token is asked for, which takes a second.

        Up to 0.4.6 it answers at once. With a hung scheduler it waits 20 s in vain.
        """
        server, serving = self.server, self.serving
        if not server.ready or serving.draining:
            return web.Response(status=503)
        if not server.release.since(0, 4, 10):
            return web.Response(status=200)
        probe = serving.submit(1, 1)
        for _second in range(_HEALTH_TIMEOUT):
            await server.sleep(1.0)
            if probe.finished is not None:
                return web.Response(status=200)
        server.say(_UNHEALTHY.format(seconds=_HEALTH_TIMEOUT), rank="")
        return web.Response(status=503)

    async def ready(self, _: web.Request) -> web.Response:
        """200 or 503 at once."""
        return web.Response(status=200 if self.server.ready else 503)

    def _warn(self, request: web.Request) -> None:
        """Later releases regret their old paths in the log."""
        name = request.path.removeprefix("/get_")
        if name != request.path and self.server.release.since(0, 5, 6):
            self.server.say(_DEPRECATED.format(name=name), rank="")

    async def model_info(self, request: web.Request) -> web.Response:
        """What is served."""
        self._warn(request)
        model = self.server.flags.model_path
        return _json(
            {
                "model_path": model,
                "tokenizer_path": model,
                "is_generation": True,
                "preferred_sampling_params": None,
                "weight_version": "default",
                "has_image_understanding": False,
                "has_audio_understanding": False,
                "model_type": "llama",
                "architectures": [self.server.plan.loading.target_type],
            }
        )

    async def server_info(self, request: web.Request) -> web.Response:
        """Resolved arguments, scheduler facts and the internal state."""
        self._warn(request)
        server, serving = self.server, self.serving
        gauges = serving.counters.gauges
        args = server.flags.as_server_args()
        state: dict[str, Any] = {
            **args,
            "last_gen_throughput": gauges.gen_throughput,
            "memory_usage": {
                "weight": server.plan.loading.weights_gb,
                "kvcache": server.plan.loading.kv_gb,
                "token_capacity": serving.capacity,
                "graph": server.plan.loading.graphs_gb,
            },
            "effective_max_running_requests_per_dp": server.flags.running_limit,
        }
        if gauges.lifetime_accept_length:
            state["avg_spec_accept_length"] = gauges.lifetime_accept_length
        info: dict[str, Any] = {
            **args,
            "status": "ready",
            "max_total_num_tokens": serving.capacity,
            "max_req_input_len": server.plan.loading.context - 6,
            "internal_states": [state],
            "version": server.release.version,
        }
        if server.release.since(0, 5, 20):
            info["launch_command"] = " ".join(server.argv)
        return _json(info)

    async def loads(self, _: web.Request) -> web.Response:
        """`/v1/loads`, with `decode_moments` from 0.5.18."""
        server, serving = self.server, self.serving
        gauges, now = serving.counters.gauges, time.time()
        load: dict[str, Any] = {
            "timestamp": now,
            "dp_rank": 0,
            "num_running_reqs": len(serving.running),
            "num_waiting_reqs": len(serving.waiting),
            "num_waiting_uncached_tokens": 0,
            "num_used_tokens": serving.held,
            "num_total_tokens": serving.held,
            "max_total_num_tokens": serving.capacity,
            "max_running_requests": server.flags.running_limit,
            "token_usage": round(serving.usage, 4),
            "gen_throughput": round(gauges.gen_throughput, 2),
            "cache_hit_rate": gauges.cache_hit_rate,
            "utilization": 0.0,
        }
        if server.release.since(0, 5, 18):
            load["total_prefill_uncached_tokens"] = serving.counters.prefill_tokens
            load["total_prefill_busy_us"] = int(serving.counters.prefill_seconds * 1e6)
            load["decode_moments"] = serving.counters.moments
        load["memory"] = {
            "weight_gb": server.plan.loading.weights_gb,
            "kv_cache_gb": server.plan.loading.kv_gb,
            "graph_gb": server.plan.loading.graphs_gb,
            "token_capacity": serving.capacity,
        }
        if server.flags.speculates:
            load["speculative"] = {
                "accept_length": gauges.lifetime_accept_length,
                "accept_rate": gauges.accept_rate,
            }
        load["queues"] = {"waiting": len(serving.waiting), "grammar": 0, "paused": 0}
        stamp = datetime.datetime.fromtimestamp(now, datetime.timezone.utc).isoformat()
        return _json({"timestamp": stamp, "version": server.release.version, "loads": [load]})

    async def models(self, _: web.Request) -> web.Response:
        """`/v1/models`."""
        model = self.server.flags.model_path
        card = {
            "id": model,
            "object": "model",
            "created": int(time.time()),
            "owned_by": "sglang",
            "root": model,
            "parent": None,
            "max_model_len": self.server.plan.loading.context,
        }
        return _json({"object": "list", "data": [card]})

    async def metrics(self, _: web.Request) -> web.Response:
        """The Prometheus page."""
        return web.Response(
            body=render(self.server.metrics_source()).encode(),
            headers={"Content-Type": METRICS_TYPE},
        )

    async def generate(self, request: web.Request) -> web.Response:
        """One request through the scheduler; its text means nothing."""
        try:
            body = await request.json()
            text = body["text"] if "text" in body else body["input_ids"]
        except (ValueError, TypeError, KeyError):
            words = "Either text, input_ids or input_embeds should be provided."
            return _json({"error": {"message": words}}, status=400)
        wanted = (body.get("sampling_params") or {}).get("max_new_tokens", 128)
        prompt = max(1, len(text.split()) if isinstance(text, str) else len(text))
        job = self.serving.submit(prompt, int(wanted))
        while job.finished is None:
            await self.server.sleep(0.02)
        meta: dict[str, Any] = {
            "id": job.rid,
            "finish_reason": {"type": "length", "length": job.generated},
            "prompt_tokens": job.prompt,
            "weight_version": "default",
            "completion_tokens": job.generated,
            "cached_tokens": job.cached,
            "e2e_latency": job.finished - job.arrived,
        }
        if self.server.flags.speculates and job.verifies:
            meta |= self._speculative(job.generated, job.verifies, job.histogram)
        return _json({"text": " token" * job.generated, "output_ids": [], "meta_info": meta})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """A chat, streamed or whole. The simulated users leave while somebody measures."""
        try:
            body = await request.json()
            job = submitted(self.serving, body)
        except (ValueError, TypeError, KeyError, AttributeError):
            return _json({"object": "error", "message": "messages are required."}, status=400)
        with self.serving.guest(job):
            if body.get("stream"):
                options = body.get("stream_options") or {}
                return await answer(
                    request,
                    job,
                    model=str(body.get("model", "")),
                    sleep=self.server.sleep,
                    usage=bool(options.get("continuous_usage_stats")),
                )
            while job.finished is None:
                await self.server.sleep(0.02)
        text = "".join(islice(words(job.prompt), job.generated))
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "length"}
        return _json({"id": job.rid, "choices": [choice], "usage": counted(job)})

    def _speculative(self, generated: int, verifies: int, histogram: list[int]) -> dict[str, Any]:
        """The request's own figures, under the names of the release."""
        release, width = self.server.release, self.server.flags.draft_tokens
        accepted = sum(index * count for index, count in enumerate(histogram))
        proposed = verifies * (width - 1)
        meta: dict[str, Any] = {"spec_verify_ct": verifies}
        if release.since(0, 5, 5):
            meta["spec_accept_rate"] = accepted / max(1, proposed)
            meta["spec_accept_length"] = generated / verifies
        if release.since(0, 5, 12):
            meta["spec_num_correct_drafts"] = accepted
            meta["spec_num_proposed_drafts"] = proposed
            meta["spec_correct_drafts_histogram"] = histogram
        if release.since(0, 5, 9) and not release.since(0, 5, 21):
            meta["spec_accept_histogram"] = histogram
        return meta

    async def abort(self, request: web.Request) -> web.Response:
        """`/abort_request`: with `abort_all` every request ends."""
        body = await request.json() if request.can_read_body else {}
        if body.get("abort_all"):
            self.serving.abort_all()
        return web.Response(status=200)

    async def flush(self, _: web.Request) -> web.Response:
        """`/flush_cache`: refused while requests run."""
        if self.serving.running or self.serving.waiting:
            return web.Response(status=400)
        return web.Response(text="Cache flushed.\n", status=200)
