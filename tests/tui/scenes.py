"""Scenes: lists of events that bring the screen into a known condition. No clock, no host."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from eagletui.model import events as ev
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.phases import PhaseExperience, PhaseName, Role
from eagletui.model.readings import Quantiles, Rates, Reading
from eagletui.model.server import Gpu, LogPlace, ServerProcess, Worker
from eagletui.model.speculative import Speculative

# Every scene ends at this moment: 2026-01-20 03:00:00 UTC.
NOW = 1768878000.0
KEY = "4242@991"
SPECULATIVE = Speculative(
    algorithm="EAGLE3",
    num_steps=3,
    eagle_topk=1,
    num_draft_tokens=4,
    draft_model="/models/kimi-k2.5-eagle3",
)
LADDER: tuple[tuple[PhaseName, Role], ...] = (
    ("arguments", ""),
    ("distributed init", ""),
    ("weights", "target"),
    ("kv cache", ""),
    ("graphs", "target"),
    ("weights", "draft"),
    ("graphs", "draft"),
    ("extend graphs", "draft"),
    ("warm-up", ""),
    ("ready", ""),
)
EXPERIENCE = {
    "arguments": PhaseExperience(typical=18, longest=25, launches=4),
    "distributed init": PhaseExperience(typical=11, longest=16, launches=4),
    "weights/target": PhaseExperience(typical=412, longest=560, launches=4),
    "kv cache": PhaseExperience(typical=9, longest=14, launches=4),
    "graphs/target": PhaseExperience(typical=74, longest=101, launches=4),
    "weights/draft": PhaseExperience(typical=14, longest=22, launches=4),
    "graphs/draft": PhaseExperience(typical=21, longest=30, launches=4),
    "extend graphs/draft": PhaseExperience(typical=19, longest=27, launches=4),
    "warm-up": PhaseExperience(typical=12, longest=19, launches=4),
}
ARGV = [
    "/opt/venv/bin/python3",
    "-m",
    "sglang.launch_server",
    "--model-path",
    "/models/Kimi-K2.5",
    "--tp-size",
    "8",
    "--speculative-algorithm",
    "EAGLE3",
    "--speculative-num-steps",
    "3",
    "--speculative-eagle-topk",
    "1",
    "--speculative-num-draft-tokens",
    "4",
    "--speculative-draft-model-path",
    "/models/kimi-k2.5-eagle3",
    "--enable-metrics",
    "--host",
    "0.0.0.0",
    "--port",
    "30000",
    "--api-key",
    "•••",
    "--mem-fraction-static",
    "0.85",
]

Events = list[ev.Event]


def process(**changes: object) -> ServerProcess:
    """The server of most scenes."""
    fields: dict[str, object] = {
        "key": KEY,
        "pid": 4242,
        "user": "ann",
        "started_at": NOW - 8040,
        "argv": tuple(ARGV),
        "environment": {
            "NCCL_ALGO": "Ring",
            "NCCL_P2P_LEVEL": "SYS",
            "NCCL_PROTO": "LL",
            "SGLANG_ENABLE_METRICS_DEVICE_TIMER": "1",
            "CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7",
        },
        "cwd": "/srv/llm",
        "python": "/opt/venv/bin/python3",
        "version": "0.5.16",
        "model": "/models/Kimi-K2.5",
        "port": 30000,
        "url": "http://127.0.0.1:30000",
        "speculative": SPECULATIVE,
        "tp_size": 8,
        "workers": tuple(
            Worker(pid=4300 + rank, title=f"sglang::scheduler_TP{rank}", rank=f"TP{rank}")
            for rank in range(8)
        ),
        "gpus": tuple(range(8)),
        "log": LogPlace(
            kind="file", target="/srv/llm/logs/kimi-0120.log", detail="fd 1 of pid 4242"
        ),
        "metrics_enabled": True,
        "needs_key": True,
        **changes,
    }
    return ServerProcess(**fields)  # type: ignore[arg-type]


def connected(at: float = NOW - 60) -> Events:
    """The host answers."""
    return [
        ev.LinkChanged(at=at, link="connecting", detail="gpu1.example:22"),
        ev.LinkChanged(at=at + 0.2, link="connected", detail="key ~/.ssh/id_ed25519"),
        ev.HostSeen(
            at=at + 0.4,
            name="gpu1",
            address="10.0.0.17:22",
            user="ann",
            kernel="Linux 6.8.0",
            boot_id="b0",
            round_trip=0.0123,
        ),
    ]


def found(at: float = NOW - 59, **changes: object) -> Events:
    """One server, selected."""
    one = process(**changes)
    return [
        ev.ServersFound(at=at, servers=(one,)),
        ev.ServerSelected(at=at, server=one.key),
        ev.ExperienceLoaded(at=at, server=one.key, phases=EXPERIENCE),
        ev.LogOpened(at=at, server=one.key, place=one.log, size=184_220),
    ]


def gpus(
    at: float, *, utilization: float = 87, power: float = 412, used: float = 121_000
) -> ev.GpusRead:
    """Eight GPUs that differ a little."""
    return ev.GpusRead(
        at=at,
        gpus=tuple(
            Gpu(
                index=index,
                name="NVIDIA RTX PRO 6000",
                utilization=max(0.0, utilization - index % 3),
                power=power + 7 * index,
                power_limit=600,
                memory_used=used + 37 * index,
                memory_total=143_771 if used > 97_000 else 97_887,
                temperature=61 + index % 4,
            )
            for index in range(8)
        ),
    )


def log(at: float, *lines: str, live: bool = True) -> ev.LogText:
    """Lines of the log, stamped by their place."""
    text = "".join(
        f"[2026-01-20 02:59:{index % 60:02d} TP0] {line}\n" for index, line in enumerate(lines)
    )
    return ev.LogText(at=at, server=KEY, start=0, data=text.encode(), live=live)


RANKS = tuple(range(8))


def begun(name: PhaseName, role: Role, stamp: float, total: int | None = None) -> Events:
    """Every rank begins a phase."""
    return [
        ev.PhaseBegan(
            at=stamp, server=KEY, name=name, role=role, rank=f"TP{rank}", stamp=stamp, total=total
        )
        for rank in RANKS
    ]


def ended(
    name: PhaseName, role: Role, stamp: float, seconds: float, ranks: Sequence[int] = RANKS
) -> Events:
    """These ranks end a phase."""
    return [
        ev.PhaseEnded(
            at=stamp,
            server=KEY,
            name=name,
            role=role,
            rank=f"TP{rank}",
            stamp=stamp,
            seconds=seconds,
        )
        for rank in ranks
    ]


def moved(at: float, name: PhaseName, role: Role, done: int, total: int) -> ev.PhaseMoved:
    """Rank 0's bar."""
    return ev.PhaseMoved(
        at=at, server=KEY, name=name, role=role, rank="TP0", done=done, total=total
    )


