"""The load client against a server in another process that stamps every chunk when it sends it.

`fake_server.rs` writes into each chunk the monotonic time at which it was sent: a reader's TPOT is
compared with the server's own. Beside ours, in the same run: a loop that only reads the bytes with
aiohttp, and SGLang's own client where `tests/live/lab` is installed. Streams a process can hold
follow from its CPU seconds a chunk, for wall time is other people's as well.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import aiohttp

from eagletui.bench import client
from eagletui.bench.load import Load, Moving, Reply
from eagletui.bench.onhost import job
from eagletui.hostside import bench_client
from eagletui.hostside.stream_meter import StreamMeter

HERE = Path(__file__).parent
LAB = Path(os.environ.get("SGLANG_LAB") or Path.home() / ".cache" / "sglang-lab")
TICK_MS = 25.0
CHUNKS = 100
TTFT_MS = 300.0
STREAMS = 800
FEWER = 400
_STAMP = re.compile(rb'"t":(\d+)')


class Errors(NamedTuple):
    """What one way of reading showed.

    Attributes:
        tpot: 99th percentile of |measured − true| TPOT, milliseconds.
        cpu: seconds of CPU for each chunk.
        wall: seconds.
    """

    tpot: float
    cpu: float
    wall: float


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def fake_server() -> Iterator[int]:
    """The server's port, while it runs."""
    rustc = shutil.which("rustc")
    if rustc is None:
        raise RuntimeError("rustc is needed to build fake_server.rs (apt-get install rustc)")
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/fake_server"
        subprocess.run(
            [rustc, "-O", "-o", program, str(HERE / "fake_server.rs")],
            check=True,
            capture_output=True,
        )
        port = free_port()
        server = subprocess.Popen(
            [program, str(port), str(TICK_MS), str(CHUNKS), str(TTFT_MS)],
            stderr=subprocess.DEVNULL,
        )
        try:
            _wait(port)
            yield port
        finally:
            server.kill()
            server.wait()


def _wait(port: int) -> None:
    for _ in range(500):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise RuntimeError("the fake server did not start")


class Stamped(StreamMeter):
    """A meter that also keeps the first and the last bytes, in which the server's stamps are."""

    __slots__ = ("head", "tail")

    def __init__(self, native: bool, began: float) -> None:
        super().__init__(native, began)
        self.head = self.tail = b""

    def feed(self, data: bytes, now: float) -> None:
        super().feed(data, now)
        self.head = self.head or data
        if len(data) > 40:
            self.tail = data

    def result(self) -> dict[str, Any]:
        found = super().result()
        found["error"] = found["error"] or f"{_off(self):.6f}"
        return found


def _off(meter: Stamped) -> float:
    """Milliseconds by which the measured TPOT is off the server's own."""
    assert meter.first is not None
    assert meter.last is not None
    first = int(_STAMP.findall(meter.head)[0]) / 1e9
    last = int(_STAMP.findall(meter.tail)[-1]) / 1e9
    # What came together with the first chunk counts as the first arrival.
    return abs((meter.last - meter.first) - (last - first)) * 1e3 / (meter.tokens - 1)


def _body() -> bytes:
    message = [{"role": "user", "content": "hello"}]
    return json.dumps({"model": "m", "messages": message, "stream": True}).encode()


def _load(port: int, streams: int) -> Load:
    return Load(
        url=f"http://127.0.0.1:{port}",
        endpoint="/v1/chat/completions",
        bodies=(_body(),) * streams,
        concurrency=streams,
        # As a server under load sees them: not all in one instant.
        starts=tuple(number * TTFT_MS / 1e3 / streams for number in range(streams)),
    )


def _cost(work: Callable[[], list[float]], streams: int) -> Errors:
    before = resource.getrusage(resource.RUSAGE_SELF)
    began = time.perf_counter()
    errors = sorted(work())
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    worst = errors[int(0.99 * (len(errors) - 1))] if errors else float("nan")
    return Errors(worst, cpu / (streams * CHUNKS), wall)


def ours(port: int, streams: int) -> Errors:
    """The client that sends through the user's own connections."""
    found: list[float] = []

    def heard(item: Reply | Moving) -> None:
        if isinstance(item, Reply):
            found.append(float(item.sent.error))

    async def run() -> None:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            await client.Client(session).drive(_load(port, streams), heard, asyncio.Event())

    def work() -> list[float]:
        with mock.patch.object(client, "StreamMeter", Stamped):
            asyncio.run(run())
        return found

    return _cost(work, streams)


def on_host(port: int, streams: int) -> Errors:
    """The client that is sent to the host, in this process."""
    found: list[float] = []

    class Out:
        def write(self, line: bytes) -> None:
            item = json.loads(line)
            if "index" in item:
                found.append(float(item["error"]))

        def flush(self) -> None:
            pass

    def work() -> list[float]:
        what = job(_load(port, streams))
        what["bodies"] = [body.encode() for body in what["bodies"]]
        where = bench_client.address("127.0.0.1", port)
        with mock.patch.object(bench_client, "StreamMeter", Stamped):
            bench_client.Client(what, where, Out()).run(listen=False)
        return found

    return _cost(work, streams)


