"""The benchmark runner: it reports, and never fails on what it measures."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

runner = importlib.import_module("tests.benchmarks.__main__")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "RESULTS", tmp_path / "RESULTS.md")


def test_a_table_is_markdown_and_cannot_be_broken_by_a_cell() -> None:
    rows = [{"what": "a|b", "measured": "1\n2", "reach": "x"}]
    assert runner.table(rows).splitlines() == [
        "| what | measured | reference | reach |",
        "|------|----------|-----------|-------|",
        r"| a\|b | 1 2      |           | x     |",
    ]


def test_what_cannot_run_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(runner, "benchmarks", lambda: ["nothing_of_this_name"])
    assert runner.main([]) == 0
    text = (tmp_path / "RESULTS.md").read_text()
    assert "could not run: ModuleNotFoundError" in text
    assert "nothing_of_this_name" in text


def test_an_unknown_name_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["no-such"]) == 2
    assert "start" in capsys.readouterr().out


@pytest.mark.parametrize("name", runner.benchmarks())
def test_every_benchmark_has_rows(name: str) -> None:
    source = (runner.HERE / f"bench_{name}.py").read_text(encoding="utf-8")
    assert "\ndef rows() -> " in source


def test_a_restart_whose_sigterm_nobody_saw_is_no_measurement() -> None:
    bench = importlib.import_module("tests.benchmarks.bench_restart")
    with pytest.raises(RuntimeError, match="nothing was measured"):
        bench.Terminated().taken()