def launch(stamp: float) -> Events:
    """The launch began; its lines are as old as their stamps say."""
    return [
        ev.LaunchBegan(
            at=stamp,
            server=KEY,
            stamp=stamp,
            version="0.5.16",
            ladder=LADDER,
            args={
                "model_path": "/models/Kimi-K2.5",
                "tp_size": 8,
                "page_size": 1,
                "api_key": "•••",
            },
            speculative=SPECULATIVE,
        ),
        ev.PhaseEnded(at=stamp + 19, server=KEY, name="arguments", stamp=stamp + 19, seconds=19.2),
        *begun("distributed init", "", stamp + 19),
        *ended("distributed init", "", stamp + 30, 11.4),
    ]


LOADING_LINES = (
    "server_args=ServerArgs(model_path='/models/Kimi-K2.5', tp_size=8, api_key='•••')",
    "Init torch distributed begin.",
    "Init torch distributed ends. elapsed=11.40 s, mem usage=1.21 GB",
    "Load weight begin. avail mem=139.09 GB",
)


def connecting() -> Events:
    """The first second."""
    return [ev.LinkChanged(at=NOW - 1, link="connecting", detail="gpu1.example:22 through bastion")]


def cannot_connect() -> Events:
    """The host does not answer; another try is due."""
    return [
        ev.LinkChanged(at=NOW - 30, link="connecting", detail="gpu1.example:22"),
        ev.LinkChanged(
            at=NOW - 12,
            link="failed",
            detail="gpu1.example:22 did not answer within 10 s.",
            meaning="The name is known, but nothing listens there, or a firewall drops packets.",
            advice="Try `ssh gpu1` in another terminal; check the VPN.",
            attempt=3,
            retry_at=NOW + 18,
        ),
    ]


