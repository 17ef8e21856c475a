"""Rules on the host: what is taken, missing or full."""

from __future__ import annotations

from eagletui.engine.check.situation import Finds, Found, Situation

LOG_LEAST = 100 << 20
LOG_COMFORT = 2 << 30
HELD_LEAST = 512.0
"""MiB of GPU memory that are worth a word."""


def installation(situation: Situation) -> Finds:
    """The profile's Python does not run, or has no SGLang."""
    if situation.facts.problem:
        yield Found(
            "server.python",
            situation.facts.problem,
            "Set server.python to the interpreter that has SGLang.",
        )


def help_unread(situation: Situation) -> Finds:
    """The host's SGLang does not tell its options: flags are checked by the table of releases."""
    if situation.facts.options_problem:
        yield Found(
            "server.python",
            f"{situation.facts.options_problem} The flags are checked by what is known of release "
            f"{situation.release.text} instead, which this installation may differ from.",
            "Run its `python -m sglang.launch_server --help` on the host: what fails there may "
            "fail at the start too.",
        )


def port_taken(situation: Situation) -> Finds:
    """Somebody listens on the port: SGLang notices only after the whole load."""
    holder = situation.facts.port_holder
    if holder:
        yield Found(
            "server.port",
            f"Port {situation.plan.port} is taken by {holder}: the server would notice only after "
            "the whole load.",
            "Stop that, or choose another port.",
        )


def memory_held(situation: Situation) -> Finds:
    """GPU memory that others hold."""
    held: dict[int, list[str]] = {}
    for holder in situation.facts.holders:
        if holder.memory_used >= HELD_LEAST:
            name = holder.server or holder.name or "a process"
            words = f"{name} (pid {holder.pid}, {holder.memory_used / 1024:.1f} GiB)"
            held.setdefault(holder.gpu, []).append(words)
    if held:
        said = "; ".join(f"GPU {gpu}: {', '.join(held[gpu])}" for gpu in sorted(held))
        yield Found(
            "server",
            f"GPU memory is held by others: {said}. The server may end with `memory capacity is "
            "unbalanced` or out of memory.",
            "Stop them, choose other GPUs, or lower mem-fraction-static.",
        )


def other_loading(situation: Situation) -> Finds:
    """Another server loads right now: both get slow, and both guess the free memory wrongly."""
    if situation.facts.loading:
        yield Found(
            "server",
            f"Another server is loading: {', '.join(situation.facts.loading)}. Both get slow and "
            "measure each other's half-taken memory.",
            "Wait until it is ready.",
        )


def log_full(situation: Situation) -> Finds:
    """No room for the log."""
    free = situation.facts.log_free
    if free is not None and free < LOG_LEAST:
        yield Found(
            "server.log",
            f"Only {free >> 20} MiB are free where the log goes: it would end in the middle.",
            "Free some space or choose another place for the log.",
        )


def log_nearly_full(situation: Situation) -> Finds:
    """Little room for the log."""
    free = situation.facts.log_free
    if free is not None and LOG_LEAST <= free < LOG_COMFORT:
        yield Found(
            "server.log",
            f"{free / 2**30:.1f} GiB are free where the log goes.",
            "A busy server writes some hundred MiB a day.",
        )


def file_unreadable(situation: Situation) -> Finds:
    """A file that is named and cannot be read."""
    for path, readable in situation.facts.readable.items():
        if not readable:
            yield Found(
                _place_of(path, situation),
                f"{path} cannot be read on the host.",
                "Check the path and who may read it.",
            )


def too_few_gpus(situation: Situation) -> Finds:
    """More ranks than the host has GPUs."""
    count = situation.facts.gpu_count
    on_gpus = situation.ours and situation.text("--device") in (None, "cuda")
    wanted = -(-situation.gpus // situation.nodes)
    if count is not None and on_gpus and wanted > count:
        yield Found(
            "server.flags.tp-size",
            f"The server wants {wanted} GPUs, the host has {count}.",
            f"Lower tp-size to {count} or less.",
        )


def _place_of(path: str, situation: Situation) -> str:
    for name, value in situation.environment.items():
        if value == path:
            return f"environment.{name}"
    for given in situation.arguments.given:
        if path in given.values:
            return f"server.flags.{given.flag.lstrip('-')}"
    return "server"
