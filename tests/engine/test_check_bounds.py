# ruff: noqa: E501
"""Where each rule of `check` begins and ends: its releases, its numbers, the words in its tables."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from eagletui.engine.check.modes import on
from eagletui.engine.check.run import check
from eagletui.engine.check.situation import Situation, number, place
from eagletui.engine.flags.table import RELEASES
from eagletui.engine.releases import Range, Version
from eagletui.model.finding import GpuHolder, HostFacts, ModelFiles
from eagletui.model.profile import StartPlan
from tests.engine.test_check import CHAIN, NO_DRAFT, SPEC, TREE, codes, found, models, spec, swapped

ALWAYS, NEVER = ("", ""), ("9", "9")
V2 = {"SGLANG_ENABLE_SPEC_V2": "1"}
ADAPTIVE = "--speculative-adaptive"
DETERMINISTIC = "--enable-deterministic-inference"
PREFILL = "--disaggregation-mode prefill"
# Literally, as they were read in 0.5.23, so that a word that is lost in a table is missed here.
UNDRAFTED = (
    *("flex_attention", "hpc_ops", "llada2_cfg_flashinfer", "minicpm_flashattn"),
    *("minicpm_flashinfer", "tokenspeed_mla", "torch_native", "wave"),
)
LATENT = (
    *("DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM"),
    *("MistralLarge3ForCausalLM", "PixtralForConditionalGeneration", "GlmMoeDsaForCausalLM"),
)
OWN_DRAFT = (
    *LATENT,
    *("DeepseekV4ForCausalLM", "Glm4MoeForCausalLM", "Glm4MoeLiteForCausalLM"),
    *("BailingMoeForCausalLM", "BailingMoeV2ForCausalLM", "BailingMoeV2_5ForCausalLM"),
    *("HYV3ForCausalLM", "HYV4ForCausalLM", "Qwen4ExpForConditionalGeneration"),
)
SHORT = models({"max_position_embeddings": 2048})


class Life(NamedTuple):
    """A start, and the releases in which it has a finding."""

    code: str
    flags: str
    since: str = ""
    until: str = ""
    environment: dict[str, str] = {}
    facts: HostFacts | None = None


LIVES = [
    Life("tree-pages", f"{TREE} --page-size 2 --attention-backend trtllm_mha", "0.5.3"),
    Life("tree-pages", f"{TREE} --page-size 2 --attention-backend triton", "0.5.3", "0.5.6"),
    Life("tree-pages", f"{TREE} --page-size 2 --attention-backend fa3", "0.5.3", "0.5.5"),
    Life("tree-pages", f"{TREE} --page-size 2 --attention-backend flashinfer", *NEVER),
    Life("tree-pages", f"{TREE} --page-size 1 --attention-backend trtllm_mha", *NEVER),
    Life("tree-pages", f"{TREE} --attention-backend trtllm_mla", "0.5.3"),
    Life("tree-pages", f"{TREE} --attention-backend cutedsl_mla", "0.5.3"),
    Life("tree-pages", f"{TREE} --attention-backend hpc_ops", "0.5.3"),
    Life("tree-pages-backend", f"{TREE} --page-size 2", "0.5.3"),
    Life("tree-pages-backend", f"{TREE} --page-size 1", *NEVER),
    Life("tree-pages-backend", f"{CHAIN} --page-size 2", *NEVER),
    Life("tree-made-chain", f"{TREE} --page-size 2", "", "0.4.6"),
    Life("tree-made-chain", f"{TREE} --page-size 1", *NEVER),
    Life("tree-made-chain", f"{CHAIN} --page-size 2", *NEVER),
    Life("ngram-pages", "--speculative-algorithm NGRAM --page-size 2", "0.5.23"),
    Life("ngram-pages", "--speculative-algorithm NGRAM --page-size 1", *NEVER),
    Life("ngram-pages", "--speculative-algorithm NGRAM --page-size 2 --speculative-ngram-max-bfs-breadth 1", *NEVER),
    Life("ngram-pages", "--speculative-algorithm NGRAM --page-size 2 --speculative-ngram-max-bfs-breadth 2", "0.5.23"),
    Life("trtllm-mha-tree", f"{TREE} --attention-backend trtllm_mha", "0.5.1"),
    Life("trtllm-mha-tree", f"{TREE} --prefill-attention-backend trtllm_mha", "0.5.1"),
    Life("trtllm-mla-speculation", f"{CHAIN} --attention-backend trtllm_mla", "0.4.10", "0.4.10"),
    Life("trtllm-mla-speculation", "--attention-backend trtllm_mla", *NEVER),
    Life("trtllm-mla-speculation", f"{CHAIN} --attention-backend triton", *NEVER),
    Life("adaptive-off", f"{TREE} {ADAPTIVE}", "0.5.11"),
    Life("adaptive-off", f"{CHAIN} {ADAPTIVE} --enable-multi-layer-eagle", "0.5.11"),
    Life("adaptive-off", f"{CHAIN} {ADAPTIVE} --enable-pdmux", "0.5.11"),
    Life("adaptive-off", f"{CHAIN} {ADAPTIVE}", "0.5.11", "0.5.11"),
    Life("adaptive-off", f"{swapped(CHAIN, 'NEXTN')} {ADAPTIVE}", "0.5.11", "0.5.11"),
    Life("adaptive-off", f"{swapped(CHAIN, 'EAGLE')} {ADAPTIVE} --disable-overlap-schedule", *NEVER),
    *(Life("adaptive-steps", f"{spec(k, 1, k + 1)} {ADAPTIVE}", "0.5.14") for k in (2, 4, 6, 8)),
    *(Life("adaptive-steps", f"{spec(k, 1, k + 1)} {ADAPTIVE}", *NEVER) for k in (0, 1, 3, 7)),
    Life("adaptive-steps", f"{spec(5, 1, 6)} {ADAPTIVE}", "0.5.14", "0.5.19"),
    Life("adaptive-steps", f"{spec(2, 2, 7)} {ADAPTIVE}", *NEVER),
    Life("pipeline-speculation", f"{swapped(CHAIN, 'EAGLE')} --pp-size 2 {PREFILL}", "", "0.5.21"),
    Life("pipeline-speculation", f"{swapped(CHAIN, 'NEXTN')} --pp-size 2 {PREFILL}", "", "0.5.21"),
    Life("pipeline-speculation", f"{swapped(CHAIN, 'EAGLE')} --pp-size 2 {PREFILL} --enable-multi-layer-eagle"),
    Life("pipeline-speculation", f"--speculative-algorithm DSPARK --pp-size 2 {PREFILL}", "", "0.5.21"),
    Life("pipeline-speculation", "--speculative-algorithm DSPARK --pp-size 2"),
    Life("pipeline-speculation", "--pp-size 2", *NEVER),
    Life("pipeline-speculation", f"{swapped(CHAIN, 'EAGLE')} --pp-size 2 {PREFILL}", environment={"SGLANG_ENABLE_PP_SPEC": "1"}),
    Life("pipeline-speculation", f"{swapped(CHAIN, 'EAGLE')} --pp-size 2 --attn-dp-size 2 --tp 2", environment={"SGLANG_ENABLE_PP_SPEC": "1"}),
    *(Life("attention-dp-speculation", f"--speculative-algorithm {name} --enable-dp-attention --dp-size 2 --tp 2") for name in ("NGRAM", "STANDALONE", "UNO")),
    Life("attention-dp-speculation", "--speculative-algorithm NGRAM --dp-size 2", *NEVER),
    *(Life("mixed-chunk-off", f"--speculative-algorithm {name} --enable-mixed-chunk", "", "0.5.22") for name in ("EAGLE", "EAGLE3", "NEXTN", "DFLASH", "DSPARK")),
    Life("mixed-chunk-off", "--speculative-algorithm STANDALONE --enable-mixed-chunk"),
    Life("mixed-chunk-off", "--enable-mixed-chunk", *NEVER),
    Life("spec-v2-tree", TREE, "0.5.7", "0.5.10", V2),
    Life("spec-v2-tree", TREE, *NEVER, {"SGLANG_ENABLE_SPEC_V2": "0"}),
    Life("spec-v2-tree", CHAIN, *NEVER, V2),
    Life("spec-v1", CHAIN, "0.5.5", "0.5.10"),
    Life("spec-v1", TREE, "0.5.5", "0.5.12"),
    Life("spec-v1", CHAIN, "0.5.5", "0.5.12", {"SGLANG_ENABLE_SPEC_V2": "0"}),
    Life("spec-v1", CHAIN, *NEVER, V2),
    Life("spec-v1", swapped(TREE, "STANDALONE"), *NEVER),
    Life("device-timer-off", CHAIN, "0.5.11", "", {"CUDA_X": ""}),
    Life("variable-overwritten", "", "", "0.4.6", {"NCCL_NVLS_ENABLE": "1"}),
    Life("variable-overwritten", "", "", "0.4.6", {"NCCL_CUMEM_ENABLE": "1"}),
    Life("variable-overwritten", "", "0.5.9", "", {"CUDA_DEVICE_MAX_CONNECTIONS": "4"}),
    Life("variable-overwritten", "", "", "0.5.8", {"CUDA_DEVICE_MAX_CONNECTIONS": "8"}),
    Life("variable-overwritten", f"--tp 2 {DETERMINISTIC}", "0.5.23", "", {"NCCL_MIN_NCHANNELS": "4"}),
    Life("variable-overwritten", f"--tp 2 {DETERMINISTIC}", "0.5.23", "", {"NCCL_MAX_NCHANNELS": "4"}),
    Life("variable-overwritten", DETERMINISTIC, *NEVER, {"NCCL_ALGO": "Ring"}),
    Life("deterministic-refused", f"{DETERMINISTIC} --attention-backend trtllm_mha", "0.5.3"),
    *(Life("deterministic-refused", f"{DETERMINISTIC} --attention-backend {name}", "0.5.3", "0.5.9") for name in ("fa4", "ascend", "intel_xpu")),
    *(Life("deterministic-refused", f"{DETERMINISTIC} --attention-backend {name}", *NEVER) for name in ("flashinfer", "fa3", "triton")),
    *(Life("deterministic-refused", f"{DETERMINISTIC} --attention-backend flashinfer", "0.5.9", "", {}, models(architectures=[name])) for name in LATENT),
    *(Life("deterministic-refused", f"{DETERMINISTIC} --attention-backend {name}", *NEVER, {}, models(architectures=["DeepseekV3ForCausalLM"])) for name in ("fa3", "triton")),
    *(Life("deterministic-refused", f"{DETERMINISTIC} --attention-backend {name}", "0.5.3", "0.5.9", {}, models(architectures=["DeepseekV3ForCausalLM"])) for name in ("fa4", "ascend")),
    Life("deterministic-refused", f"{DETERMINISTIC} --speculative-algorithm UNO", "0.5.23"),
    Life("deterministic-unseeded", f"{CHAIN} {DETERMINISTIC}", "0.5.3", "0.5.16"),
    Life("draft-context-refused", CHAIN, "0.5.23", "", {}, SHORT),
    Life("draft-context", CHAIN, "", "0.5.22", {}, SHORT),
]  # fmt: skip


@pytest.mark.parametrize("life", LIVES, ids=lambda life: f"{life.code} {life.flags[-60:]}")
def test_a_rule_holds_in_these_releases_and_no_other(life: Life) -> None:
    lives = [
        release
        for release in RELEASES
        if life.code in codes(life.flags, release, life.environment or None, life.facts)
    ]
    if (life.since, life.until) == NEVER:
        assert lives == []
    else:
        assert lives == [text for text in RELEASES if text in Range(life.since, life.until)]
        assert lives


@pytest.mark.parametrize(
    ("algorithm", "first"),
    [
        ("EAGLE", "0.4.6"), ("EAGLE3", "0.4.6"), ("NEXTN", "0.4.6"), ("STANDALONE", "0.5.3"),
        ("NGRAM", "0.5.3"), ("DFLASH", "0.5.11"), ("FROZEN_KV_MTP", "0.5.14"),
        ("DSPARK", "0.5.16"), ("UNO", "0.5.20"),
    ],
)  # fmt: skip
def test_an_algorithm_is_there_from_its_first_release_on(algorithm: str, first: str) -> None:
    flags = f"--speculative-algorithm {algorithm}"
    refusals = {"unknown-algorithm", "bad-choice"}
    taken = [release for release in RELEASES if not refusals & {*codes(flags, release)}]
    assert taken == [text for text in RELEASES if text in Range(first)]


def test_an_algorithm_of_a_later_release_is_told_from_one_of_no_release() -> None:
    def said(algorithm: str, release: str) -> str:
        told = {f.code: f.message for f in found(f"--speculative-algorithm {algorithm}", release)}
        return told["unknown-algorithm"]

    assert said("DSPARK", "0.5.14").startswith("DSPARK came with 0.5.16: ")
    assert said("NOPE", "0.5.23").startswith("No SGLang here has an algorithm 'NOPE': ")


def test_what_the_variable_of_the_overlapped_worker_does() -> None:
    said = {}
    for release in RELEASES:
        told = [f.message for f in found(CHAIN, release, V2) if f.code == "spec-v2-variable"]
        said[release] = told[0].rpartition(" ")[0] if told else ""
    quiet = [release for release, words in said.items() if not words]
    assert quiet == [text for text in RELEASES if text in Range("0.5.5", "0.5.12")]
    warns = [release for release, words in said.items() if "only warns" in words]
    assert warns == [text for text in RELEASES if text in Range("0.5.13", "0.5.20")]


@pytest.mark.parametrize(
    ("flags", "environment", "expected"),
    [
        # Numbers just inside and just outside.
        ("--port 1", {}, "bad-port"),
        ("--port 1023", {}, "bad-port"),
        ("--port 1024", {}, ""),
        ("--port 65535", {}, ""),
        ("--port 65536", {}, "bad-port"),
        ("--port 0", {}, "bad-port"),
        ("--tp 4", {"NCCL_P2P_LEVEL": "5"}, ""),
        ("--tp 4", {"NCCL_P2P_LEVEL": "6"}, "nccl-value"),
        ("--tp 4", {"NCCL_P2P_LEVEL": "-1"}, "nccl-value"),
        ("--tp 4", {"NCCL_PROTO": ""}, "nccl-value"),
        ("--tp 4", {"NCCL_ALGO": "allreduce:tree;broadcast:ring"}, ""),
        ("--tp 4", {"NCCL_P2P_DISABLE": "1"}, ""),
        ("--tp 4", {"NCCL_P2P_DISABLE": "0", "NCCL_P2P_LEVEL": "SYS"}, ""),
        ("--tp 4", {"NCCL_MIN_NCHANNELS": "4", "NCCL_MAX_NCHANNELS": "4"}, ""),
        ("--tp 4", {"NCCL_MIN_NCHANNELS": "many", "NCCL_MAX_NCHANNELS": "4"}, ""),
        ("--tp 4", {"NCCL_MIN_CTAS": "8", "NCCL_MAX_CTAS": "4"}, "nccl-contradiction"),
        ("--tp 2 --enable-symm-mem", {"NCCL_PROTO": "LL"}, ""),
        ("--tp 3", {"NCCL_PROTO": "LL"}, ""),
        ("", {"SGLANG_SIMULATE_ACC_LEN": "0"}, ""),
        ("", {"SGLANG_SIMULATE_ACC_LEN": "0.5"}, "simulated-acceptance"),
        ("", {"SGLANG_SIMULATE_ACC_LEN": "much"}, ""),
        ("--tp 2 --device cuda", {"CUDA_VISIBLE_DEVICES": "0"}, "too-few-devices"),
        ("--tp 2 --device cpu", {"CUDA_VISIBLE_DEVICES": "0"}, ""),
        ("--tp 2", {"CUDA_VISIBLE_DEVICES": "0,1"}, ""),
        ("--tp 2 --pp-size 2", {"CUDA_VISIBLE_DEVICES": "0,1,2"}, "too-few-devices"),
        ("--dp-size 2", {"CUDA_VISIBLE_DEVICES": "0"}, "too-few-devices"),
        ("--tp 2 --dp-size 2 --enable-dp-attention", {"CUDA_VISIBLE_DEVICES": "0,1"}, "flag-deprecated"),
        ("", {"SGL_FROBNICATE": "1"}, "unknown-variable"),
        ("", {"SGL_FORCE_SHUTDOWN": "1"}, ""),
        ("", {"SGL_FORCE_SHUTDOWM": "1"}, "misspelt-variable"),
        ("--speculative-eagle-topk 2", {}, "speculation-off"),
        # What only looks like it.
        (swapped(spec(topk=1), "NGRAM"), {}, ""),
        (swapped(spec(3), "NGRAM"), {}, ""),
        (swapped(spec(3, 2), "NGRAM"), {}, ""),
        (swapped(spec(3, 1), "NGRAM"), {}, ""),
        (swapped(spec(3, 1, 9), "NGRAM"), {}, ""),
        (swapped(spec(2, 2, 99), "NGRAM"), {}, ""),
        (swapped(spec(0, 1, 1), "NGRAM"), {}, ""),
        (f"{spec(topk=1)} {ADAPTIVE}", {}, ""),
        (f"{spec(3)} {ADAPTIVE}", {}, ""),
        (f"{spec(3, 1)} {ADAPTIVE}", {}, ""),
        (spec(topk=2), {}, "topk-without-steps"),
        (spec(3, 0, 4), {}, "nothing-drafted"),
        (spec(1, 1, 2), {}, ""),
        (spec(-1, 2, 4), {}, "nothing-drafted"),
        (spec(0, 2, 4), {}, "nothing-drafted"),
        (f"{CHAIN} --speculative-draft-window-size 1", {}, ""),
        (f"{CHAIN} --speculative-draft-window-size 8 --speculative-draft-sink-size 0", {}, ""),
        (f"{CHAIN} --speculative-draft-window-size 8 --speculative-draft-sink-size=-1", {}, "draft-window"),
        (f"{CHAIN} --speculative-use-rejection-sampling --speculative-accept-threshold-single .5", {}, "rejection-sampling"),
        (f"{CHAIN} --speculative-use-rejection-sampling --speculative-accept-threshold-single 1", {}, ""),
        (f"{CHAIN} --speculative-use-block-verification", {}, ""),
        (f"{swapped(CHAIN, 'STANDALONE')} --quantization awq --speculative-draft-model-path m", {}, "flag-twice"),
        (f"{CHAIN} --quantization unquant", {}, ""),
        ("--quantization awq", {}, ""),
        ("--cuda-graph-max-bs-decode 4", {}, "graphs-below-requests"),
        (f"{CHAIN} --attention-backend torch_native --speculative-attention-mode decode --decode-attention-backend triton", {}, ""),
        (f"{spec(1, 1, 2)} --prefill-attention-backend triton --decode-attention-backend torch_native", {}, ""),
        (f"{spec(2, 1, 3)} --prefill-attention-backend triton --decode-attention-backend torch_native", {}, "backend-without-draft"),
        (f"{CHAIN} --decoupled-spec-role null", {}, ""),
        ("--config x.json", {}, "config-file"),
        ("--config x.yml", {}, "config-file"),
        *((f"{CHAIN} --speculative-draft-attention-backend {name}", {}, "backend-without-draft") for name in UNDRAFTED),
    ],
)  # fmt: skip
def test_just_inside_and_just_outside(
    flags: str, environment: dict[str, str], expected: str
) -> None:
    timer = {"SGLANG_ENABLE_METRICS_DEVICE_TIMER": "1"}
    assert codes(flags, environment=timer | environment) == expected.split()


@pytest.mark.parametrize(
    ("flags", "facts", "expected"),
    [
        ("", HostFacts(log_free=(100 << 20) - 1), "log-disk-full"),
        ("", HostFacts(log_free=100 << 20), "log-disk"),
        ("", HostFacts(log_free=(2 << 30) - 1), "log-disk"),
        ("", HostFacts(log_free=2 << 30), ""),
        ("", HostFacts(holders=(GpuHolder(pid=7, gpu=0, memory_used=512.0),)), "gpu-memory-held"),
        ("", HostFacts(holders=(GpuHolder(pid=7, gpu=0, memory_used=511.9),)), ""),
        ("--tp 4", HostFacts(gpu_count=4), ""),
        ("--tp 5 --device cuda", HostFacts(gpu_count=4), "too-few-gpus"),
        ("", HostFacts(readable={"/x": True}), ""),
        (CHAIN, models({"vocab_size": 1020}, vocab_size=1000), ""),
        (CHAIN, models({"vocab_size": 1021}, vocab_size=1000), "draft-vocabulary"),
        (CHAIN, models({"vocab_size": 979}, vocab_size=1000), "draft-vocabulary"),
        (CHAIN, models({"vocab_size": 979}, vocab_size=None), ""),
        (CHAIN, models({"bos_token_id": 1}), "draft-tokenizer"),
        (CHAIN, models({"eos_token_id": 2}, eos_token_id=None), ""),
        (swapped(CHAIN, "EAGLE"), models({"hidden_size": 2048}), "draft-of-another-model"),
        (CHAIN, models({"hidden_size": 2048}, hidden_size=None), ""),
        (CHAIN, models({"hidden_size": None}), ""),
        (CHAIN, models({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [32]}}), "draft-layers"),
        (CHAIN, models({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [31]}}), ""),
        (CHAIN, models({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [99]}}, num_hidden_layers=None), ""),
        (CHAIN, models({"eagle_config": {"eagle_aux_hidden_state_layer_ids": "all"}}), ""),
        (CHAIN, models({"eagle_config": "none"}), ""),
        ("--tp 2", models(num_attention_heads=7), "heads-not-shared"),
        ("--tp 2", models(num_attention_heads=0), ""),
        ("--tp 7", models(num_attention_heads=7), ""),
        ("", models(num_attention_heads=7), ""),
        ("--tp 2", models(num_attention_heads="7"), ""),
        ("--context-length 4096", models(max_position_embeddings=4096), ""),
        ("--context-length 4097", models(max_position_embeddings=4096), "context-too-long"),
        ("--context-length 4k", models(max_position_embeddings=4000), ""),
        ("--context-length 4Ki", models(max_position_embeddings=4095), "context-too-long"),
        ("--context-length 9999", HostFacts(target=ModelFiles(path="m")), ""),
        *(("--context-length 9999", HostFacts(target=ModelFiles(path="m", config={key: 9998})), "context-too-long") for key in ("max_sequence_length", "seq_length", "max_seq_len", "model_max_length", "max_position_embeddings")),
        ("--context-length 9999", HostFacts(target=ModelFiles(path="m", config={"max_position_embeddings": 5000, "rope_scaling": {"factor": 2.0}})), ""),
        ("--context-length 9999", HostFacts(target=ModelFiles(path="m", config={"max_position_embeddings": 5000, "rope_scaling": {"factor": 2.0, "original_max_position_embeddings": 5000}})), "context-too-long"),
        ("--context-length 9999", HostFacts(target=ModelFiles(path="m", config={"max_position_embeddings": 9998, "rope_scaling": {"factor": "much"}})), ""),
        ("--context-length 9999", HostFacts(target=ModelFiles(path="m", config={"max_position_embeddings": 9998, "rope_scaling": {}})), "context-too-long"),
        ("--context-length 9999", HostFacts(target=ModelFiles(path="m", config={"max_position_embeddings": 9998, "rope_scaling": "none"})), "context-too-long"),
        ("--context-length 9999", HostFacts(target=ModelFiles(path="m", config={"text_config": {"max_position_embeddings": 9998}})), "context-too-long"),
        *((swapped(NO_DRAFT, "EAGLE"), models(architectures=[name]), "") for name in OWN_DRAFT),
        (swapped(NO_DRAFT, "EAGLE"), models(architectures=["Qwen3ForCausalLM"]), "mtp-without-draft"),
        (swapped(NO_DRAFT, "EAGLE"), models(architectures="DeepseekV3ForCausalLM"), "mtp-without-draft"),
        (swapped(NO_DRAFT, "EAGLE"), models(architectures=[]), "mtp-without-draft"),
    ],
)  # fmt: skip
def test_what_a_host_says_just_inside_and_just_outside(
    flags: str, facts: HostFacts, expected: str
) -> None:
    assert codes(flags, facts=facts) == expected.split()


@pytest.mark.parametrize(
    ("release", "architecture", "three"),
    [
        ("0.5.23", "Grok1ForCausalLM", "5/4/8"),
        ("0.5.23", "Grok1VForCausalLM", "5/4/8"),
        ("0.5.7", "GptOssForCausalLM", "3/1/4"),
        ("0.4.6", "GptOssForCausalLM", "3/1/4"),
        ("0.4.6", "DeepseekV2ForCausalLM", "5/4/8"),
        ("0.4.6", "Glm4MoeForCausalLM", "3/1/4"),
    ],
)
def test_what_the_server_chooses_for_a_model(release: str, architecture: str, three: str) -> None:
    told = {
        f.code: f.message for f in found(SPEC, release, facts=models(architectures=[architecture]))
    }
    assert f"takes {three} (steps" in told["speculative-defaults"]


def test_a_standalone_draft_is_a_chain_from_0_5_6_on() -> None:
    def chosen(release: str) -> bool:
        told = {f.code: f.message for f in found(swapped(SPEC, "STANDALONE"), release)}
        return "takes 3/1/4 (steps" in told["speculative-defaults"]

    assert [r for r in RELEASES if chosen(r)] == [r for r in RELEASES if r in Range("0.5.6")]


def test_what_is_said_of_a_missing_draft() -> None:
    def said(algorithm: str, **more: object) -> str:
        (finding,) = found(swapped(NO_DRAFT, algorithm), **more)  # type: ignore[arg-type]
        return finding.message

    assert "refuses to start" in said("DFLASH")
    assert "a second time" in said("EAGLE3")
    assert said("EAGLE").startswith("EAGLE without draft-model-path works only with models")
    qwen = models(architectures=["Qwen3ForCausalLM"])
    assert said("EAGLE", facts=qwen).startswith("Qwen3ForCausalLM brings no draft")


def test_where_a_finding_stands() -> None:
    assert place("--model-path") == "server.model"
    assert place("--port") == "server.port"
    assert place("--speculative-num-steps") == "speculative.num-steps"
    assert place("--tp-size") == "server.flags.tp-size"
    unreadable = HostFacts(readable={"/graph": False, "/key": False, "/other": False})
    told = check(
        StartPlan(
            argv=("python3", "-m", "sglang.launch_server", "--ssl-keyfile", "/key"),
            environment={"NCCL_GRAPH_FILE": "/graph"},
        ),
        release=Version("0.5.23"),
        facts=unreadable,
    )
    paths = [finding.path for finding in told if finding.code == "file-unreadable"]
    assert paths == ["environment.NCCL_GRAPH_FILE", "server.flags.ssl-keyfile", "server"]


@pytest.mark.parametrize(
    ("holder", "name"),
    [
        (GpuHolder(pid=7, gpu=0, memory_used=2048, name="python", server=":30000"), ":30000"),
        (GpuHolder(pid=7, gpu=0, memory_used=2048, name="python"), "python"),
        (GpuHolder(pid=7, gpu=0, memory_used=2048), "a process"),
    ],
)
def test_who_holds_memory_is_called_by_the_best_name(holder: GpuHolder, name: str) -> None:
    (finding,) = found("", facts=HostFacts(holders=(holder,)))
    assert f"GPU 0: {name} (pid 7, 2.0 GiB)." in finding.message


def test_sizes_are_read_as_sglang_reads_them() -> None:
    sizes = {"2k": 2000, "2Ki": 2048, "2M": 2_000_000, "2Mi": 2 << 20, "2G": 2 * 10**9}
    sizes |= {"2Gi": 2 << 30, "2T": 2 * 10**12, "2Ti": 2 << 40, "1.5k": 1500, "7": 7}
    assert {text: number(text) for text in sizes} == sizes
    assert [number(text) for text in ("", "k", "infk", "x")] == [None] * 4


def test_what_counts_as_switched_on() -> None:
    assert all(on(word) for word in ("1", "true", "YES", "y", "On", "t", " 1 "))
    assert not any(on(word) for word in (None, "", "0", "false", "no", "off", "2"))


@pytest.mark.parametrize(
    ("flags", "gpus", "attention"),
    [
        ("", 1, 1),
        ("--tp 4", 4, 1),
        ("--tp 4 --pp-size 2", 8, 1),
        ("--tp 4 --dp-size 2", 8, 1),
        ("--tp 4 --dp-size 2 --enable-dp-attention", 4, 2),
        ("--tp 4 --enable-dp-attention", 4, 1),
        ("--tp 4 --attn-dp-size 2", 4, 2),
        ("--tp 4 --attn-dp-size 2 --enable-dp-attention", 4, 2),
    ],
)
def test_how_many_gpus_a_start_wants(flags: str, gpus: int, attention: int) -> None:
    argv = ("python3", "-m", "sglang.launch_server", *flags.split())
    situation = Situation(StartPlan(argv=argv), Version("0.5.23"), HostFacts())
    assert (situation.gpus, situation.attention_dp) == (gpus, attention)


def test_an_old_name_stands_for_the_new_one_where_both_take_the_same() -> None:
    argv = [
        "python3",
        "-m",
        "sglang.launch_server",
        "--cuda-graph-max-bs",
        "4",
        "--enable-dp-attention",
    ]
    situation = Situation(StartPlan(argv=tuple(argv)), Version("0.5.19"), HostFacts())
    assert situation.number("--cuda-graph-max-bs-decode") == 4
    assert situation.given("--enable-dp-attention")
    assert not situation.given("--attn-dp-size")


def test_graphs_are_told_by_the_name_the_release_has() -> None:
    def name(release: str) -> str:
        flag = (
            "--cuda-graph-max-bs"
            if Version(release) < Version("0.5.14")
            else "--cuda-graph-max-bs-decode"
        )
        told = found(f"{flag} 4", release)
        return next(f.path for f in told if f.code == "graphs-below-requests")

    assert name("0.5.13") == "server.flags.cuda-graph-max-bs"
    assert name("0.5.14") == "server.flags.cuda-graph-max-bs-decode"


def test_speculation_without_a_bound_is_held_against_48_graphs() -> None:
    def told(largest: int) -> list[str]:
        argv = f"python3 -m sglang.launch_server --model m {CHAIN} --cuda-graph-max-bs-decode {largest}"
        findings = check(StartPlan(argv=tuple(argv.split())), release=Version("0.5.23"))
        return [f.message for f in findings if f.code == "graphs-below-requests"]

    assert told(48) == []
    assert "but 48 requests may run" in told(47)[0]


def test_errors_come_before_warnings_and_those_before_the_rest() -> None:
    flags = "--port 80 --port 81 --api-key k --decode-log-interval 99 --no-such"
    severities = [finding.severity for finding in found(flags)]
    order = ["error", "warning", "info"]
    assert severities == sorted(severities, key=order.index)
    assert {*severities} == {*order}


def test_what_ran_before_us_is_not_told_of_variables_nobody_names() -> None:
    start = StartPlan(
        argv=("python3", "-m", "sglang.launch_server", "--model", "m"),
        environment={"SGLANG_FROBNICATE": "1"},
        whole_environment=True,
    )
    assert "unknown-variable" not in [f.code for f in check(start, release=Version("0.5.23"))]