def loading() -> Events:
    """30 % of the target's weights."""
    began = NOW - 155
    return [
        *connected(),
        *found(started_at=NOW - 160),
        *launch(began),
        *begun("weights", "target", began + 31),
        moved(NOW - 2, "weights", "target", 19, 64),
        gpus(NOW - 1, utilization=3, power=92, used=41_000),
        log(NOW - 2, *LOADING_LINES),
    ]


def draft_weights() -> Events:
    """The target is up, two ranks still load the draft."""
    began = NOW - 560
    return [
        *connected(),
        *found(started_at=NOW - 566),
        *launch(began),
        *begun("weights", "target", began + 31, 64),
        *ended("weights", "target", began + 449, 418.2),
        *begun("kv cache", "", began + 450),
        *ended("kv cache", "", began + 459, 8.8),
        *begun("graphs", "target", began + 459, 36),
        *ended("graphs", "target", began + 537, 77.9),
        *begun("weights", "draft", began + 540, 2),
        moved(NOW - 6, "weights", "draft", 1, 2),
        *ended("weights", "draft", began + 555, 14.9, (0, 1, 2, 4, 5, 7)),
        gpus(NOW - 1, utilization=12, power=118),
        log(NOW - 2, *LOADING_LINES, "Load weight begin. avail mem=18.40 GB"),
    ]


def stalled() -> Events:
    """Shards do not move any more."""
    alert = Diagnosis(
        code="stalled",
        severity="warning",
        title="Target weights have not moved for 9 min 42 s; the longest pause was 1 min 10 s.",
        evidence="19/64 shards since 02:50:18; GPU memory and disk reads stand still",
        advice="Look at the storage (df, iostat) and at dmesg on the host.",
    )
    return [*loading(), ev.Alerted(at=NOW - 1, server=KEY, alerts=(alert,))]


def rates(second: int, *, timed: bool = True) -> Rates:
    """A second of serving: numbers of the size of the recordings, waving a little."""
    wave = math.sin(second / 17) + 0.4 * math.sin(second / 5.3)
    accept = 2.17 + 0.12 * wave
    verify = 21.4 + 0.9 * math.sin(second / 23)
    step = verify + 3.3 + 0.2 * wave
    return Rates(
        seconds=1.0,
        tok_s=accept / step * 1000,
        prefill_tok_s=412.0 + 30 * wave,
        steps_s=1000 / step,
        step_ms=step,
        verify_ms=verify if timed else None,
        draft_ms=1.31 if timed else None,
        draft_extend_ms=0.62 if timed else None,
        accept_length=accept,
        accept_rate=(accept - 1) / 3,
        source="device timer" if timed else "pass counter",
        progress=True,
        ttft_ms=Quantiles(p50=212.0, p99=871.0),
        itl_ms=Quantiles(p50=11.4, p99=31.0),
    )


def scrape(at: float, second: int, *, timed: bool = True, running: float = 4) -> ev.Scraped:
    """One scrape of a serving server."""
    return ev.Scraped(
        at=at,
        server=KEY,
        reading=Reading(
            at=at,
            model_name="Kimi-K2.5",
            samples=4712,
            accept_length=2.17,
            num_steps=3,
            num_draft_tokens=4,
            running=running,
            queued=1,
            token_usage=0.424,
            cache_hit_rate=0.631,
        ),
        rates=rates(second, timed=timed),
        took=0.0021,
    )


