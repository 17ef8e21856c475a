"""NCCL between ranks."""

from __future__ import annotations

import re

from eagletui.engine.diagnosis import Signature

COMMUNICATION: tuple[Signature, ...] = (
    Signature(
        "nccl-timeout",
        ("collective operation timeout",),
        re.compile(
            r"Watchdog caught collective operation timeout:.*?OpType=(?P<op>\w+).*?"
            r"Timeout\(ms\)=(?P<ms>\d+)"
        ),
        "A collective ({op}) did not finish within {ms} ms: a rank is stuck or gone",
        "Look at which rank has no later line; try NCCL_P2P_DISABLE=1 or NCCL_DEBUG=INFO, and "
        "raise --dist-timeout only if loading is known to take longer.",
    ),
    Signature(
        "nccl-timeout",
        ("collective operation timeout",),
        re.compile(r"Watchdog caught collective operation timeout"),
        "A collective did not finish in time: a rank is stuck or gone",
        "Look at which rank has no later line; try NCCL_P2P_DISABLE=1 or NCCL_DEBUG=INFO.",
    ),
    Signature(
        "nccl-error",
        ("NCCL error", "nccl", "DistBackendError"),
        re.compile(
            r"NCCL error|ncclSystemError|ncclUnhandledCudaError|ncclInternalError|ncclRemoteError"
            r"|ncclInvalidUsage|ncclInvalidArgument|DistBackendError"
        ),
        "NCCL failed",
        "Set NCCL_DEBUG=INFO and start again; check NCCL_* variables, /dev/shm and that the GPUs "
        "can reach each other.",
        where="exception",
    ),
    Signature(
        "nccl-error",
        ("NCCL error:",),
        re.compile(r"(?:^|\] )(?:RuntimeError: )?NCCL error: (?P<what>.{1,120})"),
        "NCCL failed: {what}",
        "Set NCCL_DEBUG=INFO and start again; check NCCL_* variables (files they name must fit the "
        "number of ranks), /dev/shm and that the GPUs can reach each other.",
        where="message",
    ),
)
