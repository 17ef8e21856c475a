"""Phases' seconds add up to the time until ready, in every recording."""

from __future__ import annotations

import pytest

from eagletui.engine.phase_times import added_up
from eagletui.engine.summary import summarise
from eagletui.model.phases import Rung
from tests.engine.logs import NAMES, recorded


@pytest.mark.parametrize("name", NAMES)
def test_phases_add_up_to_the_time_until_ready(name: str) -> None:
    summary = summarise([recorded(name)])
    if summary.ready_after_s is None:
        assert name.startswith("crash_")
        return
    together = sum(rung.seconds or 0.0 for rung in summary.phases)
    # Stamps have whole seconds, the server's own figures hundredths.
    assert together == pytest.approx(summary.ready_after_s, abs=1.0)


def test_the_start_of_the_workers_is_counted_with_the_arguments() -> None:
    phases = {rung.key: rung.seconds for rung in summarise([recorded("dense_k3")]).phases}
    # 10:…:15 the launcher's first line, :18 server_args, :38 Init torch distributed begin, :40
    # Load weight begin.
    assert phases["arguments"] == 23.0
    assert phases["distributed init"] == 2.21
    assert phases["weights/target"] == 2.6


def test_until_the_failure_too() -> None:
    phases = {rung.key: rung.seconds for rung in summarise([recorded("crash_oom")]).phases}
    assert phases["arguments"] == 8.0
    assert phases["distributed init"] == 1.01
    assert phases["kv cache"] is None


def test_no_silence_where_another_phase_goes_on() -> None:
    long = Rung(name="weights", role="target", begun=0.0, ended=10.0, seconds=10.0)
    short = Rung(name="weights", role="draft", begun=2.0, ended=3.0, seconds=1.0)
    last = Rung(name="kv cache", begun=12.0, ended=13.0, seconds=1.0)
    assert [rung.seconds for rung in added_up([long, short, last], 15.0)] == [10.0, 3.0, 3.0]


def test_what_is_not_known_stays_so() -> None:
    ladder = (
        Rung(name="arguments", begun=0.0, ended=3.0, seconds=3.0),
        Rung(name="distributed init", begun=None),
        Rung(name="weights", role="target", begun=8.0),
        Rung(name="ready"),
    )
    assert [rung.seconds for rung in added_up(ladder, None)] == [8.0, None, None, None]
    assert added_up((), 5.0) == ()
