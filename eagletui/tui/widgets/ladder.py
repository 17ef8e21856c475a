"""The ladder from the command line to ready, so that 15 minutes are never blind."""

from __future__ import annotations

from typing import NamedTuple

from textual.content import Content
from textual.geometry import Size

from eagletui.model.eta import Eta, about, eta
from eagletui.model.phases import PhaseExperience, Rung
from eagletui.model.state import ServerState
from eagletui.tui import words
from eagletui.tui.draw import bar, fit, line, page
from eagletui.tui.situation import came_up
from eagletui.tui.view import View
from eagletui.tui.widgets.cards import card
from eagletui.tui.widgets.panel import Panel

# Status → glyph, word, style.
RUNGS: dict[str, tuple[str, str, str]] = {
    "pending": ("○", "to come", "$quiet"),
    "running": ("▶", "running", "bold $primary"),
    "done": ("✔", "done", "$success"),
    "failed": ("✖", "failed", "bold $error"),
    "stalled": ("‖", "stalled", "bold $warning"),
}
MAX_LAGGING = 6


class RungView(NamedTuple):
    """One row, ready to be laid out."""

    status: str
    title: str
    fraction: float | None
    counted: str
    elapsed: float | None
    left: float | None
    usual: float | None
    lagging: tuple[str, ...]
    detail: str


class Ladder(Panel):
    """Every phase with its bar, its time, and what lags."""

    def draw(self, view: View, size: Size) -> Content:
        server = view.server
        if server is None:
            return Content("")
        return page(ladder_lines(server, view, max(30, size.width), max(4, size.height)))


def ladder_lines(server: ServerState, view: View, width: int, height: int) -> list[Content]:
    """The ladder in this much room: a summary line, then the rungs, details where they fit."""
    if not server.ladder:
        # What the list of servers knew stands here until the log says more.
        live = server.log.live
        said = "The log has not named a phase yet." if live else "Its log is being read."
        return [card(server, view, width), line((said, "$quiet"))]
    estimate = eta(server, view.now)
    rows = [rung_view(rung, server, view, estimate) for rung in server.ladder]
    shown = [summary(server, view, estimate, width)]
    roomy = height >= 2 * len(rows) + 2
    needed = len(rows) + 1 + sum(_explained(row) for row in rows)
    if height > needed:
        shown.append(Content(""))
    elif height < needed:
        past = min(_past(rows), needed - height + 1)
        if past > 1:
            shown.append(past_line(rows[:past], width))
            rows = rows[past:]
    for row in rows:
        shown.append(rung_line(row, width, view.ascii_only))
        below = below_line(row, width)
        if below is not None and (roomy or _explained(row)):
            shown.append(below)
        elif roomy:
            shown.append(Content(""))
    return shown


def _explained(row: RungView) -> bool:
    """Whether a second line belongs to this row even where room is short."""
    return row.status in ("running", "stalled", "failed") and bool(row.lagging or row.detail)


def _past(rows: list[RungView]) -> int:
    """How many rows at the top are over and can share one line."""
    return next((i for i, row in enumerate(rows) if row.status != "done"), len(rows))


def past_line(rows: list[RungView], width: int) -> Content:
    """Phases that are over, in one line."""
    took = sum(row.elapsed or 0.0 for row in rows)
    text = f"{len(rows)} phases done: {rows[0].title} to {rows[-1].title}, {words.seconds(took)}"
    return line(("✔ ", "$success"), (fit(text, width - 2).rstrip(), "$quiet"))


def rung_view(rung: Rung, server: ServerState, view: View, estimate: Eta) -> RungView:
    """What one row says."""
    stalled = any(alert.code == "stalled" for alert in server.alerts)
    current = server.phase is not None and server.phase.key == rung.key
    running = rung.status == "running"
    elapsed = rung.seconds
    if elapsed is None and running and rung.begun is not None:
        elapsed = max(0.0, view.host_now - rung.begun)
    known: PhaseExperience | None = server.experience.get(rung.key)
    behind = tuple(sorted(rank for rank, done in rung.ranks.items() if not done and rank))
    someone = any(rung.ranks.values())
    return RungView(
        status="stalled" if running and stalled and current else rung.status,
        title=rung.title,
        fraction=rung.fraction,
        counted=f"{rung.done}/{rung.total}" if rung.total and rung.done is not None else "",
        elapsed=elapsed,
        left=estimate.phase_remaining if running and current else None,
        usual=known.typical if known else None,
        lagging=behind if running and someone else (),
        detail=rung.detail,
    )


