"""Rules on being watched, on secrets and on the port."""

from __future__ import annotations

from eagletui.engine.check.modes import on
from eagletui.engine.check.situation import Finds, Found, Situation, place
from eagletui.model.secrets import is_secret_name

DEFAULT_LOG_INTERVAL = 40
LIVE_LOG_INTERVAL = 10
TIMER = "SGLANG_ENABLE_METRICS_DEVICE_TIMER"


def metrics_off(situation: Situation) -> Finds:
    """Without `--enable-metrics` there is no /metrics page (every release)."""
    if situation.ours and not situation.given("--enable-metrics"):
        yield Found(
            "server.flags.enable-metrics",
            "Without enable-metrics the server has no /metrics page: accept length, queue and KV "
            "cache are seen only in the log.",
            "Add enable-metrics (the profile part `measured` does); it costs next to nothing.",
        )


def timer_off(situation: Situation) -> Finds:
    """The device timer gives the real verify time (0.5.11+)."""
    if situation.drafting.algorithm is None or not situation.since("0.5.11"):
        return
    if situation.given("--enable-metrics") and not on(situation.environment.get(TIMER)):
        yield Found(
            f"environment.{TIMER}",
            f"Without {TIMER}=1 only whole steps are timed, not verify.",
            f"Set {TIMER}=1 (the profile part `measured` does).",
        )


def log_interval(situation: Situation) -> Finds:
    """How often a decode line is written; the gauges follow it (every release)."""
    interval = situation.number("--decode-log-interval") or DEFAULT_LOG_INTERVAL
    if situation.ours and interval > LIVE_LOG_INTERVAL:
        yield Found(
            "server.flags.decode-log-interval",
            f"The server tells its accept length every {interval} steps, which is coarse for a "
            "live screen.",
            f"Set decode-log-interval to {LIVE_LOG_INTERVAL} or less.",
        )


def visible_key(situation: Situation) -> Finds:
    """A secret on the command line: everybody on the host reads it with ps."""
    for given in situation.arguments.given:
        if is_secret_name(given.flag) and given.values:
            also = " The log and /server_info show it too." if "api-key" in given.flag else ""
            yield Found(
                place(given.flag),
                f"Everybody on the host can read {given.flag} in the process list.{also}",
                "Use it only on a host of your own, or put a proxy with the key before the server.",
            )


def bad_port(situation: Situation) -> Finds:
    """A port that is none."""
    port = situation.number("--port")
    if port is not None and not 0 < port < 65536:
        yield Found(
            "server.port",
            f"{port} is no port: the server fails after the whole load.",
            "Use one from 1024 to 65535.",
        )
    elif port is not None and port < 1024:
        yield Found(
            "server.port",
            f"Port {port} is kept for root on most hosts: the server fails after the whole load.",
            "Use one from 1024 to 65535.",
        )
