"""The process behind `python -m sglang.launch_server` on a simulated host.

It loads, binds its HTTP port, serves and ends as the real one does; its log goes to standard error.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import importlib
import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from eagletui.simulator.families import Source
from eagletui.simulator.flags import Flags, parse_flags
from eagletui.simulator.gpuload import Activity, GpuLoad
from eagletui.simulator.loading import Crash, Line, Loader, Memory, Raw, Stall, Wait, Workers
from eagletui.simulator.processes import fork_worker, live_on_lease
from eagletui.simulator.releases import RELEASES, Release, access, prefill_line, record
from eagletui.simulator.scenarios import SCENARIOS, Scenario, ServerPlan
from eagletui.simulator.serving import Serving

FOLDER = "EAGLETUI_SIMULATOR"
"""The environment variable that names the simulated host's folder."""
SETTINGS = "simulation.json"
_TICK = 0.04
_DRAIN_EVERY = 5.0


class Settings:
    """What the simulated host tells its servers, as a file in its folder."""

    def __init__(self, folder: Path) -> None:
        values: dict[str, Any] = json.loads((folder / SETTINGS).read_text())
        self.folder = folder
        self.scenario: Scenario = SCENARIOS[values["scenario"]]
        self.release: Release = RELEASES[values["release"]]
        self.speed = float(values["speed"])
        self.ports: dict[int, int] = {int(k): int(v) for k, v in values["ports"].items()}

    def plan(self, flags: Flags) -> ServerPlan:
        """The plan of the server on this port, else of the same model, else the first."""
        servers = self.scenario.servers or SCENARIOS["h200-dense"].servers
        for plan in servers:
            if self.ports.get(plan.port, plan.port) == flags.port:
                return plan
        return next((plan for plan in servers if plan.model == flags.model_path), servers[0])


