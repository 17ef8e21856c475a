"""The benchmark on a real server: counts are the server's, figures those of SGLang's own client."""

from __future__ import annotations

import json
import math
import statistics
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eagletui.bench.promptsets import shipped
from tests.live.server import LAB, LabServer
from tests.live.ssh import ALIAS
from tests.sshd import Sshd

Command = Callable[..., Any]

TOKENS = 64
REQUESTS = 8
AT_ONCE = 2
ROUNDS, MOST_ROUNDS = 3, 12
AGREED = 0.03

# SGLang's own client, which reads the arguments of one round a line: its imports cost more than
# a round. It imports `datasets` for sets that are not used here and the lab lacks.
_THEIRS = """
import json, runpy, sys, types
sys.modules["datasets"] = types.SimpleNamespace(load_dataset=None)
answers, sys.stdout = sys.stdout, sys.stderr
import sglang.benchmark.serving
print("ready", file=answers, flush=True)
for line in sys.stdin:
    sys.argv = ["bench_serving", *json.loads(line)]
    runpy.run_module("sglang.benchmark.serving", run_name="__main__", alter_sys=True)
    print("done", file=answers, flush=True)
"""


def few(eagle: LabServer) -> list[str]:
    # The tiny model loops at temperature 0: that is said, and here it does not matter.
    sizes = ["--requests", str(REQUESTS), "--output-tokens", str(TOKENS), "--keep-going"]
    return ["--url", eagle.url, "--concurrency", str(AT_ONCE), *sizes]


@pytest.mark.parametrize("way", ["no", "yes"])
@pytest.mark.parametrize("endpoint", ["/v1/chat/completions", "/generate"])
def test_counts_are_the_servers_own(
    eagle: LabServer, sshd: Sshd, eagletui: Command, endpoint: str, way: str
) -> None:
    found = eagletui(
        *("bench", "--host", ALIAS, "--ssh-config", sshd.config, *few(eagle), "--repeats", "1"),
        *("--endpoint", endpoint, "--on-host", way),
        limit=600,
    )
    (cell,) = found["cells"]
    (kept,) = found["run"]["cells"]
    assert found["run"]["via"] == {"no": "client", "yes": "host"}[way]
    assert (cell["served"], cell["failed"]) == (REQUESTS, 0)
    assert cell["output_tokens"] == REQUESTS * TOKENS
    assert cell["server_tokens"] == REQUESTS * TOKENS
    # The counter of verify calls moves by each request's own count when it ends.
    assert cell["accept_length"] == pytest.approx(kept["accept_length"], rel=1e-9)
    assert 1.5 < cell["accept_length"] <= 4.0
    assert sum(cell["accepted"]) == cell["verify_steps"]
    assert len(cell["accepted"]) == 4
    assert cell["steps"]["source"] in ("decode moments", "pass counter")
    assert cell["steps"]["step"] > 0.0
    assert cell["steps"]["verify"] is None
    assert 0.0 < cell["ttft_ms"]["p50"] < cell["latency_ms"]["p50"]
    around = found["run"]["surroundings"]
    assert around["versions"]["sglang"] == "0.5.23"
    assert around["speculative"]["num_steps"] == 3
    assert around["argv"]


def test_an_exact_input_length_is_what_the_server_counts(
    eagle: LabServer, eagletui: Command
) -> None:
    found = eagletui(
        *("bench", "--local", *few(eagle), "--repeats", "1", "--endpoint", "/generate"),
        *("--input-tokens", "50"),
        limit=600,
    )
    (cell,) = found["run"]["cells"]
    assert {sent["prompt_tokens"] for sent in cell["requests"]} == {50}


def test_a_loop_is_called_one(eagle: LabServer, eagletui: Command) -> None:
    words = few(eagle)
    words[words.index(str(TOKENS))] = "256"
    words.remove("--keep-going")
    found = eagletui("bench", "--local", *words, "--repeats", "1", status=1, limit=600)
    (cell,) = found["cells"]
    assert cell["stopped"] == "looped"
    assert "outputs loop" in cell["why"]
    assert found["run"]["partial"]


