"""`eagletui status`: one look at a host."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import click

from eagletui.cli.asking import TerminalAsker
from eagletui.cli.options import Number, chosen_target, host_options, json_option, watch_options
from eagletui.cli.output import echo_json
from eagletui.engine.verdicts import RULES
from eagletui.model import latest
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.eta import Eta, about, eta
from eagletui.model.phases import Rung
from eagletui.model.server import Gpu
from eagletui.model.state import ServerState, State
from eagletui.model.text import visible

# What a look without --for is too short to see, with the seconds that each must last at least.
LONG = 5.0
LASTING = ", ".join(f"{rule.code} {rule.after:g} s" for rule in RULES if rule.after > LONG)


@click.command()
@host_options
@watch_options
@click.option(
    "--timeout", type=Number(1.0), default=60.0, show_default=True, help="Seconds in all."
)
@click.option(
    "--for",
    "stay",
    type=Number(0.0),
    default=0.0,
    metavar="SECONDS",
    help="Watch each server so long, in addition to --timeout. Alerts are said only after they"
    f" lasted, at least: {LASTING}.",
)
@json_option
def status(
    host: str | None,
    local: bool,
    ssh_config: tuple[str, ...],
    log_path: str | None,
    metrics_url: str | None,
    pid: int | None,
    api_key_env: str | None,
    timeout: float,
    stay: float,
    as_json: bool,
) -> None:
    """Look once: the servers of a host, their phase, rates and alerts.

    One look takes a few seconds and shows no alert that must last longer: see --for.
    """
    from eagletui.cli.connect import make_monitor, wanted_from
    from eagletui.monitor.look import look

    target = chosen_target(host, local)
    wanted = wanted_from(log=log_path, metrics=metrics_url, pid=pid, api_key_env=api_key_env)

    async def run() -> State:
        monitor = make_monitor(target, wanted=wanted, asker=TerminalAsker(), ssh_config=ssh_config)
        return await look(monitor, limit=timeout, stay=stay)

    state = asyncio.run(run())
    if as_json:
        echo_json(status_document(state, name=host or "localhost", now=time.time()))
    else:
        for line in status_lines(state, name=host or "localhost", now=time.time()):
            click.echo(visible(line))
    if pid is not None and all(one.process.pid != pid for one in state.servers.values()):
        click.get_current_context().exit(1)  # that there is none was said as a warning


def status_document(state: State, *, name: str, now: float) -> dict[str, Any]:
    """The contract of `status --json`."""
    return {
        "host": name,
        "connected": state.connected,
        "servers": [_server(server, now) for server in state.servers.values()],
        "gpus": [_gpu(gpu) for gpu in state.gpus],
        "looked_at": list(state.looked_at),
    }


def _server(server: ServerState, now: float) -> dict[str, Any]:
    process, phase = server.process, server.phase
    speculative = server.speculative
    remaining = eta(server, now)
    return {
        "key": process.key,
        "pid": process.pid,
        "user": process.user or None,
        "started_at": process.started_at,
        "version": server.version or process.version or None,
        "model": process.model or None,
        "port": process.port,
        "url": process.url or None,
        "command": list(process.argv),
        "alive": server.alive,
        "phase": phase.title if phase is not None else None,
        "ready": server.ready,
        "ready_after_s": server.ready_after,
        "progress": {
            "done": phase.done if phase is not None else None,
            "total": phase.total if phase is not None else None,
            "fraction": phase.fraction if phase is not None else None,
            "eta_s": None if server.ready else remaining.remaining,
        },
        "log": {
            "kind": process.log.kind,
            "target": process.log.target or None,
            "detail": server.log.detail or process.log.detail or None,
        },
        "speculative": {
            "algorithm": speculative.algorithm,
            "num_steps": speculative.num_steps,
            "eagle_topk": speculative.eagle_topk,
            "num_draft_tokens": speculative.num_draft_tokens,
        },
        "environment": process.environment,
        "gpus": list(process.gpus),
        "live": _live(server, now),
        "alerts": [_diagnosis(verdict) for verdict in server.verdicts],
    }


def _live(server: ServerState, now: float) -> dict[str, Any]:
    """Values of now. Where the accept length is a leftover it is said, and called stale."""
    rates = server.metrics.rates
    step, accept = latest.step_ms(server, now), latest.accept_length(server, now)
    source = step.source if step.value is not None or rates is None else rates.source
    if source == "none" and accept.source == "decode log":
        source = accept.source
    known = rates is not None or server.decode is not None
    rate = latest.accept_rate(server, now)
    if accept.value is None and rates is not None:
        accept, rate = latest.Latest(rates.accept_length, rates.source), rates.accept_rate
    return {
        "tok_s": latest.tok_s(server, now).value,
        "step_ms": step.value,
        "verify_ms": rates.verify_ms if rates is not None else None,
        "draft_ms": rates.draft_ms if rates is not None else None,
        "draft_extend_ms": rates.draft_extend_ms if rates is not None else None,
        "accept_length": accept.value,
        "accept_rate": rate,
        "source": source if known else None,
        "stale": latest.is_leftover(server, now) if known else None,
        "running": latest.running(server, now),
        "queued": latest.queued(server, now),
        "token_usage": latest.token_usage(server, now),
    }


def _diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    return {
        "code": diagnosis.code,
        "severity": diagnosis.severity,
        "title": diagnosis.title,
        "line": diagnosis.line,
        "evidence": diagnosis.evidence,
        "advice": diagnosis.advice,
    }


def _gpu(gpu: Gpu) -> dict[str, Any]:
    return {
        "index": gpu.index,
        "name": gpu.name,
        "utilization": gpu.utilization,
        "power_w": gpu.power,
        "power_limit_w": gpu.power_limit,
        "memory_used_mib": gpu.memory_used,
        "memory_total_mib": gpu.memory_total,
        "temperature_c": gpu.temperature,
    }


def status_lines(state: State, *, name: str, now: float) -> list[str]:
    """The same for a person."""
    lines = [f"{name}: {'connected' if state.connected else 'not connected'}"]
    if not state.servers:
        looked = ", ".join(state.looked_at) or "nothing"
        lines.append(f"  no SGLang server found; looked at: {looked}")
    for server in state.servers.values():
        process, phase, live = server.process, server.phase, _live(server, now)
        title = " ".join(
            part
            for part in (
                process.key,
                process.model,
                f"sglang {server.version}" if server.version else "",
                f"pid {process.pid}" if process.pid else "",
            )
            if part
        )
        lines.append(f"  {title}")
        lines.append(f"    {server.speculative.short}")
        if server.ready:
            lines.append("    ready")
        elif phase is not None:
            lines.append(f"    {_progress(phase, eta(server, now))}")
        lines.append(f"    log: {process.log.kind} {process.log.target or process.log.detail}")
        for problem, advice in ((server.log.detail, server.log.advice), (process.hidden, "")):
            if problem:
                lines.append(f"    warning: {problem}")
            if advice:
                lines.append(f"      {advice}")
        if live["tok_s"] is not None:
            lines.append("    " + _live_line(live))
        for verdict in server.verdicts:
            lines.append(f"    {verdict.severity}: {verdict.title} [{verdict.code}]")
            if verdict.advice:
                lines.append(f"      {verdict.advice}")
    lines += [
        f"  GPU {gpu.index} {gpu.name}: {_number(gpu.utilization, '%')}"
        f" {_number(gpu.power, 'W')} {_number(gpu.memory_used, 'MiB')}"
        for gpu in state.gpus
    ]
    return lines


def _progress(phase: Rung, remaining: Eta) -> str:
    """`target weights running 19/64, about 5 min left of it; about 7 min left in all`."""
    count = f" {phase.done}/{phase.total}" if phase.total else ""
    text = f"{phase.title} {phase.status}{count}"
    if remaining.phase_remaining is not None:
        text += f", about {about(remaining.phase_remaining)} left of it"
    if remaining.remaining is not None:
        text += f"; about {about(remaining.remaining)} left in all"
    return text


def _live_line(live: dict[str, Any]) -> str:
    accept = live["accept_length"]
    step, label = (
        (live["verify_ms"], "verify")
        if live["verify_ms"] is not None
        else (live["step_ms"], "step")
    )
    parts = [
        f"{live['tok_s']:.1f} tok/s",
        f"accept length {accept:.2f}{' (stale)' if live['stale'] else ''}" if accept else "",
        f"{label} {step:.2f} ms ({live['source']})" if step is not None else "",
        f"running {live['running']:.0f}" if live["running"] is not None else "",
        f"queued {live['queued']:.0f}" if live["queued"] is not None else "",
    ]
    return " · ".join(part for part in parts if part)


def _number(value: float | None, unit: str) -> str:
    return f"{value:.0f} {unit}" if value is not None else f"– {unit}"