class Server:
    """One server from its first line to its last."""

    def __init__(
        self, settings: Settings, argv: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        self.settings = settings
        self.argv = list(argv)
        self.release = settings.release
        self.flags = parse_flags(argv, self.release)
        self.plan = settings.plan(self.flags)
        self.speed = settings.speed
        gpu = settings.scenario.gpu
        self.loader = Loader(
            self.plan,
            self.flags,
            self.release,
            gpu_gb=gpu.memory / 1024 if gpu else 64.0,
            speed=self.speed,
        )
        self.serving = Serving(
            self.plan.machine,
            self.flags,
            self.release,
            self.plan.traffic,
            environment,
            self._say_first,
            began=time.time(),
            capacity=self.plan.loading.kv_tokens,
            seed=self.plan.seed,
        )
        self.ready = False
        self.stopping = False
        self.workers: dict[int, str] = {}
        self._busy = 0.0
        self._memory = 0.3
        self._gpus = GpuLoad(settings.folder / "load", gpu, self.plan.gpus)
        self._ended: asyncio.Future[int] | None = None

    # --- writing -------------------------------------------------------------------------------

    def write(self, text: str) -> None:
        """Text as it is, unbuffered."""
        os.write(2, text.encode())

    def say(self, message: str, *, rank: str | None = None, at: float | None = None) -> None:
        """A log record; the scheduler of the first rank unless said otherwise."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
        self.write(record(stamp, message, self.loader.first if rank is None else rank))

    def _say_first(self, at: float, message: str) -> None:
        self.say(message, at=at)

    # --- life ----------------------------------------------------------------------------------

    async def run(self) -> int:
        """Load, serve, end; the exit status."""
        loop = asyncio.get_running_loop()
        self._ended = loop.create_future()
        loop.add_signal_handler(signal.SIGQUIT, self._quit)
        loop.add_signal_handler(signal.SIGINT, self._quit)
        tasks = [
            asyncio.create_task(self._gpus.tell(self._gpu_activity)),
            asyncio.create_task(self._live()),
        ]
        for task in tasks:
            task.add_done_callback(self._failed)
        try:
            return await self._ended
        finally:
            for task in tasks:
                task.cancel()

    def _failed(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (problem := task.exception()) is not None:
            self.write(f"the simulation failed: {problem!r}\n")
            self.end(1)

    def end(self, status: int) -> None:
        """Finish `run`."""
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(status)

    async def sleep(self, seconds: float) -> None:
        """Wait in real time."""
        await asyncio.sleep(seconds)

    async def _live(self) -> None:
        await self._load()
        if not await self._bind():
            return
        await self._warm_up()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._terminate)
        while True:
            self._step()
            await self.sleep(_TICK)

    async def _load(self) -> None:
        due = time.monotonic()
        for act in self.loader.script():
            if isinstance(act, Wait):
                self._busy = act.busy
                due += act.seconds / self.speed
                await self.sleep(max(0.0, due - time.monotonic()))
            elif isinstance(act, Line):
                self.say(act.message, rank=act.rank)
            elif isinstance(act, Raw):
                self.write(act.text)
            elif isinstance(act, Memory):
                self._memory = act.used
            elif isinstance(act, Workers):
                self._start_workers()
            elif isinstance(act, Crash):
                await self._crash(act)
            elif isinstance(act, Stall):
                self._busy = 0.0
                await asyncio.Event().wait()

    def _start_workers(self) -> None:
        for rank in self.loader.ranks:
            title = f"sglang::scheduler_{rank}" if rank else "sglang::scheduler"
            self.workers[fork_worker(title)] = rank
        self.workers[fork_worker("sglang::detokenizer")] = "detokenizer"
        live_on_lease(self.settings.folder)
        asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, self._child_ended)
        asyncio.get_running_loop().run_in_executor(None, importlib.import_module, "aiohttp.web")

    async def _bind(self) -> bool:
        from aiohttp import web

        from eagletui.simulator.web import build

        runner = web.AppRunner(build(self), access_log=None, handle_signals=False)
        await runner.setup()
        self.say(f"INFO:     Started server process [{os.getpid()}]", rank="")
        self.say("INFO:     Waiting for application startup.", rank="")
        self.say("INFO:     Application startup complete.", rank="")
        try:
            site = web.TCPSite(runner, self.flags.host, self.flags.port)
            await site.start()
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                raise
            self.say(
                f"ERROR:    [Errno {errno.EADDRINUSE}] error while attempting to bind on address "
                f"('{self.flags.host}', {self.flags.port}): address already in use",
                rank="",
            )
            self.say("INFO:     Waiting for application shutdown.", rank="")
            self.say("INFO:     Application shutdown complete.", rank="")
            self._kill_tree()
            self.end(1)
            return False
        self.say(
            f"INFO:     Uvicorn running on http://{self.flags.host}:{self.flags.port} "
            "(Press CTRL+C to quit)",
            rank="",
        )
        return True

    async def _warm_up(self) -> None:
        release, seconds = self.release, self.plan.loading.warm_up / self.speed
        client = f"{self.flags.host}:{40000 + os.getpid() % 20000}"
        self.say(access(client, "GET", release.warm_up_path, 200, "OK"), rank="")
        self._busy = 0.6
        await self.sleep(seconds)
        self.say(
            prefill_line(
                release,
                new_seq=1,
                new_token=11,
                cached=0,
                usage=0.0,
                running=0,
                queued=0,
                pending=0,
                device="cpu" if self.flags.device == "cpu" else "cuda",
                graph=False,
                throughput=11 / max(seconds, 1e-3),
                occupancy=float("nan") if self.serving.counters.timer else None,
            )
        )
        self.say(access(client, "POST", "/generate", 200, "OK"), rank="")
        if release.freezes_gc:
            self.say(access(client, "POST", "/freeze_gc", 200, "OK"), rank="")
        self.say("The server is fired up and ready to roll!", rank="")
        self.ready = True
        self.serving.began = self.serving.clock = time.time()
        self.serving.reset_windows()

    def _step(self) -> None:
        serving, now = self.serving, time.time()
        dead = self.plan.fate == "deadlocks" and now - serving.began >= self.plan.fate_at
        if dead and serving.running:
            serving.frozen = True
        serving.advance(now)

    def metrics_source(self) -> Source:
        """What `/metrics` shows."""
        loading, took = self.plan.loading, self.loader.took
        graphs = {"decode": "decode", "verify": "target_verify", "draft": "draft_decode"}
        startup = {
            "load_weight": took.get("weights/target", 0.0),
            "kv_cache_allocation": took.get("kv", 0.0),
            "scheduler_e2e": sum(took.values()),
            "tokenizer_e2e": sum(took.values()) + loading.imports / self.speed,
            "graph prefill": 0.0,
        }
        for ours, theirs in (graphs | {"extend": "draft_extend"}).items():
            startup[f"graph {theirs}"] = took.get(ours, 0.0)
        return Source(
            serving=self.serving,
            available_gb=self.loader.avail,
            weights_gb=loading.weights_gb,
            kv_gb=loading.kv_gb,
            graphs_gb=loading.graphs_gb,
            context=self.flags.context_length or loading.context,
            startup=startup,
        )

    def _gpu_activity(self) -> Activity:
        schedulers = [pid for pid, name in self.workers.items() if name != "detokenizer"]
        return Activity(
            pids=tuple(schedulers),
            memory_gb=self._memory,
            busy=None if self.ready else self._busy,
            active_seconds=self.serving.active,
            hung=self.serving.frozen,
        )

    # --- the end -------------------------------------------------------------------------------

    def _terminate(self) -> None:
        if self.stopping:
            return
        self.stopping = True
        self.serving.draining = True
        self.say(self.release.draining, rank="")
        self._drain = asyncio.create_task(self._drained())

    async def _drained(self) -> None:
        """Every 5 s (of speed 1, at least a tenth): how many requests are left."""
        while True:
            await self.sleep(max(0.5, _DRAIN_EVERY / self.speed))
            left = [*self.serving.running, *self.serving.waiting]
            rids = [request.rid for request in left]
            self.say(self.release.drained.format(remaining=len(left), rids=rids), rank="")
            if not left:
                break
        self.say(self.release.killing.format(pid=os.getpid()), rank="")
        self._kill_tree()
        self.end(0)

    def _quit(self) -> None:
        self.stopping = True
        self.say(self.release.killing.format(pid=os.getpid()), rank="")
        self._kill_tree()
        self.end(131)

    async def _crash(self, act: Crash) -> None:
        self.write("\n")
        self.say(act.message, rank=act.rank)
        self.stopping = True
        self.say(self.release.child_failed, rank="")
        self._kill_tree()
        self.end(1)
        await asyncio.Event().wait()

    def _child_ended(self) -> None:
        """A scheduler was killed: the whole server goes."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            rank = self.workers.pop(pid, "")
            if self.stopping:
                continue
            self.stopping = True
            name = "detokenizer" if rank == "detokenizer" else f"scheduler_{rank[2:] or 0}"
            code = os.waitstatus_to_exitcode(status)
            for line in self.release.child_lost:
                self.say(line.format(name=name, child=pid, code=code), rank="")
            self._kill_tree()
            self.end(1)

    def _kill_tree(self) -> None:
        for pid in self.workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def main() -> NoReturn:
    """Run as `sglang.launch_server` inside a simulated host."""
    folder = os.environ.get(FOLDER)
    if not folder:
        sys.exit("This sglang is a stand-in and runs only inside an eagletui simulated host.")
    settings = Settings(Path(folder))
    if {"-h", "--help"} & set(sys.argv[1:]):
        from eagletui.simulator.help import help_text  # no server needs it

        sys.stdout.write(help_text(settings.release.version))
        sys.exit(0)
    server = Server(settings, sys.argv[1:], os.environ)

    async def live() -> NoReturn:
        # A loop closes its wake-up descriptor before it takes the handlers of signals back: the
        # end of a worker in between would be complained of as the log's last words.
        os._exit(await server.run())

    asyncio.run(live())