@pytest.fixture
def their_client(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    with (tmp_path / "theirs.log").open("wb") as log:
        client = subprocess.Popen(
            [str(LAB / "venv" / "bin" / "python"), "-W", "ignore", "-c", _THEIRS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert client.stdout is not None
        assert client.stdout.readline() == "ready\n", (tmp_path / "theirs.log").read_text()[-2000:]
        yield client
    finally:
        client.kill()
        client.communicate()


def test_ours_agrees_with_sglangs_own_client(
    eagle: LabServer,
    eagletui: Command,
    their_client: subprocess.Popen[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In turn in one run, so that what else the machine does falls on both. Where either side's
    own rounds differ by more than 3 %, their means may differ by what that noise allows. A few
    rounds may be apart by chance: more bring together what is the same, and nothing else."""
    prompts = tmp_path / "prompts.jsonl"
    with prompts.open("w") as file:
        for prompt in shipped("code")[:REQUESTS]:
            turns = [{"from": "human", "value": prompt.text}, {"from": "gpt", "value": "so be it"}]
            file.write(json.dumps({"conversations": turns}) + "\n")
    ours: list[dict[str, Any]] = []
    theirs: list[dict[str, Any]] = []
    said, wrong = [""], ["no round yet"]
    while wrong and len(ours) < MOST_ROUNDS:
        ours.append(_ours(eagle, eagletui, prompts, tmp_path))
        theirs.append(_theirs(eagle, their_client, prompts, tmp_path))
        if len(ours) >= ROUNDS:
            said, wrong = _compared(ours, theirs)
    with capsys.disabled():
        print(f"\nafter {len(ours)} rounds\n" + "\n".join(said))  # noqa: T201 - for the report
    assert not wrong
    for row in (*ours, *theirs):
        assert row["completed"] == REQUESTS
        assert row["total_output_tokens"] == REQUESTS * TOKENS


def _compared(
    ours: list[dict[str, Any]], theirs: list[dict[str, Any]]
) -> tuple[list[str], list[str]]:
    """Every figure in words, and those that are further apart than chance allows."""
    said, wrong = [], []
    for name in (
        "output_throughput", "mean_ttft_ms", "mean_tpot_ms", "mean_e2e_latency_ms",
        "accept_length",
    ):  # fmt: skip
        a, b = [row[name] for row in ours], [row[name] for row in theirs]
        off = statistics.mean(a) / statistics.mean(b) - 1.0
        noise = math.hypot(_spread(a), _spread(b))
        allowed = max(AGREED, 2.0 * noise)
        said.append(f"{name}: ours/theirs − 1 = {off:+.1%}, allowed {allowed:.1%}")
        if abs(off) > allowed:
            wrong.append(said[-1])
    return said, wrong


def _spread(values: list[float]) -> float:
    """The standard error of their mean, relative to it."""
    return statistics.stdev(values) / math.sqrt(len(values)) / statistics.mean(values)


def _ours(eagle: LabServer, eagletui: Command, prompts: Path, folder: Path) -> dict[str, Any]:
    export = folder / "ours.jsonl"
    eagletui(
        *("bench", "--local", *few(eagle), "--repeats", "1", "--endpoint", "/generate"),
        *("--prompts", prompts, "--flush-cache", "--export", export),
        limit=600,
    )
    row: dict[str, Any] = json.loads(export.read_text().splitlines()[-1])
    return row


def _theirs(
    eagle: LabServer, client: subprocess.Popen[str], prompts: Path, folder: Path
) -> dict[str, Any]:
    out = folder / "theirs.jsonl"
    words = [
        *("--backend", "sglang"),
        *("--base-url", eagle.url, "--dataset-name", "custom", "--dataset-path", str(prompts)),
        *("--num-prompts", str(REQUESTS), "--max-concurrency", str(AT_ONCE)),
        *("--sharegpt-output-len", str(TOKENS), "--output-file", str(out)),
        *("--warmup-requests", str(AT_ONCE), "--flush-cache"),
    ]
    assert client.stdin is not None
    assert client.stdout is not None
    client.stdin.write(json.dumps(words) + "\n")
    client.stdin.flush()
    assert client.stdout.readline() == "done\n", (folder / "theirs.log").read_text()[-2000:]
    row: dict[str, Any] = json.loads(out.read_text().splitlines()[-1])
    return row
