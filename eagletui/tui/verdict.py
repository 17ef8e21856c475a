"""What is going on, in plain words: the line a tired person reads first."""

from __future__ import annotations

from typing import Literal, NamedTuple

from eagletui.model import latest
from eagletui.model.diagnosis import Diagnosis
from eagletui.model.eta import about
from eagletui.model.state import ServerState, State
from eagletui.tui import words

Level = Literal["ok", "busy", "info", "warning", "error", "fatal"]

SERIOUS = ("fatal", "error")

# Code of the diagnosis that says who stopped the server.
STOPPED = "terminated"

# Seconds without a token after which a server with no requests is called idle.
IDLE_AFTER = 3.0

# Level → glyph, word, style. The glyph and the word carry the meaning; the colour repeats it.
MARKS: dict[Level, tuple[str, str, str]] = {
    "ok": ("✔", "OK", "bold $success"),
    "busy": ("▶", "LOADING", "bold $primary"),
    "info": ("●", "NOTE", "bold $primary"),
    "warning": ("▲", "WARNING", "bold $warning"),
    "error": ("✖", "ERROR", "bold $error"),
    "fatal": ("✖", "FATAL", "bold $error"),
}


class Verdict(NamedTuple):
    """One line, with what it rests on and what to do."""

    level: Level
    text: str
    evidence: str = ""
    advice: str = ""
    word: str = ""


def verdicts(state: State, now: float, remaining: float | None = None) -> tuple[Verdict, ...]:
    """What to say now, the most important first; never empty once a server is selected.

    Args:
        remaining: seconds until ready, where that is known.
    """
    found: list[Verdict] = []
    link = _link(state, now)
    if link is not None:
        found.append(link)
    server = state.server
    if server is None:
        return tuple(found)
    found.extend(
        _said(diagnosis) for diagnosis in server.verdicts if _worth_saying(server, diagnosis)
    )
    end: Verdict | None = None
    if server.alive:
        if not _stands_still(server, now):
            found.append(_doing(server, remaining, now))
        found.extend(_blind(server))
    elif not any(verdict.level == "fatal" for verdict in found):
        end = _ending(server, now)
        found.append(end)
    order: dict[Level, int] = {"fatal": 0, "error": 1, "warning": 2, "busy": 3, "ok": 3, "info": 4}
    return tuple(sorted(found, key=lambda said: 0 if said is end else order[said.level]))


def _ending(server: ServerState, now: float) -> Verdict:
    """Why the server is not there, where nothing fatal says it."""
    stop = next((found for found in server.diagnoses if found.code == STOPPED), None)
    if stop is not None and server.ended:
        return Verdict("info", f"{stop.title.rstrip('.')}.", stop.evidence, word="STOPPED")
    advice = "The log's last lines may say why: l."
    if server.gone_at is None:
        return Verdict("fatal", "The log says that this launch is over.", "", advice, "ENDED")
    text = f"The server's process is gone since {words.seconds(now - server.gone_at)}."
    if stop is not None:
        return Verdict("info", text, stop.evidence or stop.title, word="STOPPED")
    return Verdict("fatal", text, "", advice, "GONE")


def _moved(server: ServerState, now: float) -> bool:
    """Whether a token moved a moment ago."""
    return server.progress_at is not None and now - server.progress_at < IDLE_AFTER


def _stands_still(server: ServerState, now: float) -> bool:
    """Whether an error contradicts that the server serves: then only the error is said."""
    if not server.ready:
        return False
    if any(alert.severity in SERIOUS for alert in server.alerts):
        return True
    failed = any(found.severity in SERIOUS for found in server.diagnoses)
    return failed and not _moved(server, now)


def _said(diagnosis: Diagnosis) -> Verdict:
    return Verdict(diagnosis.severity, diagnosis.title, diagnosis.evidence, diagnosis.advice)


def _worth_saying(server: ServerState, diagnosis: Diagnosis) -> bool:
    """Idleness is what the server is doing; it is said there."""
    if diagnosis.code == "idle":
        return False
    return diagnosis.severity != "info" or diagnosis in server.alerts


def _link(state: State, now: float) -> Verdict | None:
    link = state.link
    if link is None or link.link in ("connected", "connecting"):
        return None
    text = {
        "lost": "Connection lost",
        "failed": "Cannot connect",
        "closed": "Connection closed",
    }[link.link]
    if link.retry_at is not None:
        text += f", next try in {words.seconds(max(0.0, round(link.retry_at - now)))}"
    if link.detail:
        text += f": {link.detail.rstrip('.')}"
    shown = " What you see is the last that was known." if state.server is not None else ""
    return Verdict("error", f"{text}.{shown}", link.meaning, link.advice, word="OFFLINE")


def _doing(server: ServerState, remaining: float | None, now: float) -> Verdict:
    if not server.ready:
        return _loading(server, remaining, now)
    running = latest.running(server, now)
    quiet = latest.line_age(server, now) if server.metrics.rates is None else None
    if quiet is not None:
        # Without metrics nothing says how many run: a decode line comes only while some do.
        return Verdict("ok", f"Ready; last step {words.ago(quiet)}, by the log.", word="QUIET")
    if running is not None and running < 1 and not _moved(server, now):
        return Verdict("ok", "Ready and idle: no requests.", word="IDLE")
    if running is None:
        return Verdict("ok", "Ready.", word="READY")
    accept, speed = latest.accept_length(server, now).value, latest.tok_s(server, now).value
    # Between two requests the gauge may say none while tokens still move.
    count = int(running)
    parts = [f"Serving {words.count(count, 'request')}" if count else "Serving"]
    if accept is not None and server.speculative.on:
        parts.append(f"accept length {accept:.2f}")
    if speed:
        parts.append(f"{words.rate(speed)} tok/s")
    elif speed is not None and count:
        # A prompt is read, or no scrape has seen a token yet; where it stays so, it hangs.
        parts.append("no tokens now")
    return Verdict("ok", ", ".join(parts) + ".", word="SERVING")


def _loading(server: ServerState, remaining: float | None, now: float) -> Verdict:
    phase = server.phase
    if phase is None:
        return _unread(server, now)
    step = f" {phase.done}/{phase.total}" if phase.total and phase.done is not None else ""
    over = " done" if phase.status == "done" else ""
    left = f"; about {about(remaining)} left in all" if remaining is not None else ""
    return Verdict("busy", f"{words.beginning(phase.title)}{step}{over}{left}.")


def _unread(server: ServerState, now: float) -> Verdict:
    """The process is there; its log has not said how far it is."""
    place = server.log.place or server.process.log
    if place.kind in ("none", "terminal"):
        return Verdict("busy", "Its log cannot be read; waiting for an answer.", word="RUNNING")
    if not server.log.live:
        return Verdict("busy", "Reading its log.", word="RUNNING")
    begun = server.process.started_at
    since = "" if begun is None else f" for {words.seconds(max(0.0, now - begun))}"
    said = f"Starting{since}; the log has not named a phase yet."
    return Verdict("busy", said, word="STARTING")


def _blind(server: ServerState) -> list[Verdict]:
    problem = server.metrics.problem
    if not server.ready or problem is None or server.process.metrics_enabled is False:
        return []
    ready = next((rung.moved_at for rung in server.ladder if rung.name == "ready"), None)
    if ready is not None and problem.at <= ready:
        return []  # it was asked before it could answer
    return [
        Verdict(
            "warning",
            f"No metrics: {(problem.detail or problem.problem).rstrip('.')}.",
            advice=problem.advice,
        )
    ]
