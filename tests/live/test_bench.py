"""The benchmark on a real server: counts are the server's, figures those of SGLang's own client."""

from __future__ import annotations

import json
import math
import os
import statistics
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from eagletui.bench.promptsets import shipped
from tests.live.server import IDLE_QUIETLY, LAB, LabServer
from tests.live.ssh import ALIAS
from tests.sshd import Sshd

Command = Callable[..., Any]

TOKENS = 64
REQUESTS = 8
AT_ONCE = 2
PAIRS, MOST_PAIRS = 4, 12
AGREED = 0.03
BESIDE, MOST_BATCHES = 4, 6
TURNS, MOST_TURNS = 16, 64
TIMES = ("output_throughput", "mean_ttft_ms", "mean_tpot_ms", "mean_e2e_latency_ms")

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

# Both clients in one process. Beside: each prompt is sent twice in the same moment, so that both
# replies are generated in the same batch, step by step, and whatever slows the machine slows both.
# In turn: one request at a time, each client first as often.
_BOTH = """
import asyncio, json, sys, types
import aiohttp
sys.modules["datasets"] = types.SimpleNamespace(load_dataset=None)
from sglang.benchmark import serving as s
from eagletui.bench.client import Client
from eagletui.bench.load import Load, Reply
way, url, tokens, prompts = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
s.set_global_args(types.SimpleNamespace(
    disable_stream=False, disable_ignore_eos=False, temperature=0.0, top_p=1.0, cache_report=False,
    return_logprob=False, return_routed_experts=False, print_requests=False, header=None,
    served_model_name=None, top_logprobs_num=0, token_ids_logprob=None, logprob_start_len=-1))
sampling = {"max_new_tokens": tokens, "temperature": 0.0, "ignore_eos": True}
async def theirs(prompt):
    told = await s.async_request_sglang_generate(s.RequestFuncInput(
        prompt=prompt, api_url=url + "/generate", prompt_len=1, output_len=tokens, model="m",
        lora_name="", image_data=None, extra_request_body={}))
    tpot = (told.latency - told.ttft) / (told.output_len - 1)
    return {"ttft": told.ttft, "tpot": tpot, "latency": told.latency, "tokens": told.output_len}
async def ours(session, prompts):
    found = {}
    def heard(item):
        if isinstance(item, Reply):
            found[item.index] = item.sent
    bodies = tuple(json.dumps({"text": prompt, "sampling_params": sampling,
                               "stream": True}).encode() for prompt in prompts)
    load = Load(url=url, endpoint="/generate", bodies=bodies, concurrency=len(bodies))
    await Client(session).drive(load, heard, asyncio.Event())
    return [{"ttft": a.ttft, "tpot": a.tpot, "latency": a.latency, "tokens": a.output_tokens}
            for a in (found[index] for index in range(len(prompts)))]
async def beside(session, prompts):
    mine, *others = await asyncio.gather(ours(session, prompts), *map(theirs, prompts))
    return [{"ours": a, "theirs": b} for a, b in zip(mine, others)]
async def emptied():
    async with aiohttp.ClientSession() as one, one.post(url + "/flush_cache") as reply:
        await reply.read()
async def turns(session, prompts):
    rows = []
    for index, prompt in enumerate(prompts):
        row = {}
        for mine in (True, False) if index % 2 else (False, True):
            await emptied()
            if mine:
                (row["ours"],) = await ours(session, [prompt])
            else:
                row["theirs"] = await theirs(prompt)
        rows.append(row)
    return rows
async def run(prompts):
    # A connection that the server has closed meanwhile would be met by the next request.
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=1.0)
    async with aiohttp.ClientSession(connector=connector) as session:
        return await {"beside": beside, "turns": turns}[way](session, prompts)
asyncio.run(run(prompts[-4:]))
print("RESULT", json.dumps(asyncio.run(run(prompts))))
"""


@pytest.fixture(scope="module")
def counting(folder: Path) -> Iterator[LabServer]:
    """A server whose average accept length takes in every step at once."""
    flags = ["--decode-log-interval", "1", IDLE_QUIETLY]
    bound = {"SGLANG_CPU_OMP_THREADS_BIND": str((os.cpu_count() or 1) - 1)}
    server = LabServer(folder, "counting", "EAGLE3", flags, environment=bound)
    try:
        server.wait_ready()
        yield server
    finally:
        server.stop()


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
    verified = (REQUESTS * TOKENS - REQUESTS) / cell["verify_steps"]
    assert kept["accept_length"] == pytest.approx(verified, rel=1e-12)
    assert sum(cell["accepted"]) == cell["verify_steps"]
    assert len(cell["accepted"]) == 4
    brought = sum((drafts + 1) * steps for drafts, steps in enumerate(cell["accepted"]))
    assert cell["accept_length"] == pytest.approx(brought / cell["verify_steps"], rel=1e-12)
    # Drafts behind a reply's last token are in the histogram alone, three a request at the most.
    assert 0.0 <= brought - (REQUESTS * TOKENS - REQUESTS) <= 3 * REQUESTS
    assert 1.5 < cell["accept_length"] <= 4.0
    assert cell["step_source"] in ("decode moments", "pass counter")
    assert cell["step_ms"] > 0.0
    assert cell["verify_ms"] is None
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


def test_accept_length_is_the_servers_own_to_the_last_digit(
    counting: LabServer, eagletui: Command
) -> None:
    """Flushed behind the warm-up, the server's average is that of the cell's steps alone."""
    words = ["bench", "--local", *few(counting), "--repeats", "1", "--flush-cache"]
    found = eagletui(*words, "--endpoint", "/generate", limit=600)
    (cell,) = found["cells"]
    (state,) = counting.get("/server_info")["internal_states"]
    assert cell["accept_length"] == pytest.approx(state["avg_spec_accept_length"], rel=1e-12)


