"""The numbers of a serving EAGLE3 server against the server's own.

Tolerances: what is counted (tokens) agrees within 5 %, as the server publishes its counters some
steps late; what is averaged over slightly different moments (accept length) within 10 %; what is
timed on a busy machine within 30 %.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import pytest

from eagletui.model import events as ev
from tests.live.conftest import Command
from tests.live.server import RELEASE, Answer, LabServer
from tests.live.watcher import Watcher

REQUESTS, TOKENS = 8, 200


class Load(NamedTuple):
    """Requests that were sent, and what the monitor said from just before to just after."""

    answers: list[Answer]
    rates: list[ev.Scraped]
    samples: list[ev.DecodeSample]
    lines: list[dict[str, float]]

    @property
    def tokens(self) -> int:
        return sum(answer.completion_tokens for answer in self.answers)

    @property
    def accept_length(self) -> float:
        return self.tokens / sum(answer.verify_count for answer in self.answers)


@pytest.fixture(scope="module")
def load(eagle: LabServer, watcher: Watcher) -> Load:
    """Eight requests, two at a time, while the monitor watches."""
    eagle.load(2, 16)  # the first one compiles
    time.sleep(2.5)
    begin, size = len(watcher.events), len(eagle.text())
    answers = eagle.load(REQUESTS, TOKENS)
    lines = eagle.decode_lines(size)
    watcher.wait(
        "every decode line arrives",
        lambda: len(watcher.of(ev.DecodeSample, begin)) >= len(lines),
    )
    time.sleep(2.5)
    return Load(answers, watcher.of(ev.Scraped, begin), watcher.of(ev.DecodeSample, begin), lines)


def test_every_token_is_counted_once(load: Load) -> None:
    assert load.tokens == REQUESTS * TOKENS
    counted = sum((s.rates.tok_s or 0.0) * s.rates.seconds for s in load.rates)
    assert counted == pytest.approx(load.tokens, rel=0.05)


def test_accept_length_is_the_servers(load: Load) -> None:
    windows = [s.rates for s in load.rates if s.rates.progress and not s.rates.stale]
    lengths = [(r.accept_length, (r.tok_s or 0.0) * r.seconds) for r in windows]
    weights = sum(weight for length, weight in lengths if length)
    mean = sum(length * weight for length, weight in lengths if length) / weights
    assert mean == pytest.approx(load.accept_length, rel=0.10)
    assert all(1.0 <= length <= 4.0 for length, _ in lengths if length)


def test_accept_rate_is_computed_from_accept_length_and_k(load: Load) -> None:
    rates = [s.rates for s in load.rates if s.rates.accept_length and not s.rates.stale]
    assert rates
    for r in rates:
        assert r.accept_length is not None
        assert r.accept_rate == pytest.approx((r.accept_length - 1) / 3)


def test_step_has_a_source_and_is_never_called_verify(load: Load) -> None:
    busy = [s.rates for s in load.rates if s.rates.step_ms is not None and s.rates.progress]
    assert {r.verify_ms for r in busy} == {None}  # a CPU has no device timer
    # The moments move every 15 steps; until they did, only passes are counted.
    assert {r.source for r in busy} <= {"decode moments", "pass counter"}
    busy = [r for r in busy if r.source == "decode moments"]
    assert len(busy) >= 2
    steps = sum(answer.verify_count for answer in load.answers)
    waited = sum(answer.latency for answer in load.answers)
    mean = sum(r.step_ms or 0.0 for r in busy) / len(busy)
    # Two at once share a step: each request waits for its own steps, prefill aside.
    assert mean == pytest.approx(1000 * waited / steps, rel=0.30)


def test_decode_lines_are_read_to_the_digit(load: Load) -> None:
    samples = load.samples[: len(load.lines)]
    assert [s.accept_length for s in samples] == [line["accept len"] for line in load.lines]
    assert [s.gen_throughput for s in samples] == [
        line["gen throughput (token/s)"] for line in load.lines
    ]
    assert [s.running for s in samples] == [line["#running-req"] for line in load.lines]


def test_when_it_is_idle_old_numbers_are_stale(
    load: Load, eagle: LabServer, watcher: Watcher
) -> None:
    begin = len(watcher.events)
    watcher.wait("two scrapes", lambda: len(watcher.of(ev.Scraped, begin)) >= 2)
    last = watcher.of(ev.Scraped, begin)[-1]
    assert last.reading.running == 0
    assert not last.rates.progress
    assert last.rates.accept_length is None or last.rates.stale


def test_what_the_server_runs_with_is_read_back(eagle: LabServer, watcher: Watcher) -> None:
    watcher.wait("server info", lambda: bool(watcher.of(ev.InfoRead)))
    info = watcher.of(ev.InfoRead)[-1]
    assert info.version == RELEASE
    assert info.speculative is not None
    assert info.speculative.short == "EAGLE3 k=3 topk=1 draft=4"
    assert info.args["port"] == eagle.port


def test_status_tells_it_to_a_script(load: Load, eagle: LabServer, status: Command) -> None:
    document = status("--pid", str(eagle.pid))
    assert document["connected"] is True
    servers = {server["pid"]: server for server in document["servers"]}
    server = servers[eagle.pid]
    assert (server["version"], server["port"]) == (RELEASE, eagle.port)
    assert (server["ready"], server["phase"]) == (True, "ready")
    assert server["log"]["target"] == str(eagle.log)
    assert server["speculative"] == {
        "algorithm": "EAGLE3",
        "num_steps": 3,
        "eagle_topk": 1,
        "num_draft_tokens": 4,
    }
    assert server["environment"]["SGLANG_USE_CPU_ENGINE"] == "1"
    assert server["live"]["running"] == 0
    assert [
        alert["code"] for alert in server["alerts"] if alert["severity"] in ("fatal", "error")
    ] == []
    assert document["gpus"] == []


def test_metrics_command_reads_the_same_page(
    load: Load, eagle: LabServer, eagletui: Command
) -> None:
    document = eagletui("metrics", f"{eagle.url}/metrics")
    assert document["engine"] == "sglang"
    assert (document["num_steps"], document["num_draft_tokens"]) == (3, 4)
    last = load.lines[-1]
    assert document["accept_length"] == pytest.approx(last["accept len"], abs=0.006)
    assert (document["running"], document["queued"]) == (0, 0)
    assert document["rates"]["verify_ms"] is None


def test_log_command_explains_the_same_log(load: Load, eagle: LabServer, eagletui: Command) -> None:
    document = eagletui("log", eagle.log)
    lines = eagle.decode_lines()
    lengths = [line["accept len"] for line in lines]
    # No line of a log names the release; its arguments tell since when.
    assert (document["version"], document["ready"]) == (f"{RELEASE}+", True)
    assert document["speculative"] == {
        "algorithm": "EAGLE3",
        "num_steps": 3,
        "eagle_topk": 1,
        "num_draft_tokens": 4,
    }
    assert document["decode"]["samples"] == len(lines)
    accept = document["decode"]["accept_length"]
    assert accept["mean"] == pytest.approx(sum(lengths) / len(lengths), abs=0.005)
    assert (accept["min"], accept["max"], accept["last"]) == (
        min(lengths),
        max(lengths),
        lengths[-1],
    )
    assert document["decode"]["running_max"] == max(line["#running-req"] for line in lines)
    assert document["diagnosis"] == []
    shards = {(p["name"], p["role"]): (p["done"], p["total"]) for p in document["phases"]}
    assert shards["weights", "target"] == (5, 5)
    assert shards["weights", "draft"] == (1, 1)
