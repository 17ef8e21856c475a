"""What `eagletui doctor` checks, as data in and findings out; one function a check."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from eagletui.model.base import Data
from eagletui.model.errors import EagletuiError
from eagletui.model.state import ServerState, State
from eagletui.store.places import CONFIG_VARIABLE, PLACES

Result = Literal["ok", "warning", "failed", "skipped"]


class Finding(Data, frozen=True):
    """One line of the doctor's account."""

    name: str
    result: Result
    detail: str
    advice: str = ""


# --- this machine ----------------------------------------------------------------------------


def check_python() -> Finding:
    """The interpreter is one the program supports."""
    version = ".".join(map(str, sys.version_info[:3]))
    ok = sys.version_info >= (3, 10)
    return Finding(
        name="python",
        result="ok" if ok else "failed",
        detail=version,
        advice="" if ok else "Python 3.10 or newer is needed.",
    )


def check_charts() -> Finding:
    """The chart library loads: on platforms without a wheel it may install and yet not import."""
    try:
        plotext = importlib.import_module("plotext")
    except Exception as error:  # a C++ library that fails to load raises many things
        return Finding(
            name="charts",
            result="warning",
            detail=f"plotext does not load: {error}",
            advice="Charts are shown as numbers and sparklines. Install a C++ compiler and"
            " reinstall plotext to have them drawn.",
        )
    return Finding(name="charts", result="ok", detail=f"plotext {plotext.__version__}")


def check_terminal(environment: Mapping[str, str]) -> Finding:
    """The terminal shows colours and the characters that charts are drawn with."""
    encoding = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG")
    said = f"TERM={environment.get('TERM', '')} locale={encoding or 'unset'}"
    if environment.get("TERM", "") in ("", "dumb"):
        return Finding(
            name="terminal",
            result="warning",
            detail=said,
            advice="Run it in a terminal that moves the cursor.",
        )
    if "utf" not in (encoding or "").lower():
        return Finding(
            name="terminal",
            result="warning",
            detail=said,
            advice='Set a UTF-8 locale, or `marker = "ascii"` in config.toml.',
        )
    return Finding(name="terminal", result="ok", detail=said)


def check_folders() -> Iterator[Finding]:
    """Folders can be written, or made."""
    for name in ("config", "data"):
        path = PLACES[name]()
        parent = next(p for p in (path, *path.parents) if p.exists())
        writable = os.access(parent, os.W_OK)
        yield Finding(
            name=f"{name} folder",
            result="ok" if writable else "warning",
            detail=str(path),
            advice="" if writable else f"{parent} can't be written: nothing will be learned.",
        )


def check_settings(load: Callable[[Path], object], path: Path) -> Finding:
    """`config.toml` is valid."""
    from eagletui.model.errors import ConfigError

    if not path.exists() and not os.environ.get(CONFIG_VARIABLE):
        return Finding(name="settings", result="ok", detail="defaults; there is no config.toml")
    try:
        load(path)
    except ConfigError as error:
        return Finding(name="settings", result="failed", detail=error.what, advice=error.advice)
    return Finding(name="settings", result="ok", detail=str(path))


def check_themes(problems: Iterable[EagletuiError]) -> Iterator[Finding]:
    """Every theme file can be used."""
    for problem in problems:
        yield Finding(name="theme", result="warning", detail=problem.what, advice=problem.advice)


def check_ssh_config(files: Sequence[str], unexpanded: Sequence[str]) -> Finding:
    """The SSH configuration means here what it means to OpenSSH.

    Args:
        files: those that are read.
        unexpanded: places where a command of `Match exec` has a `%`.
    """
    if not unexpanded:
        return Finding(name="ssh config", result="ok", detail=", ".join(files) or "none is there")
    return Finding(
        name="ssh config",
        result="warning",
        detail=f"a Match exec has %-tokens, which are not replaced here: {'; '.join(unexpanded)}",
        advice="Its command is run as it is written, and what it guards may be left out: use Match "
        "host or originalhost, or a command without %.",
    )


# --- the host --------------------------------------------------------------------------------


def check_host(state: State) -> Iterator[Finding]:
    """Everything one look at the host tells."""
    host = state.host
    if host is None:
        yield Finding(name="connection", result="failed", detail="the host said nothing")
        return
    took = f", round trip {host.round_trip * 1000:.0f} ms" if host.round_trip is not None else ""
    yield Finding(
        name="connection", result="ok", detail=f"{host.user}@{host.name}, {host.kernel}{took}"
    )
    late = abs(host.clock_offset)
    yield Finding(
        name="clock",
        result="ok" if late < 2.0 else "warning",
        detail=f"differs by {late:.1f} s from this machine's",
        advice="" if late < 2.0 else "Times are corrected for it; logs show the host's own.",
    )
    if state.gpus:
        names = sorted({gpu.name for gpu in state.gpus})
        yield Finding(name="GPUs", result="ok", detail=f"{len(state.gpus)} × {', '.join(names)}")
    else:
        yield Finding(
            name="GPUs",
            result="warning",
            detail=state.gpus_detail or "none seen",
            advice="Without nvidia-smi, rocm-smi or amd-smi there are no GPU numbers; the rest "
            "works.",
        )
    if not state.servers:
        yield Finding(
            name="servers",
            result="warning",
            detail="no SGLang server; looked at " + (", ".join(state.looked_at) or "nothing"),
            advice="Start one, or say --log PATH and --metrics URL.",
        )
    for server in state.servers.values():
        yield from check_server(server)


def check_server(server: ServerState) -> Iterator[Finding]:
    """One server: is it seen, heard and measured."""
    process = server.process
    name = f"server {process.key}"
    yield Finding(
        name=name,
        result="ok" if not process.hidden else "warning",
        detail=f"pid {process.pid}, SGLang {server.version or '(version unknown)'}, "
        f"{process.model or '(model unknown)'}",
        advice=process.hidden,
    )
    problem = server.log.detail
    readable = process.log.readable and not problem
    yield Finding(
        name=f"{name} log",
        result="ok" if readable else "warning",
        detail=problem or f"{process.log.kind} {process.log.target} {process.log.detail}".strip(),
        advice=""
        if readable
        else server.log.advice or "Start it with `> FILE 2>&1`, or say --log PATH.",
    )
    failed = server.metrics.problem
    if server.metrics.reading is not None and failed is None:
        yield Finding(
            name=f"{name} metrics",
            result="ok",
            detail=f"{server.metrics.reading.samples} samples in {server.metrics.took:.2f} s",
        )
        yield _check_timer(name, server)
    elif failed is not None:
        yield Finding(
            name=f"{name} metrics",
            result="warning" if server.ready or failed.problem != "refused" else "skipped",
            detail=failed.detail or failed.problem,
            advice=failed.advice,
        )


def _check_timer(name: str, server: ServerState) -> Finding:
    reading = server.metrics.reading
    speculates = server.speculative.on
    if reading is not None and reading.verify_seconds_total is not None:
        return Finding(name=f"{name} device timer", result="ok", detail="verify time is measured")
    if not speculates:
        return Finding(
            name=f"{name} device timer",
            result="skipped",
            detail="no speculation, nothing to verify",
        )
    return Finding(
        name=f"{name} device timer",
        result="warning",
        detail="off: only whole steps can be timed, not verify",
        advice="Start the server with SGLANG_ENABLE_METRICS_DEVICE_TIMER=1 (0.5.11 and newer).",
    )