def test_times_of_the_same_steps_are_those_of_sglangs_own_client(
    counting: LabServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Replies of one batch: no noise of the machine excuses a difference of more than 3 %.

    But for the first token: in which step a prompt is read is decided by the order in which they
    arrive, and one of the two sends first.
    """
    rows: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    wrong = ["no batch yet"]
    while wrong and len(rows) < MOST_BATCHES * BESIDE:
        rows += _both("beside", counting, [prompt.text for prompt in shipped("code")[:BESIDE]])
        ratios, wrong = _within_steps(rows)
    with capsys.disabled():
        print(f"\nin {len(rows) // BESIDE} batches, ours over theirs: {ratios}")  # noqa: T201
    assert not wrong, ratios
    for row in rows:
        assert row["ours"]["tokens"] == row["theirs"]["tokens"] == TOKENS


def _within_steps(rows: list[dict[str, Any]]) -> tuple[dict[str, float], list[str]]:
    """Medians of ours over theirs, and the names of those that are apart."""
    ratios = {
        name: statistics.median(row["ours"][name] / row["theirs"][name] for row in rows)
        for name in ("ttft", "tpot", "latency")
    }
    a_step = statistics.median(row["theirs"]["tpot"] / row["theirs"]["ttft"] for row in rows)
    allowed = {"ttft": AGREED + a_step, "tpot": AGREED, "latency": AGREED}
    return ratios, [name for name in ratios if abs(ratios[name] - 1.0) > allowed[name]]


def test_times_in_turn_are_those_of_sglangs_own_client(
    counting: LabServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Request by request, so that both clients meet the same machine; the first token as well."""
    prompts = [prompt.text for kind in ("code", "maths") for prompt in shipped(kind)[: TURNS // 2]]
    rows: list[dict[str, Any]] = []
    said, wrong = [""], ["no turn yet"]
    while wrong and len(rows) < MOST_TURNS:
        rows += _both("turns", counting, prompts)
        said, wrong = _apart(rows, ("ttft", "tpot", "latency"))
    with capsys.disabled():
        print(f"\nafter {len(rows)} turns\n" + "\n".join(said))  # noqa: T201 - for the report
    assert not wrong
    for row in rows:
        assert row["ours"]["tokens"] == row["theirs"]["tokens"] == TOKENS


def _both(way: str, counting: LabServer, prompts: list[str]) -> list[dict[str, Any]]:
    """Each prompt by both clients."""
    done = subprocess.run(
        [
            *(str(LAB / "venv" / "bin" / "python"), "-c", _BOTH, way),
            *(counting.url, str(TOKENS), json.dumps(prompts)),
        ],
        capture_output=True,
        timeout=600,
        check=False,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    line = next((x for x in done.stdout.decode().splitlines() if x.startswith("RESULT ")), "")
    assert line, done.stderr.decode()[-2000:]
    found: list[dict[str, Any]] = json.loads(line.removeprefix("RESULT "))
    return found


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
    counting: LabServer,
    eagletui: Command,
    their_client: subprocess.Popen[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In turn in one run, each first as often, so that what else the machine does falls on both.

    Counts and accept length are the very same. Of times the median of the pairs' ratios is within
    3 %; where the pairs themselves scatter by more, within twice the standard error of that median.
    A few pairs may be apart by chance: more bring together what is the same, and nothing else.
    """
    prompts = tmp_path / "prompts.jsonl"
    with prompts.open("w") as file:
        for prompt in shipped("code")[:REQUESTS]:
            turns = [{"from": "human", "value": prompt.text}, {"from": "gpt", "value": "so be it"}]
            file.write(json.dumps({"conversations": turns}) + "\n")
    pairs: list[dict[str, Any]] = []
    said, wrong = [""], ["no pair yet"]
    while wrong and len(pairs) < MOST_PAIRS:
        pair: dict[str, Any] = {}
        for mine in (True, False) if len(pairs) % 2 else (False, True):
            if mine:
                pair["ours"] = _ours(counting, eagletui, prompts, tmp_path)
            else:
                pair["theirs"] = _theirs(counting, their_client, prompts, tmp_path)
        pairs.append(pair)
        if len(pairs) >= PAIRS:
            said, wrong = _apart(pairs, TIMES)
    with capsys.disabled():
        print(f"\nafter {len(pairs)} pairs\n" + "\n".join(said))  # noqa: T201 - for the report
    assert not wrong
    rows = [row for pair in pairs for row in pair.values()]
    for row in rows:
        assert row["completed"] == REQUESTS
        assert row["total_output_tokens"] == REQUESTS * TOKENS
        assert row["accept_length"] == pytest.approx(rows[0]["accept_length"], rel=1e-12)


def _apart(pairs: list[dict[str, Any]], names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Every time in words, and those that are further apart than chance allows."""
    said, wrong = [], []
    for name in names:
        ratios = [pair["ours"][name] / pair["theirs"][name] for pair in pairs]
        off = statistics.median(ratios) - 1.0
        # Of a normal law the median's standard error is 1.25 times the mean's.
        noise = 1.25 * statistics.stdev(ratios) / math.sqrt(len(ratios))
        allowed = max(AGREED, 2.0 * noise)
        said.append(f"{name}: ours/theirs − 1 = {off:+.1%}, allowed {allowed:.1%}")
        if abs(off) > allowed:
            wrong.append(said[-1])
    return said, wrong


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
