"""Deaths whose cause another line may name: those of schedulers, detokenizers and other ranks."""

from __future__ import annotations

import re

from eagletui.engine.diagnosis import Context, Match, Refined, Signature

_SIGNALS = {
    "-9": "SIGKILL", "-11": "SIGSEGV", "-6": "SIGABRT", "-7": "SIGBUS", "-4": "SIGILL",
    "-15": "SIGTERM", "-3": "SIGQUIT",
}  # fmt: skip


def _exit_code(match: Match, context: Context) -> Refined:  # noqa: ARG001
    groups = match.groupdict()
    name, code = groups.get("name") or "a worker", groups["code"]
    signal = _SIGNALS.get(code, "")
    how = f"signal {signal}" if signal else f"exit code {code}"
    if code in ("-9", "-15", "137", "143"):
        return Refined(
            code="child-killed",
            title=f"{name} was killed ({how})",
            advice="Somebody or the kernel's out-of-memory killer ended it: look at "
            "`dmesg -T | grep -i oom` and at who may kill processes here.",
        )
    if "detokenizer" in name:
        return Refined(code="detokenizer-crashed", title=f"The detokenizer crashed ({how})")
    return Refined(title=f"{name} crashed ({how})")


GENERAL: tuple[Signature, ...] = (
    Signature(
        "detokenizer-crashed",
        ("DetokenizerManager hit an exception",),
        re.compile(r"DetokenizerManager hit an exception"),
        "The detokenizer crashed",
        "The traceback after this line says where.",
        where="message",
        general=True,
    ),
    Signature(
        "scheduler-crashed",
        ("crashed with exit code", "unexpectedly failed with an exit code"),
        re.compile(r"Subprocess (?P<name>\S+) \(pid=\d+\) crashed with exit code (?P<code>-?\d+)"),
        "A worker crashed",
        "Look at the lines before it, and at `dmesg -T` for what the kernel says.",
        where="message",
        general=True,
        refine=_exit_code,
    ),
    Signature(
        "scheduler-crashed",
        ("unexpectedly failed with an exit code",),
        re.compile(r"Child process unexpectedly failed with an exit code (?P<code>-?\d+)"),
        "A worker crashed",
        "Look at the lines before it, and at `dmesg -T` for what the kernel says.",
        where="message",
        general=True,
        refine=_exit_code,
    ),
    Signature(
        "scheduler-crashed",
        ("scheduler died during initialization",),
        re.compile(
            r"(?P<name>Rank \d+ scheduler) died during initialization \(exit code: (?P<code>-?\d+)"
        ),
        "A scheduler died while the server started",
        "Look at the lines before it for the rank's own traceback.",
        general=True,
        refine=_exit_code,
    ),
    Signature(
        "scheduler-crashed",
        ("scheduler is dead",),
        re.compile(r"Rank (?P<rank>\d+) scheduler is dead"),
        "The scheduler of rank {rank} died while the server started",
        "Look at the lines before it for the rank's own traceback.",
        general=True,
    ),
    # Gloo's own words, in a scheduler of SGLang as in others (sglang#1127, pytorch#75512):
    # `[…/gloo/transport/tcp/pair.cc:534] Connection closed by peer [host]:port`, and where it reads
    # `…:589] Read error [host]:port: Connection reset by peer`. This rank is a survivor. Other
    # peers that close, a download's for example, say no `gloo`.
    Signature(
        "scheduler-crashed",
        ("closed by peer", "reset by peer"),
        re.compile(r"\bgloo/.{1,200}Connection (?:closed|reset) by peer"),
        "Another rank died first, and this one lost its connection to it",
        "This rank is not the cause. Look above this line for the other rank's traceback; if it "
        "has none it was killed: `dmesg -T | grep -i oom` on its host tells whether the kernel did "
        "it. With several nodes, look at the logs of the others.",
        where="exception",
        general=True,
    ),
    Signature(
        "scheduler-crashed",
        ("eceived sigquit from a child", "SIGQUIT received"),
        re.compile(r"eceived sigquit from a child process|SIGQUIT received"),
        "A worker failed and took the server with it",
        "Look at the lines before it for a traceback; `dmesg -T` tells of processes that the "
        "kernel killed.",
        where="message",
        general=True,
    ),
)