def summary(server: ServerState, view: View, estimate: Eta, width: int) -> Content:
    """How far the whole start-up is."""
    done = sum(rung.status == "done" for rung in server.ladder)
    begun = server.launched
    since = max(0.0, view.host_now - begun) if begun is not None else None
    if came_up(server):
        took = f" after {words.seconds(server.ready_after)}" if server.ready_after else ""
        if not server.alive:
            return line(("✔ was ready", "bold"), took, ("; the server is gone", "$quiet"))
        return line(("✔ ready", "bold $success"), took)
    if not server.alive:
        failed = any(rung.status == "failed" for rung in server.ladder)
        # Where it was asked to go, nothing went wrong.
        over = (
            ("✖ this start-up is over", "bold $error")
            if failed
            else ("○ this start-up is over", "bold")
        )
        return line(over, f"  {done} of {len(server.ladder)} phases done")
    left = (
        f"about {about(estimate.remaining)} left in all" if estimate.remaining is not None else ""
    )
    source = "from earlier launches" if estimate.learned else "a first guess"
    if width < 70:
        short = f"{done}/{len(server.ladder)} phases · {words.seconds(since)} · {left}"
        return line((fit(short.rstrip(" ·"), width).rstrip(), "bold"))
    text = f"{done} of {len(server.ladder)} phases  ·  {words.seconds(since)} so far"
    if left:
        text += f"  ·  {left}"
        if width >= 90:
            text += f" ({source})"
    return line((fit(text, width).rstrip(), "bold"))


def rung_line(row: RungView, width: int, ascii_only: bool) -> Content:
    """Glyph, title, bar, count, elapsed, time left: columns that line up."""
    glyph, _, style = RUNGS[row.status]
    title_width = 19 if width < 100 else 22
    count_width = 7 if width < 70 else 9
    counted = fit(row.counted, count_width, "right")
    elapsed = fit(words.clock(row.elapsed), 8, "right")
    left = _left(row, width)
    left_width = 11 if width < 70 else 14
    bar_width = max(6, min(60, width - 2 - title_width - 1 - count_width - 8 - 2 - left_width))
    quiet = row.status == "pending"
    return line(
        (f"{glyph} ", style),
        (
            fit(row.title, title_width),
            "$quiet" if quiet else "bold" if row.status != "done" else "",
        ),
        " ",
        (_bar(row, bar_width, ascii_only), style),
        (counted, "$quiet" if quiet else ""),
        (elapsed if row.elapsed is not None else " " * 8, "$quiet" if row.status == "done" else ""),
        "  ",
        (fit(left, left_width), "$quiet" if row.status != "stalled" else "bold $warning"),
    )


def _bar(row: RungView, width: int, ascii_only: bool) -> str:
    if row.status == "pending":
        return ("." if ascii_only else "·") * width
    if row.status == "done":
        return bar(1.0, width, ascii_only, thin=True)
    if row.fraction is None:
        # Nothing is counted in this phase: a bar would pretend to know.
        text = "working" if row.status == "running" else RUNGS[row.status][1]
        return fit(text, width)
    return bar(row.fraction, width, ascii_only)


def _left(row: RungView, width: int) -> str:
    if row.status == "stalled":
        return "stalled"
    if row.status == "failed":
        return "failed"
    if row.status == "running":
        if row.left is None:
            return "running"
        # Beside its own row: the time of this phase alone.
        return f"~{about(row.left)}" + (" left" if width >= 70 else "")
    if row.status == "pending" and row.usual is not None:
        return f"usually {words.clock(row.usual)}" if width >= 70 else f"~{words.clock(row.usual)}"
    if row.status == "done":
        return "" if row.usual is None or width < 70 else f"usually {words.clock(row.usual)}"
    return ""


def below_line(row: RungView, width: int) -> Content | None:
    """Ranks that lag, or what the log said about the phase."""
    if row.lagging:
        names = ", ".join(row.lagging[:MAX_LAGGING])
        more = len(row.lagging) - MAX_LAGGING
        text = f"waiting for {names}" + (f" and {more} more" if more > 0 else "")
        return line("  ", (fit(text, width - 2).rstrip(), "$warning"))
    if row.detail:
        return line("  ", (fit(row.detail, width - 2).rstrip(), "$quiet"))
    return None


def compact(server: ServerState, width: int) -> Content:
    """The whole ladder in one line, for when it is over."""
    parts = [
        f"{RUNGS[r.status][0]} {r.title} {words.clock(r.seconds)}"
        for r in server.ladder
        if r.seconds
    ]
    return line((fit("  ".join(parts), width).rstrip(), "$quiet"))
