"""Servers that go wrong for real: a flag, a redirect, a worker that is killed."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from eagletui.model import events as ev
from eagletui.monitor.api import Wanted
from tests.live.conftest import Command
from tests.live.server import START_LIMIT, LabServer, started
from tests.live.ssh import ALIAS
from tests.live.watcher import Watcher
from tests.sshd import Sshd


def test_a_bad_flag_is_named(folder: Path, eagletui: Command) -> None:
    server = LabServer(folder, "bad-flag", "EAGLE3", ["--speculative-num-step-s", "3"])
    try:
        server.wait_ended()
    finally:
        server.stop()
    document = eagletui("log", server.log)
    assert document["ready"] is False
    verdict = document["diagnosis"][0]
    assert (verdict["code"], verdict["severity"]) == ("bad-flag", "fatal")
    assert "--speculative-num-step-s" in verdict["evidence"]
    lines = server.text().split(b"\n")
    assert b"--speculative-num-step-s" in lines[verdict["line"] - 1]


def test_a_redirect_in_the_wrong_order_is_named(folder: Path, sshd: Sshd) -> None:
    server = LabServer(folder, "wrong-order", "off", redirect="wrong order")
    watcher = None
    try:
        pid = server.pid
        watcher = Watcher(ALIAS, sshd.config, Wanted(pid=pid))
        watcher.wait(
            "the redirect is named",
            lambda: "redirect-lost" in {alert.code for alert in watcher.server(pid).alerts},
            limit=START_LIMIT,
        )
        found = watcher.server(pid)
        assert (found.process.log.kind, found.process.log.target) == ("file", str(server.log))
        (alert,) = [alert for alert in found.alerts if alert.code == "redirect-lost"]
        assert "2>&1" in alert.advice
    finally:
        if watcher is not None:
            watcher.close()
        server.stop()


@pytest.fixture(scope="module")
def two_ranks(folder: Path) -> Iterator[LabServer]:
    """TP2: two schedulers, each said to have a core."""
    cores = {"SGLANG_CPU_OMP_THREADS_BIND": "0|1"}
    with started(folder, "two-ranks", "off", "--tp-size", "2", environment=cores) as server:
        yield server


@pytest.fixture(scope="module")
def ranks_watcher(two_ranks: LabServer, sshd: Sshd) -> Iterator[Watcher]:
    watcher = Watcher(ALIAS, sshd.config, Wanted(pid=two_ranks.pid))
    yield watcher
    watcher.close()


def test_both_ranks_are_seen_loading(two_ranks: LabServer, ranks_watcher: Watcher) -> None:
    two_ranks.wait_ready()
    ranks_watcher.wait("ready", lambda: ranks_watcher.server(two_ranks.pid).ready)
    server = ranks_watcher.server(two_ranks.pid)
    assert server.process.tp_size == 2
    assert {worker.rank for worker in server.process.workers} >= {"TP0", "TP1"}
    assert ranks_watcher.rung(two_ranks.pid, "weights/target").ranks == {"TP0": True, "TP1": True}
    ready = ranks_watcher.rung(two_ranks.pid, "weights/target")
    assert (ready.done, ready.total) == (5, 5)


def test_ranks_are_not_added_up(two_ranks: LabServer, ranks_watcher: Watcher) -> None:
    two_ranks.load(1, 16)
    begin = len(ranks_watcher.events)
    answers = two_ranks.load(4, 120)
    ranks_watcher.wait(
        "the tokens are counted", lambda: not ranks_watcher.of(ev.Scraped)[-1].rates.progress
    )
    counted = sum(
        (event.rates.tok_s or 0.0) * event.rates.seconds
        for event in ranks_watcher.of(ev.Scraped, begin)
    )
    # Twice as much would be the sum over both ranks; the published counters lag some steps.
    assert counted == pytest.approx(sum(a.completion_tokens for a in answers), rel=0.12)


def test_a_killed_scheduler_is_a_crash(
    two_ranks: LabServer, ranks_watcher: Watcher, eagletui: Command
) -> None:
    pid = two_ranks.pid
    os.kill(two_ranks.child("sglang::scheduler_TP1"), signal.SIGKILL)
    two_ranks.wait_ended()
    ranks_watcher.wait("it is gone", lambda: ranks_watcher.server(pid).gone_at is not None)
    server = ranks_watcher.server(pid)
    assert not server.ready
    assert not server.alive
    worst = server.verdicts[0]
    assert worst.severity == "fatal"
    assert worst.code in ("child-killed", "scheduler-crashed")
    document = eagletui("log", two_ranks.log)
    found = document["diagnosis"][0]
    assert (found["code"], found["severity"]) == (worst.code, "fatal")
    lines = two_ranks.text().split(b"\n")
    # Which of the two is written depends on who notices first: the parent or the other rank.
    assert re.search(rb"exit code -9|by peer", lines[found["line"] - 1])