def bare(port: int, streams: int) -> Errors:
    """Only reading the bytes with aiohttp, tokens known beforehand."""
    found: list[float] = []

    async def one(session: aiohttp.ClientSession, wait: float) -> None:
        await asyncio.sleep(wait)
        meter = Stamped(False, 0.0)
        tokens = sum(2 + (chunk & 1) for chunk in range(CHUNKS))
        async with session.post(
            f"http://127.0.0.1:{port}/v1/chat/completions", data=_body()
        ) as response:
            async for data in response.content.iter_any():
                if len(data) > 40:
                    meter.last, meter.tail = time.perf_counter(), data
                    meter.first, meter.head = meter.first or meter.last, meter.head or data
        meter.tokens = tokens
        found.append(_off(meter))

    async def run() -> None:
        connector = aiohttp.TCPConnector(limit=0)
        limit = aiohttp.ClientTimeout(total=None)
        async with aiohttp.ClientSession(connector=connector, timeout=limit) as session:
            starts = _load(port, streams).starts
            await asyncio.gather(*(one(session, wait) for wait in starts))

    def work() -> list[float]:
        asyncio.run(run())
        return found

    return _cost(work, streams)


_SGLANG = """
import asyncio, json, resource, sys, time, types
port, streams, wait = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
# It imports this for datasets that are not used here.
sys.modules["datasets"] = types.SimpleNamespace(load_dataset=None)
from sglang.benchmark import serving as s
s.set_global_args(types.SimpleNamespace(
    disable_stream=False, disable_ignore_eos=False, temperature=0.0, top_p=1.0, cache_report=False,
    return_logprob=False, return_routed_experts=False, print_requests=False, header=None,
    served_model_name=None, top_logprobs_num=0, token_ids_logprob=None, logprob_start_len=-1))
def ask():
    return s.RequestFuncInput(
        prompt="hello", api_url="http://127.0.0.1:%d/v1/chat/completions" % port, prompt_len=1,
        output_len=250, model="m", lora_name="", image_data=None, extra_request_body={})
# Each task's first and last stamp, seen where the client parses a chunk.
stamps = {}
class Json:
    dumps = staticmethod(json.dumps)
    @staticmethod
    def loads(text):
        data = json.loads(text)
        seen = stamps.setdefault(asyncio.current_task(), [data["t"], data["t"]])
        seen[1] = data["t"]
        return data
s.json = Json
async def one(n):
    await asyncio.sleep(n * wait / streams)
    o = await s.async_request_openai_chat_completions(ask())
    first, last = stamps.get(asyncio.current_task(), (0, 0))
    tokens = o.output_len
    taken = sum(o.itl)
    o.tpot = abs(taken - (last - first) / 1e9) * 1e3 / max(tokens - 1, 1)
    return o
async def run():
    return await asyncio.gather(*(one(n) for n in range(streams)))
before = resource.getrusage(resource.RUSAGE_SELF)
began = time.perf_counter()
out = asyncio.run(run())
wall = time.perf_counter() - began
after = resource.getrusage(resource.RUSAGE_SELF)
cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
print("RESULT", json.dumps({"cpu": cpu, "wall": wall, "out": [
    [o.success, o.tpot, str(o.error)[-200:]] for o in out]}))
"""


def sglangs(port: int, streams: int) -> Errors | str:
    """SGLang's own client, in the lab's Python; words where it cannot run."""
    python = LAB / "venv" / "bin" / "python"
    if not python.exists():
        return "no lab"
    done = subprocess.run(
        [str(python), "-c", _SGLANG, str(port), str(streams), str(TTFT_MS / 1e3)],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    line = next((x for x in done.stdout.splitlines() if x.startswith("RESULT ")), "")
    if not line:
        return (done.stderr.strip().splitlines() or ["no answer"])[-1][:120]
    found = json.loads(line[7:])
    failed = [out[2] for out in found["out"] if not out[0]]
    if failed:
        return f"{len(failed)} of {streams} failed: {failed[0]}"
    errors = sorted(out[1] for out in found["out"])
    worst = errors[int(0.99 * (len(errors) - 1))]
    return Errors(worst, found["cpu"] / (streams * CHUNKS), found["wall"])


def _said(errors: Errors | str) -> str:
    if isinstance(errors, str):
        return f"could not run: {errors}"
    busy = errors.cpu * STREAMS * 1000 / TICK_MS
    return f"{errors.tpot:.3f} ms, {errors.cpu * 1e6:.1f} µs CPU a chunk ({busy:.0%} of a core)"


def rows() -> list[dict[str, object]]:
    """TPOT's error and CPU, by number of streams."""
    found: list[dict[str, object]] = []
    with fake_server() as port:
        for streams in (FEWER, STREAMS):
            reference = [f"aiohttp alone: {_said(bare(port, streams))}"]
            theirs = sglangs(port, streams)
            reference.append(f"SGLang's client: {_said(theirs)}")
            for name, way in (("from here", ours), ("on the host", on_host)):
                found.append(
                    {
                        "what": f"load client {name}, {streams} streams: TPOT error p99",
                        "measured": _said(way(port, streams)),
                        "reference": "; ".join(reference),
                        "reach": "0.3 ms at 800 streams" if streams == STREAMS else "",
                    }
                )
    return found


if __name__ == "__main__":
    for row in rows():
        print(row, file=sys.stderr)
