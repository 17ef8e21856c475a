"""The simulated pages, read by the engine, give back the story's figures: never ×8."""

from __future__ import annotations

from statistics import fmean

import pytest

from eagletui.engine.metrics import MetricsReader
from eagletui.engine.rates import RateMeter
from eagletui.model.readings import Rates
from eagletui.simulator.families import Source
from eagletui.simulator.flags import parse_flags
from eagletui.simulator.metricspage import render
from eagletui.simulator.releases import RELEASES
from eagletui.simulator.scenarios import SCENARIOS
from eagletui.simulator.serving import Serving
from eagletui.simulator.traffic import Traffic, steady

PLAN = SCENARIOS["kimi-k2.5"].servers[0]


def watch(version: str, seconds: int = 60, traffic: Traffic | None = None) -> list[Rates]:
    """One scrape a second of the simulated Kimi-K2.5."""
    release = RELEASES[version]
    serving = Serving(
        PLAN.machine,
        parse_flags(PLAN.arguments(release), release),
        release,
        traffic or steady(1),
        PLAN.environment,
        lambda *_: None,
        began=0.0,
        capacity=PLAN.loading.kv_tokens,
    )
    reader, meter = MetricsReader(), RateMeter()
    rates = []
    for at in range(1, seconds):
        serving.advance(float(at))
        page = render(Source(serving, 6.8, 71.4, 12.8, 1.9, 262144, {}))
        rates.append(meter.add(reader.read(page.encode(), at=float(at))))
    return rates[5:]


def mean(rates: list[Rates], name: str) -> float:
    return fmean(value for rate in rates if (value := getattr(rate, name)) is not None)


@pytest.mark.parametrize("version", ["0.5.12", "0.5.16", "0.5.18", "0.5.20", "0.5.23"])
def test_the_device_timer_tells_verify(version: str) -> None:
    rates = watch(version)
    assert {rate.source for rate in rates} == {"device timer"}
    assert mean(rates, "verify_ms") == pytest.approx(24.5, rel=0.02)
    assert mean(rates, "draft_ms") == pytest.approx(1.0, rel=0.03)
    assert mean(rates, "draft_extend_ms") == pytest.approx(0.29, rel=0.03)
    assert mean(rates, "accept_length") == pytest.approx(2.1, rel=0.04)
    assert mean(rates, "tok_s") == pytest.approx(71.3, rel=0.05)


def test_before_the_timer_there_is_only_the_step() -> None:
    rates = watch("0.5.9")
    assert {rate.verify_ms for rate in rates} == {None}
    assert mean(rates, "step_ms") == pytest.approx(29.4, rel=0.06)
    assert mean(rates, "tok_s") == pytest.approx(71.3, rel=0.06)


@pytest.mark.parametrize("version", ["0.4.6.post5", "0.5.3"])
def test_the_oldest_still_say_how_fast(version: str) -> None:
    rates = watch(version)
    assert {rate.verify_ms for rate in rates} == {None}
    assert mean(rates, "accept_length") == pytest.approx(2.1, rel=0.05)


def test_idle_is_seen() -> None:
    rates = watch("0.5.16", 100, PLAN.traffic)
    resting = [rate for rate in rates if not rate.progress]
    assert len(resting) >= 4
    assert all(not rate.tok_s for rate in resting)
