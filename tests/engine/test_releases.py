"""Versions, what changed between them, and the ladders of old ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eagletui.engine import releases as rel
from eagletui.engine.ladder import plan
from eagletui.engine.releases import Range, Version
from eagletui.model.speculative import Speculative
from tests.engine.logs import folded, read

ORDERED = [
    "0.4.6", "0.4.6.post5", "0.4.10", "0.4.10.post2", "0.5.0rc1", "0.5.0", "0.5.1", "0.5.9",
    "0.5.10", "0.5.16", "0.5.23",
]  # fmt: skip


def test_versions_order() -> None:
    assert sorted(map(Version, reversed(ORDERED))) == list(map(Version, ORDERED))
    assert Version("0.5") == Version("0.5.0") == Version("v0.5.0+cu128")
    with pytest.raises(ValueError, match="no version"):
        Version("main")


@pytest.mark.parametrize(
    ("feature", "version", "value"),
    [
        ("ladder order", "0.5.13", "model by model"),
        ("ladder order", "0.5.14", "loads first"),
        ("batch separator", "0.5.3", "."),
        ("batch separator", "0.5.5", ","),
        ("server_args", "0.5.19", "dataclass"),
        ("server_args", "0.5.20", "dict"),
        ("accept rate", "0.4.10", None),
        ("accept rate", "0.5.10", "with bonus"),
        ("accept rate", "0.5.11", "drafts only"),
        ("weight bars", "0.5.10", "carriage return"),
    ],
)
def test_features(feature: rel.Feature, version: str, value: str | None) -> None:
    assert rel.feature(feature, version) == value


def test_a_range_that_spans_a_change_says_nothing() -> None:
    assert rel.feature_in("ladder order", Range("0.5.10", "0.5.19")) is None
    assert rel.feature_in("ladder order", Range("0.5.16", "")) == "loads first"
    assert rel.feature_in("ladder order", Range("", "0.5.3")) == "model by model"


def test_ranges_read_well() -> None:
    texts = [Range().text, Range("0.5.20").text, Range("", "0.5.3").text]
    assert texts == ["", "0.5.20+", "up to 0.5.3"]
    assert Range("0.5.1", "0.5.3").text == "0.5.1–0.5.3"
    assert Range("0.5.1", "0.5.1").text == "0.5.1"


_VERSIONS = st.sampled_from(["", *ORDERED])


@given(_VERSIONS, _VERSIONS, _VERSIONS, _VERSIONS)
def test_narrowing_never_turns_a_range_round(a: str, b: str, c: str, d: str) -> None:
    first = Range(a, b)
    if a and b and Version(b) < Version(a):
        return
    narrowed = first.narrowed(Range(c, d))
    if narrowed.since and narrowed.until:
        assert Version(narrowed.since) <= Version(narrowed.until)


# What 0.4.6 wrote: bars with newlines, dots after `batch`, the draft after the target's graphs.
OLD = """\
[2025-06-01 10:00:00] server_args=ServerArgs(model_path='/m', device='cuda', \
disable_cuda_graph=False, speculative_algorithm='EAGLE3', speculative_draft_model_path='/d', \
speculative_num_steps=3, speculative_eagle_topk=1, speculative_num_draft_tokens=4)
[2025-06-01 10:00:10 TP0] Init torch distributed begin.
[2025-06-01 10:00:12 TP0] Init torch distributed ends. mem usage=1.02 GB
[2025-06-01 10:00:12 TP0] Load weight begin. avail mem=78.58 GB
\rLoading safetensors checkpoint shards:   0% Completed | 0/4 [00:00<?, ?it/s]
\rLoading safetensors checkpoint shards: 100% Completed | 4/4 [00:20<00:00,  5.00s/it]
[2025-06-01 10:00:40 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail \
mem=63.1 GB, mem usage=15.0 GB.
[2025-06-01 10:00:41 TP0] KV Cache is allocated. #tokens: 9000, K size: 1.00 GB, V size: 1.00 GB
[2025-06-01 10:00:41 TP0] Memory pool end. avail mem=60.0 GB
[2025-06-01 10:00:41 TP0] Capture cuda graph begin. This can take up to several minutes. avail \
mem=60.0 GB
[2025-06-01 10:00:41 TP0] Capture cuda graph bs [1, 2, 4, 8]
\r 25%|██▌       | 1/4 [00:01<00:03,  1.00s/it]
\r100%|██████████| 4/4 [00:04<00:00,  1.00s/it]
[2025-06-01 10:00:45 TP0] Capture cuda graph end. Time elapsed: 4.25 s. mem usage=1.00 GB. avail \
mem=59.0 GB.
[2025-06-01 10:00:45 TP0] Load weight begin. avail mem=59.0 GB
\rLoading pt checkpoint shards: 100% Completed | 1/1 [00:01<00:00,  1.00s/it]
[2025-06-01 10:00:47 TP0] Load weight end. type=LlamaForCausalLMEagle3, dtype=torch.bfloat16, \
avail mem=58.0 GB, mem usage=1.0 GB.
[2025-06-01 10:00:48 TP0] KV Cache is allocated. #tokens: 9000, K size: 0.10 GB, V size: 0.10 GB
[2025-06-01 10:00:48 TP0] Memory pool end. avail mem=57.0 GB
[2025-06-01 10:00:48 TP0] Capture draft cuda graph begin. This can take up to several minutes. \
avail mem=57.0 GB
[2025-06-01 10:00:50 TP0] Capture draft cuda graph end. Time elapsed: 1.50 s. avail mem=56.0 GB.
[2025-06-01 10:00:50 TP0] max_total_num_tokens=9000, chunked_prefill_size=8192
[2025-06-01 10:00:50] INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)
[2025-06-01 10:00:53] The server is fired up and ready to roll!
[2025-06-01 10:01:00 TP0] Decode batch. #running-req: 1, #token: 812, token usage: 0.01, accept \
len: 2.50, cuda graph: True, gen throughput (token/s): 100.00, #queue-req: 0
"""


def test_an_old_release_climbs_model_by_model() -> None:
    server = folded(read(OLD.encode(), size=100))
    assert {rung.key: rung.seconds for rung in server.ladder} == {
        "arguments": 0,
        "distributed init": 2,
        "weights/target": 28,
        "kv cache": 1,
        "graphs/target": 4.25,
        "weights/draft": 2,
        "kv cache/draft": 1,
        "graphs/draft": 1.5,
        "warm-up": 3,
        "ready": None,
    }
    assert [rung.done for rung in server.ladder if rung.total] == [4, 4, 1]
    assert server.decode is not None
    assert server.decode.step_ms == 25.0
    assert server.ready_after == 53


def test_without_arguments_a_draft_still_shows() -> None:
    text = "\n".join(OLD.split("\n")[1:])
    server = folded(read(text.encode()))
    assert server.ready
    assert all(rung.status == "done" for rung in server.ladder)
    assert next(rung.key for rung in server.ladder if rung.role == "draft") == "weights/draft"


def test_newest_first_never_goes_back() -> None:
    lines = OLD.split("\n")[:5] + [
        f"2025-06-01T10:00:{20 + i}Z \rLoading safetensors checkpoint shards:  {n}% Completed | "
        f"{n}/163 [13:54<00:37,  5.32s/it]"
        for i, n in enumerate((90, 89, 88, 91))
    ]
    server = folded(read("\n".join(lines).encode()))
    (rung,) = [rung for rung in server.ladder if rung.key == "weights/target"]
    assert (rung.done, rung.total, rung.status) == (91, 163, "running")


def test_all_shards_are_not_the_end() -> None:
    text = OLD.split("[2025-06-01 10:00:40")[0]
    (rung,) = [r for r in folded(read(text.encode())).ladder if r.key == "weights/target"]
    assert (rung.done, rung.total, rung.status) == (4, 4, "running")


@pytest.mark.parametrize(
    ("algorithm", "steps", "draft"),
    [
        ("EAGLE3", 3, {"weights", "graphs", "extend graphs"}),
        ("EAGLE", 1, {"weights", "extend graphs"}),
        ("STANDALONE", 3, {"weights", "graphs", "extend graphs"}),
        ("NGRAM", None, set()),
        (None, None, set()),
        ("A_PLUGIN", 2, {"weights", "graphs", "extend graphs"}),
    ],
)
def test_what_each_algorithm_brings(
    algorithm: str | None, steps: int | None, draft: set[str]
) -> None:
    ladder = plan(Speculative(algorithm=algorithm, num_steps=steps), {}, Range("0.5.16"))
    assert {name for name, role in ladder if role == "draft"} == draft


@pytest.mark.parametrize(
    "args",
    [
        {"disable_cuda_graph": True},
        {"device": "cpu"},
        {"cuda_graph_config": {"decode": {"backend": "disabled"}}},
    ],
)
def test_no_graphs(args: dict[str, object]) -> None:
    ladder = plan(Speculative(algorithm="EAGLE", num_steps=3), args, Range())
    assert not [name for name, _ in ladder if "graphs" in name]


def test_adaptive_steps_change_the_rate() -> None:
    text = OLD + (
        "[2025-06-01 10:01:01 TP0] Adaptive spec params updated: steps 3 -> 1 (ema_accept_len=0.4)"
        "\n"
        "[2025-06-01 10:01:02 TP0] Decode batch. #running-req: 1, #token: 812, accept len: 1.50, "
        "gen throughput (token/s): 100.00, #queue-req: 0\n"
    )
    server = folded(read(text.encode()))
    assert server.speculative.num_steps == 1
    assert server.decode is not None
    assert server.decode.accept_rate == 0.5
