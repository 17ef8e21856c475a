"""Requests, KV cache, latencies and where a step's time goes, as numbers."""

from __future__ import annotations

from typing import NamedTuple

from textual.content import Content
from textual.geometry import Size

from eagletui.model import latest
from eagletui.model.state import ServerState
from eagletui.tui import words
from eagletui.tui.draw import NOTHING, Field, bar, fit, line, pack, page
from eagletui.tui.view import View
from eagletui.tui.widgets.panel import Panel

STALE_AFTER = 5.0
# Where all three charts are on the screen, their titles say these already.
IN_CHART_TITLES = frozenset({"accept length", "tok/s", "verify"})


class Row(NamedTuple):
    """One line of the panel. `rank`: lower stays when there is little height."""

    rank: int
    label: str
    value: str
    note: str = ""
    fraction: float | None = None


class Numbers(Panel):
    """One row a number; in three lines or less, the most important of them in a row."""

    def draw(self, view: View, size: Size) -> Content:
        server = view.server
        if server is None:
            return Content("")
        rows = number_rows(server, view.now)
        stale = is_stale(view, server)
        width, height = max(16, size.width), max(1, size.height)
        if height <= 3:
            return page(
                _packed(rows, width, height, _old(view, server, short=True) if stale else "")
            )
        if stale:
            height -= 1
        kept = sorted(sorted(rows, key=lambda row: row.rank)[:height], key=rows.index)
        lines = [_row(row, width, view.ascii_only, stale) for row in kept]
        if stale:
            lines.insert(0, line((fit(_old(view, server), width).rstrip(), "$warning")))
        return page(lines)


def is_stale(view: View, server: ServerState) -> bool:
    """Whether the numbers are from long before now, or of a server that has ended."""
    at = server.metrics.at
    if not server.alive:
        return True
    if at is None:
        return latest.line_age(server, view.now) is not None
    return view.now - at > max(STALE_AFTER, 3 * view.interval)


def _old(view: View, server: ServerState, *, short: bool = False) -> str:
    """How old the numbers are, and why."""
    at, what = server.metrics.at, "scrape"
    if at is None and server.decode is not None:
        at, what = server.decode.at, "decode line"
    if at is None:
        return "‖ old" if server.alive else "‖ old: server gone"
    ago = words.ago(view.now - at)
    if not server.alive:
        return f"‖ old: server gone, last {ago}"
    return f"‖ old: {ago}" if short else f"‖ old: last {what} {ago}"


def number_rows(server: ServerState, now: float) -> list[Row]:
    """What is known now: each number from the scrape, else from a fresh decode line."""
    reading, rates = server.metrics.reading, server.metrics.rates
    usage = latest.token_usage(server, now)
    # A gauge of an idle server is a leftover, not a value of now.
    accept, accept_source = latest.accept_length(server, now)
    step, step_source = latest.step_ms(server, now)
    speed, speed_source = latest.tok_s(server, now)
    by_line = rates is not None and accept_source == "decode log"
    speculative = server.speculative
    rows = [
        Row(0, "running", words.number(latest.running(server, now)), "requests"),
        Row(0, "queued", words.number(latest.queued(server, now)), "requests"),
        Row(1, "KV usage", words.percent(usage), fraction=usage),
        Row(3, "cache hit", words.percent(reading.cache_hit_rate if reading else None)),
    ]
    if speculative.on:
        top = f"of {speculative.num_steps + 1} at most" if speculative.num_steps else ""
        rows += [
            Row(2, "accept length", words.number(accept, 2), _accept_note(server, top, by_line)),
            Row(
                5,
                "accept rate",
                words.percent(latest.accept_rate(server, now)),
                "of drafted tokens",
            ),
        ]
    told = rates is not None and speed_source == "decode log"
    rows.append(Row(1, "tok/s", words.rate(speed), "decode log" if told else "all requests"))
    if rates is not None:
        rows += [
            Row(6, "prefill", words.rate(rates.prefill_tok_s), "tok/s"),
            Row(4, "TTFT p50", words.milliseconds(rates.ttft_ms.p50), _p99(rates.ttft_ms.p99)),
            Row(4, "ITL p50", words.milliseconds(rates.itl_ms.p50), _p99(rates.itl_ms.p99)),
        ]
        if rates.verify_ms is not None or (reading and reading.verify_seconds_total is not None):
            rows += [
                Row(3, "verify", words.milliseconds(rates.verify_ms), "GPU, a step"),
                Row(5, "draft", words.milliseconds(rates.draft_ms), "GPU, a step"),
                Row(5, "draft extend", words.milliseconds(rates.draft_extend_ms), "GPU, a step"),
            ]
    if rates is not None or step is not None:
        source = step_source if step is not None or rates is None else rates.source
        note = "wall" if source == "none" else f"wall, {source}"
        rows.append(Row(3, "step", words.milliseconds(step), note))
    if reading is not None and reading.retracted:
        rows.append(Row(2, "retracted", words.number(reading.retracted), "requests"))
    return rows


def _p99(value: float | None) -> str:
    return "" if value is None else f"p99 {words.milliseconds(value)}"


def _accept_note(server: ServerState, top: str, by_line: bool) -> str:
    if by_line:
        return "decode log"
    stale = server.metrics.rates is not None and server.metrics.rates.stale
    return latest.word_of_stale(server) if stale else top


def _row(row: Row, width: int, ascii_only: bool, stale: bool) -> Content:
    label, value = fit(row.label, 13), fit(row.value, 9, "right")
    room = width - 24
    note: tuple[str, str] = ("", "")
    if row.fraction is not None and room >= 6:
        note = (bar(row.fraction, min(20, room), ascii_only, thin=True), "$primary")
    elif row.note and room >= 4:
        note = (fit(row.note, room).rstrip(), "$quiet")
    quiet = stale or row.value == NOTHING
    return line((label, "$quiet"), (value, "$quiet" if quiet else "bold"), "  ", note)


def _packed(rows: list[Row], width: int, height: int, old: str) -> list[Content]:
    left_out = IN_CHART_TITLES if width >= 70 else frozenset[str]()
    known = [row for row in rows if row.value != NOTHING and row.label not in left_out]
    fields = [Field(row.rank, f"{row.label} {row.value}") for row in known]
    if old:
        fields.insert(0, Field(-1, old, "bold $warning"))
    if height == 1:
        return [pack(fields, width)]
    half = (len(fields) + 1) // 2
    return [pack(fields[:half], width), pack(fields[half:], width)]
