"""What can be simulated, as a table: one row a scenario."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from eagletui.model.base import Data
from eagletui.simulator.model import Machine, NcclEffect
from eagletui.simulator.releases import Release
from eagletui.simulator.traffic import LIVELY, Span, Traffic

Fate = Literal["", "stalls", "out of memory", "deadlocks"]


class GpuKind(Data, frozen=True):
    """One sort of GPU: MiB, watts."""

    name: str
    memory: int
    idle_power: float
    power_limit: float


class Loading(Data, frozen=True):
    """A start-up at speed 1. Seconds, and GB on each GPU.

    Attributes:
        imports: from the process's start to its first rank.
        batches: how many batch sizes are captured.
        verify, draft, extend: capturing the graphs of one sort.
    """

    target_type: str
    draft_type: str
    imports: float
    distributed: float
    shards: int
    weights: float
    weights_gb: float
    draft_weights: float
    draft_gb: float
    kv: float
    kv_tokens: int
    kv_gb: float
    draft_kv_gb: float
    mla: bool
    batches: int
    verify: float
    draft: float
    extend: float
    graphs_gb: float
    warm_up: float
    context: int
    draft_shards: int = 1
    cuda_gb: float = 1.0
    """What a process takes before any weight."""

    @property
    def seconds(self) -> float:
        """The whole load."""
        before = self.imports + self.distributed + self.weights + self.draft_weights + self.kv
        return before + self.verify + self.draft + self.extend + self.warm_up


class ServerPlan(Data, frozen=True):
    """One server of a scenario: how it is started and what becomes of it."""

    model: str
    machine: Machine
    loading: Loading
    port: int
    log: str
    gpus: tuple[int, ...]
    draft_model: str = ""
    algorithm: str = "EAGLE3"
    steps: int = 0
    environment: dict[str, str] = {}
    flags: tuple[str, ...] = ()
    adaptive: bool = False
    max_bs: int | None = None
    """The largest batch with a graph; None leaves it to the release."""
    foreign_draft: bool = False
    """Whether the draft was made for another model: it has another tokenizer."""
    metrics: bool = True
    traffic: Traffic = LIVELY
    fate: Fate = ""
    fate_at: float = 0.0
    """`stalls`: part of the shards; `deadlocks`: seconds after ready."""
    seed: int = 7

    def arguments(self, release: Release) -> list[str]:
        """The flags of `sglang.launch_server`, as this release calls them."""
        flags = ["--model-path", self.model, "--host", "127.0.0.1", "--port", str(self.port)]
        if len(self.gpus) > 1:
            flags += ["--tp-size", str(len(self.gpus))]
        if self.steps:
            flags += ["--speculative-algorithm", self.algorithm]
            flags += ["--speculative-draft-model-path", self.draft_model]
            flags += ["--speculative-num-steps", str(self.steps), "--speculative-eagle-topk", "1"]
            flags += ["--speculative-num-draft-tokens", str(self.steps + 1)]
            if self.adaptive and release.since(0, 5, 11):
                flags.append("--speculative-adaptive")
        if self.max_bs is not None:
            flag = "--cuda-graph-max-bs" + ("-decode" if release.since(0, 5, 14) else "")
            flags += [flag, str(self.max_bs)]
        if self.metrics:
            flags.append("--enable-metrics")
        return [*flags, *self.flags]

    def configs(self) -> dict[str, dict[str, object]]:
        """The `config.json` of each model it names, by the path that the command line gives."""
        sizes = {"hidden_size": 4096, "vocab_size": 128_256, "torch_dtype": "bfloat16"}
        of_target = {"bos_token_id": 128_000, "eos_token_id": 128_009}
        of_draft = {"bos_token_id": 1, "eos_token_id": 2} if self.foreign_draft else of_target
        context = {"max_position_embeddings": self.loading.context}
        found: dict[str, dict[str, object]] = {
            self.model: {
                "architectures": [self.loading.target_type],
                "num_hidden_layers": 32,
                **sizes,
                **of_target,
                **context,
            }
        }
        if self.draft_model:
            found[self.draft_model] = {
                "architectures": [self.loading.draft_type],
                "num_hidden_layers": 1,
                **sizes,
                **of_draft,
                **context,
            }
        return found


class Scenario(Data, frozen=True):
    """A host with its GPUs and servers."""

    name: str
    summary: str
    host: str
    gpu: GpuKind | None
    gpus: int
    servers: tuple[ServerPlan, ...]
    release: str = "0.5.16"


RTX_PRO = GpuKind(
    name="NVIDIA RTX PRO 6000 Blackwell Server Edition",
    memory=97887,
    idle_power=34.0,
    power_limit=600.0,
)
H200 = GpuKind(name="NVIDIA H200", memory=143771, idle_power=77.0, power_limit=700.0)

# Kimi-K2.5 on eight GPUs over PCIe, so that the story's figures come out: 90 tok/s without
# speculation; 71.3 with k=5, verify (21–28 ms with width and batch) 95 % of the GPU's cycle, accept
# length 2.1; NCCL LL/Ring/SYS −27 % of verify; then k=2 94.
KIMI = Machine(
    accepted=(0.63, 0.30, 0.11, 0.04, 0.02),
    decode=10.2,
    decode_per_request=1.1,
    verify=20.24,
    verify_per_token=0.71,
    batch_exponent=0.6,
    draft=0.25,
    extend=0.29,
    host=3.66,
    host_plain=0.91,
    prefill=60.0,
    prefill_per_token=0.12,
    nccl=(
        NcclEffect(name="NCCL_PROTO", value="LL", verify=0.82, decode=0.98),
        NcclEffect(name="NCCL_ALGO", value="RING", verify=0.94, decode=0.995),
        NcclEffect(name="NCCL_P2P_LEVEL", value="SYS", verify=0.947, decode=0.995),
    ),
)
# The recorded 8B-shaped Llama with EAGLE-3 on one H200.
DENSE = Machine(
    accepted=(0.587, 0.347, 0.206, 0.127, 0.071, 0.041, 0.01),
    decode=4.51,
    decode_per_request=0.05,
    verify=5.31,
    verify_per_token=0.01,
    batch_exponent=0.9,
    draft=0.185,
    extend=0.24,
    host=0.42,
    host_plain=0.14,
    prefill=12.0,
    prefill_per_token=0.02,
)

_KIMI_LOADING = Loading(
    target_type="KimiK25ForConditionalGeneration",
    draft_type="LlamaForCausalLMEagle3",
    imports=24.0,
    distributed=14.0,
    shards=64,
    weights=486.0,
    weights_gb=71.4,
    draft_weights=7.0,
    draft_gb=0.6,
    kv=5.0,
    kv_tokens=196_608,
    kv_gb=12.8,
    draft_kv_gb=0.75,
    mla=True,
    batches=36,
    verify=186.0,
    draft=96.0,
    extend=58.0,
    graphs_gb=1.9,
    warm_up=24.0,
    context=262_144,
)
_DENSE_LOADING = Loading(
    target_type="LlamaForCausalLM",
    draft_type="LlamaForCausalLMEagle3",
    imports=28.0,
    distributed=1.0,
    shards=59,
    weights=9.0,
    weights_gb=13.08,
    draft_weights=0.4,
    draft_gb=0.86,
    kv=2.0,
    kv_tokens=551_894,
    kv_gb=67.36,
    draft_kv_gb=8.42,
    mla=False,
    batches=8,
    verify=67.0,
    draft=14.4,
    extend=2.8,
    graphs_gb=0.13,
    warm_up=5.0,
    context=32_768,
)

_KIMI = ServerPlan(
    model="/models/Kimi-K2.5",
    draft_model="/models/Kimi-K2.5-eagle3",
    machine=KIMI,
    loading=_KIMI_LOADING,
    port=30000,
    log="logs/kimi-k2.5.log",
    gpus=tuple(range(8)),
    steps=5,
    environment={
        "SGLANG_ENABLE_METRICS_DEVICE_TIMER": "1",
        "NCCL_DEBUG": "WARN",
        "CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7",
    },
    flags=(
        *("--trust-remote-code", "--mem-fraction-static", "0.88"),
        *("--attention-backend", "triton", "--decode-log-interval", "20"),
    ),
)
_DENSE = ServerPlan(
    model="/models/dense",
    draft_model="/models/draft",
    machine=DENSE,
    loading=_DENSE_LOADING,
    port=30000,
    log="logs/dense.log",
    gpus=(0,),
    steps=3,
    environment={"SGLANG_ENABLE_METRICS_DEVICE_TIMER": "1", "CUDA_VISIBLE_DEVICES": "0"},
    max_bs=8,
    flags=("--attention-backend", "triton", "--mem-fraction-static", "0.6"),
)
_QUICK = replace(_DENSE_LOADING, weights=40.0, verify=40.0, draft=20.0, extend=10.0)


def _kimi(name: str, summary: str, **changes: object) -> Scenario:
    return Scenario(
        name=name,
        summary=summary,
        host="kimi-node",
        gpu=RTX_PRO,
        gpus=8,
        servers=(replace(_KIMI, **changes),),
    )


def _h200(name: str, summary: str, **changes: object) -> Scenario:
    return Scenario(
        name=name,
        summary=summary,
        host="h200-node",
        gpu=H200,
        gpus=1,
        servers=(replace(_DENSE, **changes),),
    )


_NOISE = replace(DENSE, accepted=(0.02, 0.001))
_CPU = Machine(
    accepted=(0.55, 0.31, 0.17),
    decode=42.0,
    decode_per_request=6.0,
    verify=44.0,
    verify_per_token=3.0,
    batch_exponent=0.9,
    draft=6.0,
    extend=8.0,
    host=4.0,
    host_plain=2.0,
    prefill=120.0,
    prefill_per_token=1.2,
    eager=1.0,
)

SCENARIOS: dict[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        _kimi("kimi-k2.5", "Kimi-K2.5, 8 GPUs over PCIe, EAGLE3 k=5: slower than no speculation"),
        _h200("h200-dense", "an 8B Llama with EAGLE3 k=3 on one H200, as it was recorded"),
        Scenario(
            name="two-servers",
            summary="two servers on one host, one of them without speculation",
            host="h200-pair",
            gpu=H200,
            gpus=2,
            servers=(
                replace(_DENSE, loading=_QUICK),
                replace(
                    _DENSE,
                    model="/models/dense-chat",
                    loading=_QUICK,
                    port=30001,
                    log="logs/chat.log",
                    gpus=(1,),
                    steps=0,
                    environment={"CUDA_VISIBLE_DEVICES": "1"},
                    seed=11,
                ),
            ),
        ),
        _kimi("stalled", "the load stops at 62 % of the shards", fate="stalls", fate_at=0.62),
        _kimi("crash-oom", "CUDA out of memory while graphs are captured", fate="out of memory"),
        _kimi(
            "deadlock",
            "100 % utilisation at idle power, no token moves while requests run",
            fate="deadlocks",
            fate_at=20.0,
        ),
        _h200(
            "useless-draft",
            "the draft emits noise: accept length about 1",
            machine=_NOISE,
            loading=_QUICK,
            draft_model="/models/draft-of-another-model",
            foreign_draft=True,
        ),
        _h200(
            "metrics-off",
            "started without --enable-metrics: the log is all there is",
            metrics=False,
            loading=_QUICK,
        ),
        _h200(
            "adaptive",
            "--speculative-adaptive changes k with the load",
            steps=5,
            loading=_QUICK,
            adaptive=True,
        ),
        Scenario(
            name="none",
            summary="a host without any server",
            host="idle-node",
            gpu=H200,
            gpus=8,
            servers=(),
        ),
        Scenario(
            name="cpu",
            summary="SGLang 0.5.23 on a CPU: no GPU, no graphs, no device timer",
            host="cpu-node",
            gpu=None,
            gpus=0,
            release="0.5.23",
            servers=(
                replace(
                    _DENSE,
                    model="models/tiny-llama",
                    draft_model="models/tiny-eagle3",
                    machine=_CPU,
                    loading=replace(_QUICK, weights=4.0, weights_gb=0.1, kv_gb=0.01, imports=10.0),
                    log="logs/tiny.log",
                    environment={"SGLANG_USE_CPU_ENGINE": "1"},
                    max_bs=None,
                    # A draft needs a backend that knows one; torch_native is refused.
                    flags=("--device", "cpu", "--attention-backend", "intel_amx"),
                    traffic=Traffic(
                        spans=(Span(40.0, 1), Span(15.0, 0), Span(30.0, 3)), output=(60, 200)
                    ),
                ),
            ),
        ),
    )
}
DEFAULT_SCENARIO = "kimi-k2.5"
