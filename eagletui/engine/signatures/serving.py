"""What befalls a server that was ready: watchdogs, health checks, a full KV cache."""

from __future__ import annotations

import re

from eagletui.engine.diagnosis import Signature

SERVING: tuple[Signature, ...] = (
    Signature(
        "watchdog",
        ("atchdog timeout (self.watchdog_timeout=",),
        re.compile(r"[Ww]atchdog timeout \(self\.watchdog_timeout=(?P<s>[\d.]+), self\.soft=True"),
        "A step took longer than the soft watchdog's {s} s",
        "The server goes on; look at what the ranks were doing in the stack dump above.",
        where="message",
        severity="warning",
        ended=False,
    ),
    Signature(
        "watchdog",
        ("atchdog timeout (self.watchdog_timeout=",),
        re.compile(r"[Ww]atchdog timeout \(self\.watchdog_timeout=(?P<s>[\d.]+)"),
        "The scheduler made no step for {s} s and its watchdog ended the server",
        "A rank hung, often in NCCL or a kernel that compiles: the stack dump above says where; "
        "raise --watchdog-timeout only if a step can really take that long.",
        where="message",
    ),
    Signature(
        "health-check-failed",
        ("Health check failed",),
        re.compile(r"Health check failed\. (?P<what>.{0,200})"),
        "The health check got no answer",
        "The server may be busy with a long prefill or stuck: see whether decode lines still come.",
        where="message",
        severity="error",
        ended=False,
    ),
    Signature(
        "kv-cache-full",
        ("Retract requests", "Decode out of memory happened"),
        re.compile(r"(?:KV cache pool is full|Decode out of memory happened)\."),
        "The KV cache was full and requests were put back into the queue",
        "Lower --max-running-requests or raise --mem-fraction-static; work is done twice "
        "otherwise.",
        where="message",
        severity="warning",
        ended=False,
    ),
)