def ready(at: float = NOW - 50) -> Events:
    """A start-up that is long over."""
    began = NOW - 8040
    events = [*connected(NOW - 620), *found(NOW - 619), *launch(began)]
    times = {
        "weights/target": 418.2,
        "kv cache": 8.8,
        "graphs/target": 77.9,
        "weights/draft": 14.1,
        "graphs/draft": 21.0,
        "extend graphs/draft": 18.7,
        "warm-up": 11.9,
    }
    for name, role in LADDER[2:-1]:
        key = f"{name}/{role}" if role else name
        events.append(
            ev.PhaseEnded(
                at=began + 400,
                server=KEY,
                name=name,
                role=role,
                stamp=began + 400,
                seconds=times[key],
            )
        )
    return [*events, ev.ServerReady(at=began + 602, server=KEY, stamp=began + 602, seconds=602.0)]


def decode_lines(count: int) -> list[str]:
    """Decode lines as the server writes them."""
    return [
        f"Decode batch, #running-req: 4, #token: {9000 + 41 * n}, token usage: 0.42, "
        f"accept len: {2.1 + n % 7 / 50:.2f}, "
        f"accept rate: 0.39, cuda graph: True, "
        f"gen throughput (token/s): {84 + n % 9}.21, #queue-req: 1"
        for n in range(count)
    ]


SERVING_LINES = (
    *LOADING_LINES,
    "The server is fired up and ready to roll!",
    "Prefill batch, #new-seq: 1, #new-token: 812, #cached-token: 512, token usage: 0.41",
    *decode_lines(24),
    "WARNING: KV cache is nearly full; requests may be retracted",
    *decode_lines(12),
)


def serving() -> Events:
    """Ten minutes of serving, measured by the device timer."""
    events = ready()
    events.append(log(NOW - 600, *SERVING_LINES))
    events += [scrape(NOW - 600 + second, second) for second in range(600)]
    events.append(gpus(NOW - 1))
    return events


def serving_by_log() -> Events:
    """Metrics are off; decode lines speak."""
    events = ready()
    events[3:4] = [ev.ServersFound(at=NOW - 619, servers=(process(metrics_enabled=False),))]
    events.append(log(NOW - 600, *SERVING_LINES))
    for second in range(0, 600, 4):
        now = rates(second)
        events.append(
            ev.DecodeSample(
                at=NOW - 600 + second,
                server=KEY,
                running=4,
                queued=1,
                accept_length=now.accept_length,
                gen_throughput=now.tok_s,
                token_usage=0.42,
                step_ms=now.step_ms,
            )
        )
    off = Diagnosis(
        code="metrics-off",
        severity="info",
        title="Metrics are off: numbers come from decode lines only.",
        advice="Start the server with --enable-metrics to see TTFT, ITL and verify latency.",
    )
    events += [gpus(NOW - 1), ev.Alerted(at=NOW - 1, server=KEY, alerts=(off,))]
    return events


def adaptive() -> Events:
    """k moved from 3 to 1 and back to 2 while serving."""
    events = serving()
    for at, k in ((NOW - 280, 1), (NOW - 120, 2)):
        index = next(i for i, e in enumerate(events) if isinstance(e, ev.Scraped) and e.at >= at)
        events.insert(
            index, ev.StepsChanged(at=at, server=KEY, num_steps=k, num_draft_tokens=k + 1)
        )
    return [with_steps(event) for event in events]


def with_steps(event: ev.Event) -> ev.Event:
    """The gauge agrees with the log."""
    if not isinstance(event, ev.Scraped):
        return event
    import msgspec

    k = 3 if event.at < NOW - 280 else 1 if event.at < NOW - 120 else 2
    reading = msgspec.structs.replace(event.reading, num_steps=k, num_draft_tokens=k + 1)
    return msgspec.structs.replace(event, reading=reading)


