"""Every signature on the lines it was made for, and which verdict wins."""

from __future__ import annotations

import pytest

from eagletui.engine.silence import redirect_lost, silent_log
from eagletui.model.diagnosis import Diagnosis
from tests.engine.logs import folded, read

ARGS = (
    "[2026-01-20 02:40:00] server_args=ServerArgs(model_path='/m', speculative_algorithm='EAGLE3', "
    "speculative_draft_model_path='/d', speculative_num_steps=3, device='cuda')\n"
)
LOADING = ARGS + "[2026-01-20 02:40:01 TP0] Load weight begin. avail mem=1 GB\n"
POOLS = LOADING + (
    "[2026-01-20 02:40:02 TP0] Load weight end. elapsed=1.00 s, type=A, avail mem=1 GB\n"
    "[2026-01-20 02:40:02 TP0] Load weight begin. avail mem=1 GB\n"
    "[2026-01-20 02:40:02 TP0] Load weight end. elapsed=1.00 s, type=AEagle3, avail mem=1 GB\n"
)
CAPTURING = POOLS + "[2026-01-20 02:40:03 TP0] Capture target verify CUDA graph begin. bs=[1, 2]\n"
SERVING = CAPTURING + "[2026-01-20 02:40:09] The server is fired up and ready to roll!\n"


def raised(exception: str, *, frame: str = "x.py") -> str:
    """The log lines of a scheduler that raised this."""
    return (
        "[2026-01-20 02:41:00 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        f'  File "/a/{frame}", line 1, in run\n    call()\n{exception}\n\n'
        "[2026-01-20 02:41:00] Received sigquit from a child process. It usually means the child "
        "failed.\n"
    )


def verdicts(text: str) -> list[Diagnosis]:
    return list(folded(read(text.encode())).diagnoses)


OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
# log → the one verdict
CASES: dict[str, tuple[str, str]] = {
    "a flag that was renamed": (
        "usage: sglang serve [-h] [--cuda-graph-max-bs-decode N]\n"
        "sglang serve: error: ambiguous option: --cuda-graph-max-bs could match "
        "--cuda-graph-max-bs-decode, --cuda-graph-max-bs-prefill\n",
        "bad-flag",
    ),
    "a misspelt flag": (
        "usage: sglang serve [-h] [--speculative-num-steps N]\n                    [--port PORT]\n"
        "sglang serve: error: unrecognized arguments: --speculativ-num-steps 3\n",
        "bad-flag",
    ),
    "a missing flag": (
        "launch_server.py: error: the following arguments are required: --model-path/--model\n",
        "bad-flag",
    ),
    "a choice": (
        "launch_server.py: error: argument --speculative-algorithm: invalid choice: 'X' (choose "
        "from EAGLE, EAGLE3)\n",
        "bad-choice",
    ),
    "a tree too small": (
        CAPTURING + raised("RuntimeError: selected index k out of range"),
        "bad-choice",
    ),
    "no target": (
        LOADING + raised("OSError: /m does not appear to have a file named config.json."),
        "model-not-found",
    ),
    "no draft, by its path": (
        LOADING + raised("OSError: /d is not a local folder and is not a valid model identifier"),
        "draft-missing",
    ),
    "no draft, by the code": (
        LOADING
        + raised("OSError: x is not a local folder", frame="speculative/eagle_worker_v2.py"),
        "draft-missing",
    ),
    "target loaded as draft": (
        LOADING + raised("AttributeError: 'LlamaForCausalLM' object has no attribute 'set_embed'"),
        "draft-missing",
    ),
    "a truncated shard": (
        LOADING + raised("safetensors_rust.SafetensorError: Error while deserializing header"),
        "checkpoint-unreadable",
    ),
    "a plain draft of a quantised target": (
        LOADING + raised("ValueError: Cannot find the config file for awq"),
        "checkpoint-unreadable",
    ),
    "memory while loading": (LOADING + raised(OOM), "out-of-memory-weights"),
    "memory for the cache": (POOLS + raised(OOM), "out-of-memory-kv"),
    "memory fraction": (
        POOLS
        + raised("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."),
        "out-of-memory-kv",
    ),
    "memory while capturing": (CAPTURING + raised(OOM), "out-of-memory-graphs"),
    "memory while serving": (SERVING + raised(OOM), "out-of-memory-serving"),
    "backend": (
        CAPTURING
        + raised("ValueError: speculative_eagle_topk > 1 requires the flashinfer backend"),
        "backend-unsupported",
    ),
    "a missing package": (
        LOADING + raised("ModuleNotFoundError: No module named 'deep_gemm'"),
        "kernel-package-missing",
    ),
    "nccl": (
        LOADING
        + raised("torch.distributed.DistBackendError: NCCL error in: x.cpp:94, unhandled system"),
        "nccl-error",
    ),
    "nccl timeout": (
        SERVING
        + "[rank1]:[E120 02:40:29 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective "
        "operation timeout: WorkNCCL(SeqNum=9141, OpType=_ALLGATHER_BASE, NumelIn=1, "
        "Timeout(ms)=600000) ran for 600020 milliseconds before timing out.\n"
        "[2026-01-20 02:41:00] SIGQUIT received. signum=3, frame=None.\n",
        "nccl-timeout",
    ),
    "watchdog": (
        SERVING
        + "[2026-01-20 02:41:00 TP0] Scheduler watchdog timeout (self.watchdog_timeout=300, "
        "self.soft=False)\n[2026-01-20 02:41:05] SIGQUIT received. signum=3, frame=None.\n",
        "watchdog",
    ),
    "an old watchdog": (
        SERVING + "[2026-01-20 02:41:00 TP0] Watchdog timeout (self.watchdog_timeout=300)\n",
        "watchdog",
    ),
    "an unknown exception": (
        SERVING + raised("KeyError: 'surprise'"),
        "scheduler-crashed",
    ),
    "a segmentation fault": (
        SERVING + "[2026-01-20 02:41:00] Subprocess scheduler_0 (pid=7) crashed with exit code -11."
        " Triggering SIGQUIT for cleanup...\n",
        "scheduler-crashed",
    ),
    "a killed child": (
        LOADING + "RuntimeError: Rank 0 scheduler died during initialization (exit code: -9).\n",
        "child-killed",
    ),
    "the detokenizer": (
        SERVING + "[2026-01-20 02:41:00] DetokenizerManager hit an exception: Traceback (most "
        'recent call last):\n  File "d.py", line 1, in run\nKeyError: 1\n\n[2026-01-20 02:41:01] '
        "SIGQUIT received. signum=3\n",
        "detokenizer-crashed",
    ),
    "the detokenizer's process": (
        SERVING + "[2026-01-20 02:41:00] Subprocess detokenizer (pid=7) crashed with exit code -11."
        " Triggering SIGQUIT for cleanup...\n",
        "detokenizer-crashed",
    ),
    "health": (
        SERVING + "[2026-01-20 02:41:00] Health check failed. Server couldn't get a response from "
        "detokenizer for last 20 seconds. tic start time: 02:40:39.\n",
        "health-check-failed",
    ),
    "a full cache": (
        SERVING + "[2026-01-20 02:41:00 TP0] KV cache pool is full. Retract requests. "
        "#retracted_reqs: 1\n" * 3,
        "kv-cache-full",
    ),
    "occupied GPUs": (
        LOADING
        + raised(
            "ValueError: The memory capacity is unbalanced. Some GPUs may be occupied by other "
            "processes."
        ),
        "gpu-occupied",
    ),
    "an internal port": (
        LOADING + raised("ValueError: rpc_port at 30001 is used by a process already"),
        "port-in-use",
    ),
    "an uncaught exception at the top": (
        'Traceback (most recent call last):\n  File "<frozen runpy>", line 198, in '
        "_run_module_as_main\nAssertionError: speculative_num_steps must be set\n",
        "launch-failed",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_signature(case: str) -> None:
    text, code = CASES[case]
    (verdict,) = verdicts(text)
    assert verdict.code == code
    assert verdict.line is not None
    assert verdict.evidence[:40] in text.split("\n")[verdict.line - 1]
    assert verdict.advice


@pytest.mark.parametrize("said", [
    "[../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [::1]:43139",
    "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection reset by peer [::1]:40",
    "[../third_party/gloo/gloo/transport/tcp/pair.cc:589] Read error [::1]:25266: Connection reset "
    "by peer",
])  # fmt: skip
def test_a_surviving_rank_points_to_the_one_that_died(said: str) -> None:
    lost = f"RuntimeError: {said}"
    (verdict,) = verdicts(SERVING + raised(lost))
    assert verdict.code == "scheduler-crashed"
    assert verdict.title == "Another rank died first, and this one lost its connection to it"
    assert verdict.evidence == lost
    assert "dmesg" in verdict.advice


def test_the_cause_that_the_dead_rank_gave_counts_more() -> None:
    lost = "RuntimeError: [/x/gloo/transport/tcp/pair.cc:534] Connection closed by peer [::1]:4"
    assert [v.code for v in verdicts(SERVING + raised(lost) + raised(OOM))][-1] == (
        "out-of-memory-serving"
    )


def test_another_peer_that_closes_is_no_rank() -> None:
    lost = "ConnectionResetError: [Errno 104] Connection reset by peer"
    (verdict,) = verdicts(SERVING + raised(lost))
    assert verdict.title == f"The scheduler crashed: {lost}"


def test_renamed_flags_say_their_new_name() -> None:
    (verdict,) = verdicts(CASES["a flag that was renamed"][0])
    assert verdict.advice == "Since 0.5.20 it is --cuda-graph-max-bs-decode: use that instead."
    (verdict,) = verdicts(CASES["a misspelt flag"][0])
    assert verdict.advice == "The nearest flag this release has is --speculative-num-steps."


def test_a_step_that_failed_is_marked() -> None:
    server = folded(read(CASES["memory while capturing"][0].encode()))
    assert server.ended
    assert [rung.key for rung in server.ladder if rung.status == "failed"] == ["graphs/target"]


def test_the_first_specific_cause_stays() -> None:
    text = LOADING + raised(OOM) + raised("torch.distributed.DistBackendError: NCCL error: x")
    assert [verdict.code for verdict in verdicts(text)] == ["out-of-memory-weights"]


def test_nccl_warnings_and_requests_are_no_failures() -> None:
    text = SERVING + (
        "[rank0]:[W1129 12:39:40 ProcessGroupNCCL.cpp:1575] Warning: WARNING: "
        "destroy_process_group() was not called before program exit\n"
        "[2026-01-20 02:41:00] Receive: obj=GenerateReqInput(text='CUDA out of memory; NCCL error: "
        "Health check failed. SIGQUIT received')\n"
        '[2026-01-20 02:41:00] INFO:     1.2.3.4:5 - "POST /v1 HTTP/1.1" 500\n'
        "Traceback (most recent call last):\n"
        '  File "/a/http_server.py", line 1, in generate\n'
        "ValueError: The triton backend is not supported for this request\n"
    )
    assert verdicts(text) == []


def test_evidence_is_masked_and_harmless() -> None:
    text = LOADING + raised("OSError: api_key=sesame \x1b[31m is not a local folder")
    (verdict,) = verdicts(text)
    assert "sesame" not in verdict.evidence
    assert "\x1b" not in verdict.evidence


def test_a_log_of_standard_output_only() -> None:
    lost = redirect_lost(size=120, process_age=300, stderr_elsewhere=True, file="server.log")
    assert lost is not None
    assert lost.code == "redirect-lost"
    assert redirect_lost(size=120, process_age=5, stderr_elsewhere=True) is None
    assert redirect_lost(size=120, process_age=300, stderr_elsewhere=False) is None
    assert redirect_lost(size=90_000, process_age=300, stderr_elsewhere=True) is None


def test_a_silent_log() -> None:
    empty = silent_log(size=0, process_age=300, still_for=300, busy=False, ready=False)
    assert empty is not None
    assert empty.code == "log-silent"
    stuck = silent_log(size=9, process_age=3000, still_for=1000, busy=True, ready=True)
    assert stuck is not None
    assert stuck.code == "log-silent"
    assert silent_log(size=9, process_age=3000, still_for=1000, busy=False, ready=True) is None
    assert silent_log(size=9, process_age=3000, still_for=1000, busy=True, ready=False) is None
    assert silent_log(size=0, process_age=10, still_for=10, busy=True, ready=False) is None
