"""Every recorded log, against what the recordings' own notes and lines say."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from eagletui.engine.reader import LogReader
from eagletui.engine.splitter import Line, Splitter
from eagletui.model import events as ev
from tests.engine.logs import NAMES, folded, read, recorded

# log → algorithm, k, topk, draft tokens, releases, seconds from first line to ready
LAUNCHES = {
    "dense_k0": (None, None, None, None, "0.5.16–0.5.17", 48),
    "dense_k1": ("EAGLE3", 1, 1, 2, "0.5.16–0.5.17", 36),
    "dense_k2": ("EAGLE3", 2, 1, 3, "0.5.16–0.5.17", 40),
    "dense_k3": ("EAGLE3", 3, 1, 4, "0.5.16–0.5.17", 34),
    "spec5": ("EAGLE3", 5, 1, 6, "0.5.16–0.5.17", 125),
    "dense_k7": ("EAGLE3", 7, 1, 8, "0.5.16–0.5.17", 49),
    "eagle_term": ("EAGLE", 3, 1, 4, "0.5.23+", 15),
    "eagle_termload": ("EAGLE", 3, 1, 4, "0.5.23+", 13),
    "eagle_int": ("EAGLE", 3, 1, 4, "0.5.23+", 15),
    "eagle_kill": ("EAGLE", 3, 1, 4, "0.5.23+", 18),
    "eagle_killsched": ("EAGLE", 3, 1, 4, "0.5.23+", 25),
    "eagle_pty": ("EAGLE", 3, 1, 4, "0.5.23+", 18),
    "eagle_smallkv_term": ("EAGLE", 3, 1, 4, "0.5.23+", 15),
    "eagle3_term": ("EAGLE3", 3, 1, 4, "0.5.23+", 14),
    "nextn_tree_term": ("EAGLE", 4, 2, 8, "0.5.23+", 29),
    "standalone_term": ("STANDALONE", 3, 1, 4, "0.5.23+", 21),
    "plain_term": (None, None, None, None, "0.5.23+", 11),
    "plain_tp2_term": (None, None, None, None, "0.5.23+", 21),
}
# phase → seconds as the server's own `elapsed=` says, by log
SECONDS = {
    "dense_k0": {"distributed init": 0.22, "weights/target": 3.21, "graphs/target": 3.56},
    "dense_k1": {
        "weights/target": 3.23,
        "weights/draft": 0.14,
        "graphs/target": 2.16,
        "extend graphs/draft": 1.01,
    },
    "spec5": {
        "arguments": 4,
        "distributed init": 0.20,
        "weights/target": 3.47,
        "weights/draft": 0.12,
        "kv cache": 2,
        "graphs/target": 67.10,
        "graphs/draft": 14.41,
        "extend graphs/draft": 2.81,
        "warm-up": 5,
    },
    "plain_tp2_term": {"distributed init": 0.61, "weights/target": 0.04, "warm-up": 6},
}
GPU_LADDER = [
    "arguments",
    "distributed init",
    "weights/target",
    "weights/draft",
    "kv cache",
    "graphs/target",
    "graphs/draft",
    "extend graphs/draft",
    "warm-up",
    "ready",
]
# log → code, severity, whether the launch is over
VERDICTS = {
    "crash_badflag": ("bad-flag", "fatal"),
    "crash_badchoice": ("bad-choice", "fatal"),
    "crash_nomodel": ("model-not-found", "fatal"),
    "crash_nodraft": ("draft-missing", "fatal"),
    "crash_nostub": ("kernel-package-missing", "fatal"),
    "crash_oom": ("out-of-memory-kv", "fatal"),
    "crash_portinuse": ("port-in-use", "fatal"),
    "crash_eagle_on_torch_native": ("backend-unsupported", "fatal"),
    "crash_plain_tp2_nothreadsbind": ("thread-binding", "fatal"),
    "crash_plain_dp2_nothreadsbind": ("thread-binding", "fatal"),
    "eagle_kill": ("terminated", "fatal"),
    "eagle_killsched": ("child-killed", "fatal"),
    "eagle_int": ("terminated", "info"),
    "eagle_pty": ("terminated", "info"),
}


def test_every_recording_is_expected_here() -> None:
    assert set(NAMES) == {*LAUNCHES, *VERDICTS}


@pytest.mark.parametrize("name", LAUNCHES)
def test_launch(name: str) -> None:
    algorithm, steps, topk, tokens, releases, seconds = LAUNCHES[name]
    reader = LogReader("s")
    events = reader.feed(recorded(name), at=0.0, live=False)
    server = folded(events)
    speculative = server.speculative
    assert (
        speculative.algorithm,
        speculative.num_steps,
        speculative.eagle_topk,
        speculative.num_draft_tokens,
    ) == (algorithm, steps, topk, tokens) or not speculative.on
    assert speculative.algorithm == algorithm
    assert reader.releases.text == releases
    assert server.ready_after == seconds
    ready = [event for event in events if isinstance(event, ev.ServerReady)]
    assert [event.seconds for event in ready] == [seconds]
    assert all(rung.status == "done" for rung in server.ladder)


@pytest.mark.parametrize("name", SECONDS)
def test_phases_take_what_the_server_says(name: str) -> None:
    took = {rung.key: rung.seconds for rung in folded(read(recorded(name))).ladder}
    assert {key: took[key] for key in SECONDS[name]} == SECONDS[name]


def test_ladder_of_a_gpu_server() -> None:
    events = read(recorded("dense_k3"))
    assert [rung.key for rung in folded(events).ladder] == GPU_LADDER
    began = next(event for event in events if isinstance(event, ev.LaunchBegan))
    assert [f"{name}/{role}" if role else name for name, role in began.ladder] == GPU_LADDER
    counts = {rung.key: (rung.done, rung.total) for rung in folded(events).ladder}
    assert counts["weights/target"] == (59, 59)
    assert counts["weights/draft"] == (1, 1)
    assert counts["graphs/target"] == counts["extend graphs/draft"] == (8, 8)


def test_one_step_has_no_draft_decode_graph() -> None:
    keys = [rung.key for rung in folded(read(recorded("dense_k1"))).ladder]
    assert keys == [key for key in GPU_LADDER if key != "graphs/draft"]


def test_a_cpu_captures_nothing() -> None:
    keys = [rung.key for rung in folded(read(recorded("eagle3_term"))).ladder]
    assert keys == [key for key in GPU_LADDER if "graphs" not in key]


def test_ranks_begin_and_end_each() -> None:
    events = read(recorded("plain_tp2_term"))
    loads = [
        (type(event).__name__, event.rank)
        for event in events
        if isinstance(event, (ev.PhaseBegan, ev.PhaseEnded)) and event.name == "weights"
    ]
    assert loads == [
        ("PhaseBegan", "TP0"),
        ("PhaseBegan", "TP1"),
        ("PhaseEnded", "TP0"),
        ("PhaseEnded", "TP1"),
    ]


@pytest.mark.parametrize("name", LAUNCHES)
def test_every_decode_line_is_a_sample_with_its_own_numbers(name: str) -> None:
    data = recorded(name)
    samples = [event for event in read(data) if isinstance(event, ev.DecodeSample)]
    lines = re.findall(rb"Decode batch,[^\n\r]*", data)
    assert len(samples) == len(lines)
    for sample, line in zip(samples, lines, strict=True):
        accept = re.search(rb"accept len: ([\d.]+)", line)
        throughput = re.search(rb"gen throughput \(token/s\): ([\d.]+)", line)
        running = re.search(rb"#running-req: (\d+)", line)
        assert throughput
        assert running
        assert sample.accept_length == (float(accept[1]) if accept else None)
        assert sample.gen_throughput == float(throughput[1])
        assert sample.running == int(running[1])
        assert sample.graph is (b"cuda graph: True" in line)


def test_step_is_near_the_wall_per_step_of_the_table() -> None:
    # The recordings' table: k=3, one request: 6.31 ms a step of wall.
    steps = [
        event.step_ms
        for event in read(recorded("dense_k3"))
        if isinstance(event, ev.DecodeSample)
        and event.running == 1
        and event.step_ms
        and not event.first
    ]
    steps.sort()
    assert steps[len(steps) // 2] == pytest.approx(6.31, abs=0.1)


def test_accept_rate_is_our_own() -> None:
    samples = [e for e in read(recorded("dense_k3")) if isinstance(e, ev.DecodeSample)]
    assert samples[0].accept_length == 2.42
    assert samples[0].accept_rate == pytest.approx(1.42 / 3)


def test_first_line_after_idle_is_marked() -> None:
    samples = [e for e in read(recorded("dense_k3")) if isinstance(e, ev.DecodeSample)]
    assert samples[0].first
    assert samples[0].gen_throughput == 30.28
    assert not any(sample.first for sample in samples[1:6])


def test_stamps_place_old_lines_in_time() -> None:
    reader = LogReader("s", clock=100.0)
    line = b"[2026-11-29 12:00:00] Decode batch, #running-req: 1, gen throughput (token/s): 2.0, \n"
    (old,) = reader.feed(line, at=7.0, live=False)
    (new,) = reader.feed(line, at=7.0, live=True)
    assert old.at == 1795953600.0 + 100.0
    assert new.at == 7.0
    assert isinstance(new, ev.DecodeSample)
    assert new.stamp == 1795953600.0


@pytest.mark.parametrize(
    ("zone", "after", "shift"),
    [
        (0.0, 20.0, 0.0),
        (7200.0, 20.0, 7200.0),
        (-12600.0, 400.0, -12600.0),
        (20700.0, -30.0, 20700.0),
        (7200.0, 700.0, 0.0),  # no launch of this process: it began long before
        (0.0, 300.0, 0.0),
        (20 * 3600.0, 20.0, 0.0),
    ],
)
def test_a_container_in_another_zone_is_put_right(zone: float, after: float, shift: float) -> None:
    stamp = 1795953600.0
    lines = (
        b"[2026-11-29 12:00:00] server_args=ServerArgs(model_path='m')\n"
        b"[2026-11-29 12:00:10] Load weight begin. avail mem=1.00 GB\n"
    )
    started = stamp + 100.0 + zone - after
    events = LogReader("s", clock=100.0, started_at=started).feed(lines, at=7.0, live=False)
    assert {event.at for event in events} == {stamp + 100.0 + shift, stamp + 110.0 + shift}
    unknown = LogReader("s", clock=100.0).feed(lines, at=7.0, live=False)
    assert unknown[0].at == stamp + 100.0


@pytest.mark.parametrize("name", VERDICTS)
def test_verdict(name: str) -> None:
    events = read(recorded(name))
    server = folded(events)
    assert [(d.code, d.severity) for d in server.diagnoses] == [VERDICTS[name]]
    assert server.ended
    verdict = server.diagnoses[0]
    assert verdict.line is not None
    written = recorded(name).split(b"\n")[verdict.line - 1].decode("utf-8", "replace")
    assert verdict.evidence.rstrip("…")[-60:] in written
    assert verdict.advice or verdict.severity == "info"


@pytest.mark.parametrize("name", [name for name in LAUNCHES if name not in VERDICTS])
def test_a_healthy_log_raises_no_alarm(name: str) -> None:
    codes = {d.code for d in folded(read(recorded(name))).diagnoses}
    assert codes - {"drain-waiting"} == {"terminated"}
    assert ("drain-waiting" in codes) == (name == "eagle_termload")


def test_the_least_memory_fraction_is_named() -> None:
    (verdict,) = folded(read(recorded("crash_oom"))).diagnoses
    assert verdict.title.endswith("--mem-fraction-static must be above 0.002")


@pytest.mark.parametrize("size", [1, 7, 4096])
@pytest.mark.parametrize("name", ["eagle_pty", "crash_nodraft", "spec5"])
def test_chunks_do_not_matter(name: str, size: int) -> None:
    data = recorded(name)[:60_000]
    assert read(data, size=size) == read(data)


def test_a_line_without_end_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0

    def pending(self: Splitter) -> Iterator[Line]:
        nonlocal looked
        looked += self.held
        return iter(())

    monkeypatch.setattr(Splitter, "pending", pending)
    reader = LogReader("x")
    for _ in range(200):
        reader.feed(b"x" * 4096, at=1.0)
    assert 0 < looked < 64 * 1024


@pytest.mark.parametrize(
    "line",
    [
        "Adaptive spec params updated: steps 1 -> {}",
        "Gracefully exiting... Remaining number of requests {}. Remaining requests",
        "sglang version: {}",
        "sglang version: 0.{}",
        "Decode batch, #running-req: {}, accept len: {}",
        "Loading safetensors checkpoint shards: 50% Completed | 1/{} [00:01<00:01]",
        "server_args=ServerArgs(port={}, speculative_num_steps={})",
    ],
)
def test_numbers_without_end_are_read_over(line: str) -> None:
    text = f"[2026-01-20 02:40:29] {line.replace('{}', '9' * 5000)}\n"
    LogReader("x").feed(text.encode(), at=1.0)


@pytest.mark.parametrize(
    ("words", "follows"),
    [
        (
            b"Traceback (most recent call last):\n"
            b'  File "<frozen runpy>", line 198, in _run_module_as_main\n'
            b"ModuleNotFoundError: No module named 'sglang'\n",
            ev.Diagnosed,
        ),
        (b"[2026-11-29 20:00:00] Init torch distributed begin.\n", ev.PhaseBegan),
    ],
    ids=["fails before its arguments", "its arguments were missed"],
)
def test_another_process_in_the_same_log_begins_a_launch_of_its_own(
    words: bytes, follows: type
) -> None:
    reader = LogReader("s")
    reader.feed(recorded("eagle_term"), at=1.0)
    assert reader.feed(words, at=2.0) + reader.finish(2.0) == [], "the old launch is over"
    reader.begin_anew(started_at=2.0)
    events = reader.feed(words, at=3.0) + reader.finish(3.0)
    assert [type(event) for event in events] == [ev.LaunchBegan, follows]


def test_a_launch_that_was_read_before_its_process_was_noticed_goes_on() -> None:
    reader = LogReader("s")
    reader.feed(recorded("eagle_term"), at=1.0)
    whole = recorded("eagle3_term")
    middle = whole.index(b"server_args=")
    events = reader.feed(whole[:middle], at=2.0)
    reader.begin_anew(started_at=2.0)
    events += reader.feed(whole[middle:], at=3.0)
    [began] = [event for event in events if isinstance(event, ev.LaunchBegan)]
    [alone] = [e for e in read(whole, live=True) if isinstance(e, ev.LaunchBegan)]
    assert (began.stamp, began.ladder) == (alone.stamp, alone.ladder)
