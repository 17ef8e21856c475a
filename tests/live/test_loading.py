"""A server watched from its first line to ready."""

from __future__ import annotations

import getpass
import re

import pytest

from eagletui.model import events as ev
from tests.live.server import LAB, RELEASE, LabServer
from tests.live.watcher import Watcher


def test_the_server_is_found_while_it_loads(starting_eagle: LabServer, watcher: Watcher) -> None:
    pid = starting_eagle.pid
    watcher.wait("the server is found", lambda: watcher.server(pid) is not None)
    process = watcher.server(pid).process
    assert process.user == getpass.getuser()
    assert process.port == starting_eagle.port
    assert process.url == starting_eagle.url
    assert process.model == str(LAB / "models" / "tiny-llama")
    assert process.version == RELEASE
    assert process.speculative.short == "EAGLE3 k=3 topk=1 draft=4"
    assert process.started_at == pytest.approx(starting_eagle.started_at, abs=3.0)
    assert process.argv[1:3] == ("-m", "sglang.launch_server")
    assert process.environment["SGLANG_USE_CPU_ENGINE"] == "1"
    assert process.metrics_enabled is True
    assert (process.log.kind, process.log.target) == ("file", str(starting_eagle.log))


def test_every_phase_is_seen(eagle: LabServer, watcher: Watcher) -> None:
    watcher.wait("ready", lambda: watcher.server(eagle.pid).ready)
    ladder = watcher.server(eagle.pid).ladder
    keys = [rung.key for rung in ladder if rung.status == "done"]
    expected = [
        "arguments",
        "distributed init",
        "weights/target",
        "weights/draft",
        "kv cache",
        "warm-up",
        "ready",
    ]
    # The order of this release; the CPU captures no graphs, so those rungs are not asked for.
    assert [key for key in keys if key in expected] == expected
    assert not [rung.key for rung in ladder if rung.status in ("running", "failed")]
    target, draft = (
        watcher.rung(eagle.pid, "weights/target"),
        watcher.rung(eagle.pid, "weights/draft"),
    )
    assert (target.done, target.total) == (5, 5)
    assert (draft.done, draft.total) == (1, 1)
    began = [event.name for event in watcher.of(ev.PhaseBegan)]
    assert began.index("weights") < began.index("kv cache")


def test_ready_comes_when_the_log_says_so(eagle: LabServer, watcher: Watcher) -> None:
    watcher.wait("ready", lambda: watcher.server(eagle.pid).ready)
    server = watcher.server(eagle.pid)
    stamps = re.findall(rb"\[\d{4}-\d\d-\d\d (\d\d):(\d\d):(\d\d)\]", eagle.text())
    ready_at = eagle.text().index(b"The server is fired up")
    before = re.findall(rb"\[\d{4}-\d\d-\d\d (\d\d):(\d\d):(\d\d)\]", eagle.text()[:ready_at])
    seconds = [int(h) * 3600 + int(m) * 60 + int(s) for h, m, s in (stamps[0], before[-1])]
    assert server.ready_after == pytest.approx((seconds[1] - seconds[0]) % 86400, abs=1.0)
    assert len(watcher.of(ev.ServerReady)) == 1


def test_nothing_is_called_wrong_while_it_loads(eagle: LabServer, watcher: Watcher) -> None:
    """A refused connection before the port is open is no failure; nor is the draft's quiet."""
    before_ready = watcher.events[: watcher.events.index(watcher.of(ev.ServerReady)[0])]
    said = [d.code for event in before_ready if isinstance(event, ev.Alerted) for d in event.alerts]
    said += [event.diagnosis.code for event in before_ready if isinstance(event, ev.Diagnosed)]
    assert said == []