def idle() -> Events:
    """Ready, nothing to do; the last accept length is a leftover."""
    import msgspec

    events = ready()
    events.append(log(NOW - 600, *SERVING_LINES))
    for second in range(600):
        event = scrape(NOW - 600 + second, second, running=0 if second > 400 else 4)
        if second > 400:
            quiet = msgspec.structs.replace(
                event.rates,
                tok_s=0.0,
                progress=False,
                stale=True,
                verify_ms=None,
                step_ms=None,
                draft_ms=None,
                draft_extend_ms=None,
                ttft_ms=Quantiles(),
                itl_ms=Quantiles(),
            )
            event = msgspec.structs.replace(event, rates=quiet)
        events.append(event)
    events.append(gpus(NOW - 1, utilization=0, power=84))
    return events


def crashed() -> Events:
    """Out of memory while capturing graphs."""
    found_out = Diagnosis(
        code="out-of-memory-graphs",
        severity="fatal",
        title="The server ran out of GPU memory while capturing CUDA graphs.",
        line=212,
        evidence="torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.21 GiB.",
        advice="Lower --mem-fraction-static (now 0.85) or --cuda-graph-max-bs, then start again.",
    )
    return [
        *draft_weights(),
        *ended("weights", "draft", NOW - 42, 15.1),
        ev.PhaseBegan(
            at=NOW - 20, server=KEY, name="graphs", role="draft", stamp=NOW - 40, total=36
        ),
        ev.PhaseMoved(at=NOW - 10, server=KEY, name="graphs", role="draft", done=7, total=36),
        log(
            NOW - 6,
            "Scheduler hit an exception: Traceback (most recent call last):",
            found_out.evidence,
            "Received sigquit from a child process. It usually means the child failed.",
        ),
        ev.Diagnosed(at=NOW - 5, server=KEY, diagnosis=found_out, ended=True, stamp=NOW - 5),
        ev.ServerGone(at=NOW - 3, server=KEY),
    ]


def link_lost() -> Events:
    """The connection went while serving."""
    return [
        *(event for event in serving() if event.at < NOW - 40),
        ev.LinkChanged(
            at=NOW - 40,
            link="lost",
            detail="gpu1 has not answered for 30 s",
            meaning="The network or the host is gone; the server itself may well go on.",
            advice="It is tried again by itself; r tries now.",
            attempt=4,
            retry_at=NOW + 11,
        ),
    ]


def several() -> Events:
    """Three servers of two people."""
    draft = process(
        key="5151@1200",
        pid=5151,
        user="bob",
        model="Qwen/Qwen3-32B",
        port=30010,
        version="0.5.23",
        tp_size=2,
        gpus=(6, 7),
        speculative=Speculative(),
        started_at=NOW - 90,
        log=LogPlace(kind="journal", target="qwen.service"),
        workers=(),
    )
    other = process(
        key="6161@1300",
        pid=6161,
        user="root",
        model="/models/deepseek-v3",
        port=None,
        version="",
        tp_size=1,
        gpus=(),
        speculative=Speculative(),
        argv=(),
        environment={},
        workers=(),
        log=LogPlace(kind="none", detail="file descriptors of root's process cannot be read"),
        hidden="Another user's process: environment and log place cannot be read.",
    )
    return [
        *connected(),
        ev.ServersFound(at=NOW - 59, servers=(process(), draft, other)),
        *(event for event in launch(NOW - 8040)),
        ev.ServerReady(at=NOW - 57, server=KEY, seconds=602.0),
        scrape(NOW - 1, 3),
        gpus(NOW - 1),
    ]


def none_found() -> Events:
    """Nothing runs there."""
    return [
        *connected(),
        ev.ServersFound(
            at=NOW - 58,
            servers=(),
            looked_at=(
                "412 processes of every user: sglang.launch_server, `sglang serve`, sglang::",
                "3 containers of docker",
                "ports 30000 to 30010 on 127.0.0.1",
            ),
        ),
    ]


SCENES: dict[str, Callable[[], Sequence[ev.Event]]] = {
    "connecting": connecting,
    "cannot_connect": cannot_connect,
    "loading": loading,
    "draft_weights": draft_weights,
    "stalled": stalled,
    "serving": serving,
    "serving_by_log": serving_by_log,
    "adaptive": adaptive,
    "idle": idle,
    "crashed": crashed,
    "link_lost": link_lost,
    "several": several,
    "none_found": none_found,
}
