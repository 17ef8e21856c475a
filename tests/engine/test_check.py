# ruff: noqa: E501
"""The rules of `check`: a table of starts with the codes they must give, and no other."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eagletui.engine.check.run import check
from eagletui.engine.check.table import RULES
from eagletui.engine.releases import Range, Version
from eagletui.model.finding import Finding, GpuHolder, HostFacts, ModelFiles, Option
from eagletui.model.profile import StartPlan

# Nothing to say about this one: metrics, a quick log and a bound on requests are set.
QUIET = "--model-path m --enable-metrics --decode-log-interval 5 --max-running-requests 8"
TIMER = {"SGLANG_ENABLE_METRICS_DEVICE_TIMER": "1"}
SPEC = "--speculative-algorithm EAGLE3 --speculative-draft-model-path d"
CHAIN = (
    f"{SPEC} --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
)
TREE = (
    f"{SPEC} --speculative-num-steps 3 --speculative-eagle-topk 2 --speculative-num-draft-tokens 8"
)


def plan(flags: str, environment: dict[str, str] | None = None, **more: object) -> StartPlan:
    argv = ("python3", "-m", "sglang.launch_server", *QUIET.split(), *flags.split())
    return StartPlan(argv=argv, environment=environment or {}, **more)  # type: ignore[arg-type]


def found(
    flags: str,
    release: str = "0.5.23",
    environment: dict[str, str] | None = None,
    facts: HostFacts | None = None,
) -> tuple[Finding, ...]:
    environment = (
        TIMER if environment is None and Version(release) >= Version("0.5.7") else environment
    )
    return check(plan(flags, environment), release=Version(release), facts=facts)


def codes(*arguments: object, **more: object) -> list[str]:
    return [finding.code for finding in found(*arguments, **more)]  # type: ignore[arg-type]


class Case(NamedTuple):
    flags: str
    codes: str = ""
    release: str = "0.5.23"
    environment: dict[str, str] = {}


def spec(steps: int | None = None, topk: int | None = None, tokens: int | None = None) -> str:
    words = [SPEC]
    for name, value in (("num-steps", steps), ("eagle-topk", topk), ("num-draft-tokens", tokens)):
        if value is not None:
            words.append(f"--speculative-{name} {value}")
    return " ".join(words)


def swapped(flags: str, algorithm: str) -> str:
    return flags.replace("EAGLE3", algorithm)


NO_DRAFT = " ".join(
    word for word in CHAIN.split() if word not in ("--speculative-draft-model-path", "d")
)
CASES = [
    # --- flags: renames and removals per release
    Case(""),
    Case("", release="0.4.6"),
    Case("--cuda-graph-max-bs 64", "flag-renamed"),
    Case("--cuda-graph-max-bs 64", "flag-renamed", "0.5.20"),
    Case("--cuda-graph-max-bs 64", "flag-deprecated", "0.5.19"),
    Case("--cuda-graph-max-bs 64", "flag-deprecated", "0.5.14"),
    Case("--cuda-graph-max-bs 64", "", "0.5.13"),
    Case("--cuda-graph-bs 1 2 4", "flag-renamed", "0.5.20"),
    Case("--cuda-graph-max-bs-decode 64", "", "0.5.14"),
    Case("--cuda-graph-max-bs-decode 64", "flag-too-new", "0.5.13"),
    Case("--pp 1", "", "0.5.3"),
    Case("--pp 1", "flag-renamed", "0.5.5"),
    Case("--pp 1", "flag-renamed"),
    Case("--attn-dp-size 2 --tp 2", "", "0.5.22"),
    Case("--attn-dp-size 2 --tp 2", "flag-too-new", "0.5.21"),
    Case("--enable-dp-attention --dp 2 --tp 2", "", "0.5.21"),
    Case("--enable-dp-attention --dp 2 --tp 2", "flag-deprecated", "0.5.22"),
    Case(f"{CHAIN} --speculative-skip-dp-mlp-sync", "", "0.5.22"),
    Case(f"{CHAIN} --speculative-skip-dp-mlp-sync", "flag-renamed", "0.5.23"),
    Case(f"{CHAIN} --speculative-skip-dp-mlp-sync", "flag-too-new spec-v1", "0.5.10"),
    Case("--speculative-algorithm NGRAM --speculative-ngram-branch-length 3", "", "0.5.9"),
    Case("--speculative-algorithm NGRAM --speculative-ngram-branch-length 3", "flag-renamed", "0.5.10"),
    Case(f"{CHAIN} --speculative-dflash-draft-window-size 9", "flag-deprecated", "0.5.18"),
    Case(f"{CHAIN} --speculative-dflash-draft-window-size 9", "flag-renamed", "0.5.20"),
    Case("--admin-api-key k", "flag-too-new secret-visible", "0.5.7"),
    Case("--enable-metrcs", "unknown-flag"),
    Case("--enable-metrcs", "flag-not-known", "0.5.22"),
    Case("--decode-log-int 5", "flag-twice"),
    Case("--tensor-par 1"),
    Case("--mode x", "ambiguous-flag"),
    Case("--tp-size", "flag-without-value"),
    Case("--enable-metrics=1", "value-for-switch"),
    Case("--tp 1 2", "stray-word"),
    Case("--no-such 1", "unknown-flag"),
    Case("--tp two", "bad-number"),
    Case("--dtype float8", "bad-choice"),
    Case("--speculative-algorithm eagle", "bad-choice mtp-without-draft speculative-defaults spec-v1", "0.5.10"),
    Case("--port 30001 --port 30002", "flag-twice"),
    Case("--port 30001 --port 30001"),
    Case("--tp 1 --tensor-parallel-size 1", "flag-twice"),
    Case("--tp 1 --tensor-parallel-size 2", "flag-twice"),
    Case("--tp 1 --tp-size 1", "flag-twice"),
    Case("--model m", "flag-twice"),
    Case("--cuda-graph-max-bs 8 --cuda-graph-max-bs-decode 8", "flag-twice flag-deprecated", "0.5.19"),
    Case(f"{CHAIN} --speculative-draft-model d", "flag-twice"),
    Case("--config=x.yaml", "config-joined config-file"),
    Case("--config x.yaml", "config-file"),
    # --- all or none of the three
    Case(CHAIN),
    Case(TREE),
    Case(spec(), "speculative-defaults"),
    Case(spec(topk=1), "topk-without-steps"),
    Case(spec(tokens=4), "topk-without-steps"),
    Case(spec(topk=1, tokens=4), "topk-without-steps"),
    Case(spec(3), "steps-without-topk"),
    Case(spec(3, tokens=4), "steps-without-topk"),
    Case(spec(3, 1), "draft-tokens-chosen"),
    Case(spec(3, 2), "tree-without-tokens"),
    Case(spec(3, 1, 8), "draft-tokens-adjusted"),
    Case(spec(3, 1, 4)),
    Case(spec(2, 2, 7)),
    Case(spec(2, 2, 8), "too-many-draft-tokens"),
    Case(spec(1, 4, 5)),
    Case(spec(1, 4, 6), "too-many-draft-tokens"),
    Case(spec(3, 2, 1), "too-few-draft-tokens"),
    Case(spec(3, 2, 2), "wasted-steps"),
    Case(spec(3, 2, 3), "wasted-steps"),
    Case(spec(3, 2, 4)),
    Case(spec(0, 1, 1), "nothing-drafted"),
    Case("--speculative-num-steps 3", "speculation-off"),
    # --- algorithms
    Case("--speculative-algorithm NOPE", "unknown-algorithm"),
    Case("--speculative-algorithm NOPE", "", environment={"SGLANG_PLUGINS": "mine"} | TIMER),
    Case("--speculative-algorithm NGRAM"),
    Case("--speculative-algorithm NGRAM", "bad-choice", "0.5.1"),
    Case("--speculative-algorithm DSPARK", "unknown-algorithm", "0.5.14"),
    Case("--speculative-algorithm DSPARK", "", "0.5.16"),
    Case("--speculative-algorithm DFLASH", "bad-choice no-draft", "0.5.10"),
    Case(NO_DRAFT, "no-draft"),
    Case(swapped(NO_DRAFT, "STANDALONE"), "no-draft"),
    Case(swapped(NO_DRAFT, "EAGLE"), "mtp-without-draft"),
    Case(swapped(CHAIN, "NEXTN"), "nextn-is-eagle"),
    Case(f"{CHAIN} --speculative-use-rejection-sampling"),
    Case(f"{TREE} --speculative-use-rejection-sampling", "rejection-sampling"),
    Case(f"{CHAIN} --speculative-use-rejection-sampling --speculative-accept-threshold-acc .5", "rejection-sampling"),
    Case(f"{swapped(CHAIN, 'STANDALONE')} --speculative-use-rejection-sampling", "rejection-sampling"),
    Case(f"{swapped(CHAIN, 'STANDALONE')} --speculative-use-block-verification", "block-verification"),
    Case(f"{CHAIN} --speculative-draft-sink-size 4", "draft-window"),
    Case(f"{CHAIN} --speculative-draft-sink-size 4 --speculative-draft-window-size 64"),
    Case(f"{CHAIN} --speculative-draft-window-size 0", "draft-window"),
    # --- pages and backends
    Case(f"{TREE} --page-size 16", "tree-pages-backend"),
    Case(f"{TREE} --page-size 16 --attention-backend triton"),
    Case(f"{TREE} --page-size 16 --attention-backend triton", "tree-pages spec-v1", "0.5.6"),
    Case(f"{TREE} --page-size 16 --attention-backend fa3", "spec-v1", "0.5.6"),
    Case(f"{TREE} --page-size 16 --attention-backend fa3", "tree-pages", "0.5.3"),
    Case(f"{TREE} --page-size 16 --attention-backend fa3", "", "0.5.1"),
    Case(f"{TREE} --page-size 16", "tree-made-chain", "0.4.6"),
    Case(f"{TREE} --attention-backend flashmla", "tree-pages"),
    Case(f"{CHAIN} --page-size 16 --attention-backend flashmla"),
    Case("--speculative-algorithm NGRAM --page-size 16", "ngram-pages"),
    Case("--speculative-algorithm NGRAM --page-size 16 --attention-backend flashinfer"),
    Case(f"{TREE} --attention-backend trtllm_mha", "trtllm-mha-tree", "0.5.14"),
    Case(f"{TREE} --decode-attention-backend trtllm_mha", "trtllm-mha-tree"),
    Case(f"{CHAIN} --attention-backend trtllm_mha"),
    Case(f"{CHAIN} --attention-backend trtllm_mla", "trtllm-mla-speculation", "0.4.10"),
    Case(f"{CHAIN} --attention-backend trtllm_mla", "", "0.5.1"),
    Case(f"{CHAIN} --attention-backend torch_native", "backend-without-draft"),
    Case(f"{CHAIN} --attention-backend torch_native --speculative-draft-attention-backend triton"),
    Case(f"{CHAIN} --attention-backend torch_native --decode-attention-backend triton", "backend-without-draft"),
    Case("--speculative-algorithm NGRAM --attention-backend torch_native"),
    # --- deterministic inference
    Case("--enable-deterministic-inference"),
    Case("--enable-deterministic-inference --attention-backend triton"),
    Case("--enable-deterministic-inference --attention-backend intel_amx", "deterministic-refused"),
    Case("--enable-deterministic-inference --attention-backend fa4"),
    Case("--enable-deterministic-inference --attention-backend fa4", "deterministic-refused", "0.5.9"),
    Case("--enable-deterministic-inference --attention-backend trtllm_mha", "deterministic-refused", "0.5.3"),
    Case(f"{TREE} --enable-deterministic-inference --attention-backend trtllm_mha", "trtllm-mha-tree deterministic-refused"),
    Case("--attention-backend torch_native"),
    Case("--speculative-algorithm UNO --enable-deterministic-inference", "deterministic-refused"),
    Case("--speculative-algorithm UNO"),
    Case(f"{CHAIN} --enable-deterministic-inference"),
    Case(f"{CHAIN} --enable-deterministic-inference", "deterministic-unseeded", "0.5.16"),
    Case("--enable-deterministic-inference", "", "0.5.16"),
    Case("--speculative-algorithm NGRAM --enable-deterministic-inference", "", "0.5.16"),
    Case("--tp 2 --enable-deterministic-inference", "", environment={"NCCL_PROTO": "LL"}),
    Case("--tp 2 --enable-deterministic-inference", "variable-overwritten", environment={"NCCL_MAX_NCHANNELS": "4"}),
    Case("--tp 2 --enable-deterministic-inference", "", "0.5.22", {"NCCL_MAX_NCHANNELS": "4"} | TIMER),
    Case("--tp 2 --enable-deterministic-inference", "variable-overwritten", "0.5.22", {"NCCL_ALGO": "Ring"} | TIMER),
    # --- adaptive
    Case(f"{CHAIN} --speculative-adaptive"),
    Case(f"{SPEC} --speculative-adaptive"),
    Case(f"{spec(2, 1, 3)} --speculative-adaptive", "adaptive-steps"),
    Case(f"{spec(5, 1, 6)} --speculative-adaptive"),
    Case(f"{spec(5, 1, 6)} --speculative-adaptive", "adaptive-steps", "0.5.16"),
    Case(f"{spec(2, 1, 3)} --speculative-adaptive --speculative-adaptive-config c.json"),
    Case(f"{TREE} --speculative-adaptive", "adaptive-off"),
    Case(f"{swapped(CHAIN, 'STANDALONE')} --speculative-adaptive", "adaptive-off"),
    Case(f"{CHAIN} --speculative-adaptive --attn-dp-size 2 --tp 2", "adaptive-off"),
    Case(f"{CHAIN} --speculative-adaptive --enable-two-batch-overlap", "adaptive-off"),
    Case(f"{CHAIN} --speculative-adaptive", "adaptive-off", "0.5.11"),
    Case(f"{CHAIN} --speculative-adaptive --disable-overlap-schedule", "spec-v1", "0.5.11"),
    Case(f"{CHAIN} --speculative-adaptive", "flag-too-new spec-v1", "0.5.10"),
    # --- parallelism
    Case(f"{CHAIN} --pp-size 2", "pipeline-speculation", "0.5.21"),
    Case(f"{CHAIN} --pp-size 2", "pipeline-speculation"),
    Case(f"{swapped(CHAIN, 'EAGLE')} --pp-size 2", "pipeline-speculation"),
    Case(f"{swapped(CHAIN, 'EAGLE')} --pp-size 2 --disaggregation-mode prefill"),
    Case(f"{CHAIN} --pp-size 2 --disaggregation-mode prefill", "pipeline-speculation"),
    Case(f"{swapped(CHAIN, 'EAGLE')} --pp-size 2", "", environment={"SGLANG_ENABLE_PP_SPEC": "1"} | TIMER),
    Case(f"{swapped(CHAIN, 'EAGLE')} --pp-size 2 --speculative-adaptive", "pipeline-speculation", environment={"SGLANG_ENABLE_PP_SPEC": "1"} | TIMER),
    Case("--speculative-algorithm NGRAM --attn-dp-size 2 --tp 2", "attention-dp-speculation"),
    Case(f"{CHAIN} --enable-mixed-chunk", "mixed-chunk-off", "0.5.22"),
    Case(f"{CHAIN} --enable-mixed-chunk"),
    Case("--speculative-algorithm NGRAM --enable-mixed-chunk", "mixed-chunk-off"),
    Case(f"{CHAIN} --decoupled-spec-role drafter", "decoupled-draft"),
    Case(f"{CHAIN} --cuda-graph-max-bs-decode 4", "graphs-below-requests"),
    Case(f"{CHAIN} --cuda-graph-max-bs-decode 8"),
    # --- spec v2
    Case(CHAIN, "spec-v1", "0.5.10"),
    Case(CHAIN, "", "0.5.3"),
    Case(CHAIN, "", "0.5.11"),
    Case(TREE, "spec-v1", "0.5.12"),
    Case(TREE, "", "0.5.13"),
    Case(CHAIN, "spec-v2-variable", "0.5.3", {"SGLANG_ENABLE_SPEC_V2": "1"}),
    Case(CHAIN, "", "0.5.10", {"SGLANG_ENABLE_SPEC_V2": "1"} | TIMER),
    Case(TREE, "spec-v2-tree", "0.5.10", {"SGLANG_ENABLE_SPEC_V2": "True"} | TIMER),
    Case(TREE, "", "0.5.6", {"SGLANG_ENABLE_SPEC_V2": "True"}),
    Case(CHAIN, "spec-v1", "0.5.12", {"SGLANG_ENABLE_SPEC_V2": "0"} | TIMER),
    Case(CHAIN, "spec-v2-variable", "0.5.14", {"SGLANG_ENABLE_SPEC_V2": "1"} | TIMER),
    # --- environment
    Case("", "misspelt-variable", environment={"NCCL_PROTOO": "LL"}),
    Case("", "misspelt-variable", environment={"NCLL_PROTO": "LL"}),
    Case("", "misspelt-variable", environment={"SGLANG_ENABLE_METRICS_DEVICE_TIMR": "1"}),
    Case("", "unknown-variable", environment={"SGLANG_FROBNICATE": "1"}),
    Case("", "", "0.5.22", {"SGLANG_FROBNICATE": "1"}),
    Case("", "variable-of-another-release", "0.5.6", TIMER),
    Case("--tp 4", "nccl-value", environment={"NCCL_PROTO": "LL64"}),
    Case("--tp 4", "nccl-value", environment={"NCCL_P2P_LEVEL": "9"}),
    Case("--tp 4", "", environment={"NCCL_PROTO": "^LL128", "NCCL_ALGO": "ring,tree", "NCCL_P2P_LEVEL": "SYS"}),
    Case("--tp 4", "nccl-contradiction", environment={"NCCL_P2P_DISABLE": "1", "NCCL_P2P_LEVEL": "SYS"}),
    Case("--tp 4", "nccl-contradiction", environment={"NCCL_MIN_NCHANNELS": "8", "NCCL_MAX_NCHANNELS": "4"}),
    Case("--tp 2", "nccl-unused", environment={"NCCL_PROTO": "LL"}),
    Case("", "nccl-unused", environment={"NCCL_PROTO": "LL"}),
    Case("--tp 2", "", environment={"NCCL_DEBUG": "INFO"}),
    Case("--tp 2 --disable-custom-all-reduce", "", environment={"NCCL_PROTO": "LL"}),
    Case("--tp 2 --nnodes 2", "", environment={"NCCL_PROTO": "LL"}),
    Case("--tp 4", "variable-overwritten", "0.4.6", {"NCCL_CUMEM_ENABLE": "1"}),
    Case("--tp 4", "", "0.5.23", {"NCCL_CUMEM_ENABLE": "1"}),
    Case("", "variable-overwritten", "0.5.23", {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}),
    Case("", "", "0.5.23", {"CUDA_DEVICE_MAX_CONNECTIONS": "8"}),
    Case("", "metrics-folder", environment={"PROMETHEUS_MULTIPROC_DIR": "/x"}),
    Case("", "simulated-acceptance", environment={"SGLANG_SIMULATE_ACC_LEN": "2.5"}),
    Case("--tp 4", "too-few-devices", environment={"CUDA_VISIBLE_DEVICES": "0,1"}),
    Case("--tp 4 --nnodes 2", "", environment={"CUDA_VISIBLE_DEVICES": "0,1"}),
    Case("--tp 4", "", environment={"NCCL_ALGO": "Ring"}),
    Case("--tp 4 --enable-deterministic-inference", "variable-overwritten", environment={"NCCL_ALGO": "Ring"}),
    # --- serving
    Case("--decode-log-interval 10", "flag-twice"),
    Case("--decode-log-interval 11", "flag-twice log-interval"),
    Case("--port 70000", "bad-port"),
    Case("--port 80", "bad-port"),
    Case("--api-key k", "secret-visible"),
    Case(CHAIN, "device-timer-off", environment={"CUDA_X": ""}),
    Case(CHAIN, "", "0.5.3", {"CUDA_X": ""}),
    Case(f"{CHAIN} --quantization awq", "plain-draft"),
    Case(f"{CHAIN} --quantization awq --speculative-draft-model-quantization unquant"),
]  # fmt: skip


@pytest.mark.parametrize(
    "case", CASES, ids=lambda c: f"{c.release} {c.flags[-50:]} {[*c.environment]}"
)
def test_a_start_gives_exactly_these_codes(case: Case) -> None:
    assert codes(case.flags, case.release, case.environment or None) == case.codes.split()


BARE = ("python3", "-m", "sglang.launch_server")


def bare(*argv: str, release: str = "0.5.23") -> list[str]:
    return [f.code for f in check(StartPlan(argv=(*BARE, *argv)), release=Version(release))]


def test_what_a_bare_start_is_told() -> None:
    assert bare() == ["no-model", "metrics-off", "log-interval"]
    assert bare("--model", "m", *NO_DRAFT.split(), "--enable-metrics") == [
        *("no-draft", "running-requests-48", "device-timer-off", "log-interval")
    ]


def test_a_script_of_ones_own_is_only_half_known() -> None:
    start = StartPlan(argv=("./run.sh", "--pp", "2"))
    assert [f.code for f in check(start, release=Version("0.5.23"))] == [
        "flag-renamed",
        "own-command",
    ]


# --- what is said ------------------------------------------------------------------------------


def only(*arguments: object, **more: object) -> Finding:
    (finding,) = found(*arguments, **more)  # type: ignore[arg-type]
    return finding


def test_a_renamed_flag_says_its_new_name() -> None:
    assert only("--cuda-graph-max-bs 64") == Finding(
        code="flag-renamed",
        severity="error",
        path="server.flags.cuda-graph-max-bs",
        message="--cuda-graph-max-bs is gone since 0.5.20: the server ends at once with a usage "
        "text.",
        advice="Use --cuda-graph-max-bs-decode.",
    )


def test_a_misspelt_flag_says_the_nearest() -> None:
    assert only("--enable-metrcs").advice == "Did you mean --enable-metrics?"
    assert (
        only(f"{CHAIN} --speculative-num-stesp 3").advice == "Did you mean --speculative-num-steps?"
    )


def test_two_spellings_of_one_flag_are_told_with_the_value_that_counts() -> None:
    finding = only("--tp 4 --tensor-parallel-size 8")
    assert finding.severity == "warning"
    assert finding.path == "server.flags.tensor-parallel-size"
    assert finding.message == (
        "--tp and --tensor-parallel-size are one flag: the last value counts, 8."
    )
    assert finding.advice == "Keep one of them, best as --tp-size."
    switches = only("--enable-tf32-matmul --no-enable-tf32-matmul")
    assert switches.message.endswith("the last value counts, --no-enable-tf32-matmul.")


def test_a_flag_given_twice_is_told_without_its_secret() -> None:
    told = [f.message for f in found("--api-key first --api-key second") if f.code == "flag-twice"]
    assert told == ["--api-key is given twice: the last value counts, •••."]


def test_misspelt_variables_say_the_nearest() -> None:
    finding = only("", environment={"NCCL_PROTOO": "LL"})
    assert (finding.path, finding.advice) == ("environment.NCCL_PROTOO", "Did you mean NCCL_PROTO?")


@pytest.mark.parametrize(
    ("release", "architecture", "says"),
    [
        ("0.5.23", "LlamaForCausalLM", "takes 5/4/8"),
        ("0.5.23", "KimiK25ForConditionalGeneration", "takes 3/1/4"),
        ("0.5.8", "Qwen3ForCausalLM", "takes 3/1/4"),
        ("0.5.7", "Qwen3ForCausalLM", "takes 5/4/8"),
        ("0.4.6", "DeepseekV3ForCausalLM", "takes 5/4/8"),
        ("0.4.10", "DeepseekV3ForCausalLM", "takes 3/1/4"),
        ("0.5.23", "", "takes 5/4/8 for Llama and Grok, 3/1/4 for every other model"),
        ("0.4.6", "", "takes 3/1/4 for GptOss, GLM 4 MoE"),
        ("0.5.7", "", "takes 3/1/4 for DeepSeek, GptOss"),
    ],
)  # fmt: skip
def test_the_servers_own_choice_is_told(release: str, architecture: str, says: str) -> None:
    config: dict[str, object] = {"architectures": [architecture]} if architecture else {}
    facts = HostFacts(target=ModelFiles(path="m", config=config))
    told = {f.code: f.message for f in found(spec(), release, facts=facts)}
    assert says in told["speculative-defaults"]


# --- ranges ------------------------------------------------------------------------------------


def test_over_several_releases_what_holds_for_some_is_a_warning_that_says_so() -> None:
    (finding,) = check(plan("--pp 1"), release=Range("0.5.3", "0.5.9"))[:1]
    assert (finding.code, finding.severity) == ("flag-renamed", "warning")
    assert finding.message.startswith("In 0.5.5 and later: --pp is gone")
    (finding,) = check(plan("--cuda-graph-max-bs-decode 8", TIMER), release=Range("", "0.5.14"))[:1]
    assert finding.message.startswith("In releases up to 0.5.13: ")


def test_what_holds_for_all_releases_stays_an_error() -> None:
    (finding,) = check(plan(spec(2, 2, 8), TIMER), release=None)[:1]
    assert (finding.code, finding.severity) == ("too-many-draft-tokens", "error")


def test_a_range_between_the_releases_that_were_read() -> None:
    assert check(plan("--pp 1", TIMER), release=Range("0.5.17", "0.5.17"))[0].severity == "error"


# --- with a host -------------------------------------------------------------------------------

LLAMA: dict[str, object] = {
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 128256,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "max_position_embeddings": 8192,
    "bos_token_id": 128000,
    "eos_token_id": [128001, 128009],
}


def models(draft: dict[str, object] | None = None, **target: object) -> HostFacts:
    return HostFacts(
        target=ModelFiles(path="m", config=LLAMA | target),
        draft=ModelFiles(path="d", config=LLAMA | (draft or {})),
    )


HOST_CASES: list[tuple[str, HostFacts, str]] = [
    (CHAIN, models(), ""),
    (CHAIN, models({"vocab_size": 128260}), ""),
    (CHAIN, models({"vocab_size": 32000}), "draft-vocabulary"),
    (CHAIN, models({"hidden_size": 2048}), "draft-of-another-model"),
    (CHAIN, models({"hidden_size": 2048, "target_hidden_size": 4096}), ""),
    (swapped(CHAIN, "STANDALONE"), models({"hidden_size": 2048}), ""),
    (CHAIN, models({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 16, 29]}}), ""),
    (CHAIN, models({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 30, 57]}}), "draft-layers"),
    (swapped(CHAIN, "EAGLE"), models({"eagle_config": {"eagle_aux_hidden_state_layer_ids": [2, 30, 57]}}), ""),
    ("--tp 8", models(), ""),
    ("--tp 3", models(), "heads-not-shared"),
    ("--tp 3 --device cpu", models(), ""),
    ("--tp 6 --attn-dp-size 3", models(), ""),
    ("--tp 6 --attn-dp-size 2", models(), "heads-not-shared"),
    ("--tp 6 --attn-cp-size 3", models(), ""),
    ("--enable-deterministic-inference --attention-backend flashinfer", models(), ""),
    ("--enable-deterministic-inference --attention-backend flashinfer", models(architectures=["DeepseekV3ForCausalLM"]), "deterministic-refused"),
    (CHAIN, models({"eos_token_id": 128009}), ""),
    (CHAIN, models({"eos_token_id": 2}), "draft-tokenizer"),
    (CHAIN, models({"max_position_embeddings": 2048}), "draft-context-refused"),
    (f"{CHAIN} --context-length 2048", models({"max_position_embeddings": 2048}), ""),
    ("--context-length 16k", HostFacts(target=ModelFiles(path="m", config=LLAMA)), "context-too-long"),
    ("--context-length 8192", models(), ""),
    ("--context-length 16384", models({"max_position_embeddings": 16384}, rope_scaling={"factor": 2.0}), ""),
    ("--context-length 16384", models({"max_position_embeddings": 65536}, rope_scaling={"factor": 2.0, "rope_type": "llama3"}), "context-too-long"),
    (swapped(NO_DRAFT, "EAGLE"), models(architectures=["DeepseekV3ForCausalLM"]), ""),
    (
        f"{CHAIN} --quantization awq",
        models({"quantization_config": {"quant_method": "awq"}}),
        "",
    ),
    (CHAIN, HostFacts(target=ModelFiles(path="m", problem="there is no such folder")), "model-unreadable"),
    (CHAIN, HostFacts(draft=ModelFiles(path="d", problem="there is no such folder")), "draft-unreadable"),
    ("", HostFacts(port_holder="python (pid 7)"), "port-taken"),
    ("", HostFacts(port_holder=""), ""),
    ("", HostFacts(holders=(GpuHolder(pid=7, gpu=0, memory_used=9000),)), "gpu-memory-held"),
    ("", HostFacts(holders=(GpuHolder(pid=7, gpu=0, memory_used=3),)), ""),
    ("", HostFacts(loading=(":30001",)), "other-server-loading"),
    ("", HostFacts(log_free=1 << 20), "log-disk-full"),
    ("", HostFacts(log_free=1 << 30), "log-disk"),
    ("", HostFacts(options_problem="Its --help fails."), "help-unread"),
    ("", HostFacts(log_free=1 << 40), ""),
    ("", HostFacts(readable={"/x": False, "/y": True}), "file-unreadable"),
    ("", HostFacts(problem="There is no python3."), "sglang-missing"),
    ("--tp 8", HostFacts(gpu_count=4), "too-few-gpus"),
    ("--tp 8 --nnodes 2", HostFacts(gpu_count=4), ""),
    ("--tp 8 --device cpu", HostFacts(gpu_count=0), ""),
    ("--tp 8 --disable-custom-all-reduce", HostFacts(nvlink=True), "custom-all-reduce-off"),
    ("--tp 8", HostFacts(nvlink=False), "custom-all-reduce-pcie"),
    ("--tp 2", HostFacts(nvlink=False), ""),
    ("--tp 8 --enable-deterministic-inference", HostFacts(nvlink=False), ""),
]  # fmt: skip


@pytest.mark.parametrize(("flags", "facts", "expected"), HOST_CASES)
def test_what_the_host_says_counts(flags: str, facts: HostFacts, expected: str) -> None:
    assert codes(flags, facts=facts) == expected.split()


def test_a_draft_of_little_context_is_used_where_that_is_allowed() -> None:
    facts = models({"max_position_embeddings": 2048})
    allowed = TIMER | {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}
    assert codes(CHAIN, "0.5.23", allowed, facts) == ["draft-context"]
    assert codes(CHAIN, "0.5.22", facts=facts) == ["draft-context"]
    assert codes("--context-length 16k", environment=allowed, facts=models()) == ["draft-context"]


def test_nccl_does_little_where_nvlink_links_all() -> None:
    environment = {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}
    finding = only("--tp 8", environment=environment, facts=HostFacts(nvlink=True))
    assert finding.code == "nccl-unused"
    assert finding.message.startswith(
        "NCCL_ALGO, NCCL_PROTO will hardly matter: all GPUs are linked"
    )


def test_the_installations_own_options_rule() -> None:
    options = (
        *tuple(
            Option(flags=(flag,), takes_value=flag != "--enable-metrics")
            for flag in (
                *QUIET.split()[::2][:1],
                "--enable-metrics",
                "--decode-log-interval",
                "--brand-new",
            )
        ),
        Option(flags=("--max-running-requests",)),
        Option(flags=("--mode",), choices=("a", "b")),
    )
    facts = HostFacts(options=options)
    assert codes("--brand-new 1", "0.4.6", facts=facts) == []
    assert codes("--mode c", "0.4.6", facts=facts) == ["bad-choice"]
    assert codes("--tp-size 8", "0.4.6", facts=facts) == ["unknown-flag"]


def test_the_hosts_version_rules() -> None:
    newer, older = HostFacts(version="0.5.9"), HostFacts(version="0.5.3")
    assert check(plan("--pp 1"), release=Version("0.5.3"), facts=newer)[0].code == "flag-renamed"
    assert check(plan("--pp 1"), release=Version("0.5.9"), facts=older) == ()


# --- the table ---------------------------------------------------------------------------------


def test_every_rule_is_met_by_a_case_here() -> None:
    met = {code for case in CASES for code in case.codes.split()}
    met |= {code for _, _, expected in HOST_CASES for code in expected.split()}
    met.add("draft-context")  # below its name
    met |= {*bare(), *bare("--model", "m", *NO_DRAFT.split(), "--enable-metrics"), "own-command"}
    assert {rule.code for rule in RULES} == met


def test_codes_are_unique_and_have_titles() -> None:
    assert len({rule.code for rule in RULES}) == len(RULES)
    assert all(rule.title.endswith((".", ")")) for rule in RULES)


@given(
    st.lists(st.text(max_size=30) | st.sampled_from(CHAIN.split()), max_size=12),
    st.dictionaries(
        st.text(max_size=30) | st.sampled_from(["NCCL_ALGO", "NCCL_MIN_CTAS"]), st.text()
    ),
)
@settings(max_examples=50)
def test_any_start_can_be_checked(words: list[str], environment: dict[str, str]) -> None:
    check(StartPlan(argv=(*BARE, *words), environment=environment), release=Version("0.5.23"))
    check(StartPlan(argv=tuple(words), environment=environment), release=Range("0.5.16", "0.5.20"))
