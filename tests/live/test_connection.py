"""The connection goes away under a running server and comes back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from eagletui.model import events as ev
from tests.live.server import LabServer, processes, wait_until
from tests.live.ssh import drop, sessions
from tests.live.watcher import Watcher
from tests.sshd import Sshd


def followed(watcher: Watcher) -> bytes:
    """Every byte of the log as it was handed on; each piece begins where the last one ended."""
    text = b""
    for piece in watcher.of(ev.LogText):
        assert piece.start == len(text), f"byte {len(text)} expected, got {piece.start}"
        text += piece.data
    return text


def test_nothing_is_lost_or_doubled_over_a_drop(
    eagle: LabServer, watcher: Watcher, sshd: Sshd
) -> None:
    watcher.wait("ready", lambda: watcher.server(eagle.pid).ready)
    begin = len(watcher.events)
    with ThreadPoolExecutor(1) as pool:
        load = pool.submit(eagle.load, 6, 160)
        watcher.wait("lines come", lambda: bool(watcher.of(ev.DecodeSample, begin)))
        before = set(sessions(sshd))
        assert drop(sshd)
        load.result()
    watcher.wait(
        "the connection comes back",
        lambda: "connected" in [event.link for event in watcher.of(ev.LinkChanged, begin)],
    )
    links = [event.link for event in watcher.of(ev.LinkChanged, begin)]
    assert links == ["lost", "connecting", "connected"]
    watcher.wait("the log is read to its end", lambda: followed(watcher) == eagle.text())
    assert not watcher.of(ev.LogGap)
    wait_until(
        "what ran in the cut connection ends",
        lambda: not before & {pid for pid, _, _ in processes()},
    )


def test_the_same_server_is_still_watched(eagle: LabServer, watcher: Watcher) -> None:
    begin = len(watcher.events)
    watcher.wait("scrapes go on", lambda: len(watcher.of(ev.Scraped, begin)) >= 2)
    assert watcher.state.connected
    assert watcher.server(eagle.pid).ready
    assert watcher.server(eagle.pid).restarts == 0
    assert len(watcher.of(ev.LaunchBegan)) == 1
