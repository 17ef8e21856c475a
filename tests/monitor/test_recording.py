"""A simulated host, recorded while it is watched: the file tells what the screen was told."""

from __future__ import annotations

import time
from pathlib import Path

from eagletui.model import events as ev
from eagletui.model.state import State, fold, fold_all
from eagletui.simulator.host import SimulatedHost
from eagletui.store.recording.reader import Recording
from eagletui.store.recording.recorder import Recorder
from eagletui.store.recording.writer import Writer
from tests.monitor.test_simulated_host import monitor_of, serving, watch
from tests.store.recording.made import ABOUT


async def test_a_recorded_session_folds_to_the_state_that_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    recorder = Recorder(Writer(path, ABOUT), every=0.1)
    put = 0

    def seen(state: State, events: list[ev.Event]) -> bool:
        nonlocal put
        recorder.put(time.time(), events[put:])
        put = len(events)
        return serving(state, events)

    async with SimulatedHost("kimi-k2.5", speed=300.0) as host:
        state, events = await watch(monitor_of(host), seen)
    recorder.close()
    with Recording(path) as recording:
        told = [event for frame in recording for event in frame.events]
        assert recording.count > 1
        assert (recording.skipped, recording.problem) == (0, "")
    assert fold_all(State(), told) == state
    assert _text(told) == _text(events)
    others = [event for event in events if not isinstance(event, ev.LogText)]
    assert [event for event in told if not isinstance(event, ev.LogText)] == others
    assert fold(state, ev.StartedOver(at=0.0)) == State()


def _text(events: list[ev.Event]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, ev.LogText))
