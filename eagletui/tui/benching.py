"""What a benchmark's questions and its progress say. Pure; no widget in here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from textual.content import Content

from eagletui.bench.plan import Plan, Prompt
from eagletui.bench.plan import requests as requests_of
from eagletui.model import latest
from eagletui.model.benchmarking import CellLine, Moment, Subject, Under, Wish
from eagletui.model.eta import about
from eagletui.model.speculative import Speculative
from eagletui.tui import words
from eagletui.tui.actions import first_key
from eagletui.tui.draw import NOTHING, Field, bar, fit, line, pack, wrap
from eagletui.tui.situation import came_up
from eagletui.tui.switching import Question
from eagletui.tui.view import View
from eagletui.tui.widgets.header import short_model

_MOST_NUMBERS = 12
"""Concurrencies that are named one by one."""

_OF_A_SET = 32
"""Prompts of a shipped set."""


# --- before ---------------------------------------------------------------------------------------


def subject(view: View) -> Subject:
    """The server on the screen."""
    server = view.server
    if server is None:
        return Subject()
    process = server.process
    return Subject(
        pid=process.pid,
        url=process.url,
        name=short_model(process.model),
        setting=setting(server.speculative),
    )


def setting(speculative: Speculative) -> str:
    """What tells one try from the next: a name begins with it."""
    if not speculative.on or speculative.num_steps is None:
        return speculative.algorithm or "off"
    topk = speculative.eagle_topk or 1
    return f"k={speculative.num_steps}" + (f" topk={topk}" if topk > 1 else "")


def requests_in_all(wish: Wish, prompts: int = _OF_A_SET) -> int:
    """How many requests it sends, the warm-up apart, with so many prompts to choose from."""
    plan = Plan(prompts=(Prompt(text=""),) * prompts, requests=wish.requests)
    return wish.repeats * sum(requests_of(plan, number) for number in wish.concurrencies)


def plan_words(wish: Wish, prompts: int = _OF_A_SET) -> str:
    """What would be sent, in a sentence, with so many prompts to choose from."""
    cells = len(wish.concurrencies) * wish.repeats
    return (
        f"{words.count(cells, 'cell')}, {requests_in_all(wish, prompts):,} requests of "
        f"{wish.output_tokens:,} output tokens"
    )


def load_words(view: View) -> str:
    """Who uses the server now."""
    server = view.server
    if server is None or not server.alive:
        return ""
    running = latest.running(server, view.now)
    if running is None:
        return "Whether others use the server now is not known."
    if not running:
        return "Nobody uses the server now."
    queued = latest.queued(server, view.now)
    return (
        f"Others use the server now ({running:.0f} running, {queued or 0:.0f} queued): they become"
        " slower, and the benchmark ends when it sees them."
    )


def refusal(view: View) -> str:
    """Why nothing is measured, "" when it may be."""
    refused = view.permission().refusal
    if refused:
        return f"{refused} A benchmark loads the server."
    if view.bench is not None and not view.bench.over:
        return f"{wish_words(view.bench.wish)} is being measured: one benchmark at a time."
    if view.restart is not None and not view.restart.over:
        return f"{view.restart.name} is being started: measure what runs when it is ready."
    server = view.server
    if server is None or not server.alive:
        return "No server runs here that could be measured."
    if not came_up(server):
        return "The server is not ready yet."
    return ""


def bench_question(wish: Wish, view: View, prompts: int = _OF_A_SET) -> Question:
    """Before a server in use is loaded."""
    return Question(
        title=f"measure {subject(view).name or 'the server'} on {view.target or 'this host'}?",
        lines=(f"{wish_words(wish)}: {plan_words(wish, prompts)}.", load_words(view)),
        yes="Measure",
        name=view.permission().name,
    )


def cancel_question(moment: Moment) -> Question:
    """Before a benchmark is cancelled."""
    return Question(
        title="cancel the benchmark?",
        lines=(
            f"Now: {under_words(moment)}.",
            "What was measured is kept, and the run is called partial.",
        ),
        yes="Cancel it",
    )


def leave_question(moment: Moment) -> Question:
    """Before eagletui is left while a benchmark goes on."""
    return Question(
        title="leave during the benchmark?",
        lines=(
            f"Now: {under_words(moment)}.",
            "It ends with eagletui. What was measured is kept, and the run is called partial.",
        ),
        yes="Leave",
    )


# --- where it stands ------------------------------------------------------------------------------


def wish_words(wish: Wish) -> str:
    """`chat, c=1,8, 256 tokens, 3 repeats`."""
    numbers = ",".join(map(str, wish.concurrencies))
    if len(wish.concurrencies) > _MOST_NUMBERS:
        first = ",".join(map(str, wish.concurrencies[: _MOST_NUMBERS - 2]))
        numbers = f"{first},…,{wish.concurrencies[-1]} ({len(wish.concurrencies)} in all)"
    parts = [wish.prompts.rsplit("/", 1)[-1], f"c={numbers}", f"{wish.output_tokens} tokens"]
    parts.append(words.count(wish.repeats, "repeat"))
    if wish.temperature:
        parts.append(f"temperature {wish.temperature:g}")
    return ", ".join(parts)


def under_words(moment: Moment) -> str:
    """`cell 3/6, c=8, repeat 1/3, 12/32 requests`."""
    under = moment.under
    if under is None:
        return "it has not begun" if not moment.over else "it is over"
    step = "warm-up" if under.warming else f"repeat {under.repeat + 1}/{moment.wish.repeats}"
    return (
        f"cell {under.number}/{moment.cells}, c={under.concurrency}, {step}, "
        f"{under.done}/{under.requests} requests"
    )


def moment_lines(moment: Moment, view: View, width: int) -> list[Content]:
    """A benchmark from the top: how far it is, its cells, what must be known of them."""
    lines = [*_head(moment, view, width), Content("")]
    lines += cell_lines(moment, width)
    for cell in moment.measured:
        lines += _doubts(cell, width)
    lines += [
        line((part, "$quiet")) for text in moment.said for part in _indented(text, "· ", width)
    ]
    return lines


def _head(moment: Moment, view: View, width: int) -> Iterator[Content]:
    clock = words.clock((moment.at if moment.over else view.now) - moment.began)
    if moment.problem:
        for part in wrap(f"✖ {moment.problem}", width):
            yield line((part, "bold $error"))
        for part in _indented(moment.advice, "  → ", width):
            yield line(part)
        return
    if moment.over:
        glyph, style, text = "▲", "bold $warning", f"ended early in {clock}"
        if not moment.partial:
            glyph, style, text = "✔", "bold $success", f"measured in {clock}"
        elif moment.cancelling:
            kept = "what was measured is kept" if moment.measured else "nothing was measured"
            text = f"cancelled after {clock}; {kept}"
        head = f"{text} · {moment.subject.name} · {wish_words(moment.wish)}"
        for index, part in enumerate(wrap(head, width - 2)):
            yield line((f"{glyph} ", style) if not index else "  ", (part, "bold"))
        if moment.run:
            key = first_key("runs.open", view.settings.keys)
            yield line("  ", (key, "bold $accent"), (" compares it with other runs", "$quiet"))
        return
    under = moment.under
    if moment.cancelling:
        yield line(("■ ", "bold $warning"), ("ending; what was measured is kept", "bold"))
    elif under is None:
        yield line(("▶ ", "bold $primary"), ("looking at the server", "bold"), f" {clock}")
        return
    if under is not None:
        left = f"about {about(under.remaining)} left" if under.remaining is not None else ""
        fields = [
            Field(0, f"cell {under.number}/{moment.cells}", "bold"),
            Field(3, clock, "$quiet"),
            Field(1, left, "bold $accent"),
        ]
        share = _share(moment, under)
        size = max(10, min(40, width - 44))
        yield line(
            (bar(share, size, view.ascii_only), "$accent"), "  ", pack(fields, width - size - 2)
        )


def _share(moment: Moment, under: Under) -> float:
    within = 0.0 if under.warming or not under.requests else under.done / under.requests
    return (under.number - 1 + within) / max(1, moment.cells)


class _Column(NamedTuple):
    title: str
    width: int
    rank: int
    """Columns of a higher rank go first where there is no room."""
    read: Callable[[CellLine], str]


def _pair(one: float | None, other: float | None) -> str:
    def text(value: float | None) -> str:
        return NOTHING if value is None else f"{value:.0f}" if value >= 100 else f"{value:.1f}"

    return NOTHING if one is None and other is None else f"{text(one)} / {text(other)}"


_COLUMNS = (
    _Column("tok/s", 8, 0, lambda c: words.number(c.tok_s, 1)),
    _Column("each", 7, 4, lambda c: words.number(c.tok_s_each, 1)),
    _Column("accept", 7, 1, lambda c: words.number(c.accept_length, 2)),
    _Column("TTFT p50/p99", 14, 2, lambda c: _pair(c.ttft_p50, c.ttft_p99)),
    _Column("TPOT p50/p99", 14, 3, lambda c: _pair(c.tpot_p50, c.tpot_p99)),
    _Column("verify", 8, 6, lambda c: words.number(c.verify_ms, 2)),
    _Column("step", 8, 5, lambda c: words.number(c.step_ms, 2)),
    _Column("J/tok", 7, 7, lambda c: words.number(c.joules, 2)),
    _Column("failed", 7, 8, lambda c: str(c.failed) if c.failed else ""),
)
_FIRST = 15
_LEAST_STATE = 14
_MOST_COMING = 30
"""Cells that are not measured yet, in a list that is drawn several times a second."""


def cell_lines(moment: Moment, width: int) -> Iterator[Content]:
    """One line a cell in the order in which they are measured; ms where nothing else is said."""
    columns = _fitting(width)
    titles = "".join(fit(column.title, column.width, "right") for column in columns)
    yield line((fit("", _FIRST) + titles, "$quiet"))
    found = {(cell.concurrency, cell.repeat): cell for cell in moment.measured}
    room = width - _FIRST - sum(column.width for column in columns)
    coming = 0
    for number, (concurrency, repeat) in enumerate(moment.wish.cells(), 1):
        cell = found.get((concurrency, repeat))
        name = fit(f"c={concurrency}", 8) + f"{repeat + 1}/{moment.wish.repeats}"
        if cell is not None:
            yield _measured(cell, name, columns, room)
            continue
        coming += 1
        if coming <= _MOST_COMING:
            yield _coming(moment, name, number, width)
    if coming > _MOST_COMING:
        yield line((f"  and {words.count(coming - _MOST_COMING, 'more cell')}", "$quiet"))


def _fitting(width: int) -> Sequence[_Column]:
    kept = list(_COLUMNS)
    while sum(c.width for c in kept) + _FIRST + _LEAST_STATE > width and len(kept) > 1:
        kept.remove(max(kept, key=lambda column: column.rank))
    return kept


def _measured(cell: CellLine, name: str, columns: Sequence[_Column], room: int) -> Content:
    word = cell.stopped or (f"{cell.doubt}?" if cell.doubt else "")
    glyph, style = ("▲", "bold $warning") if word or cell.warnings else ("✔", "$success")
    word = word or ("see below" if cell.warnings else "")
    return line(
        (f"{glyph} ", style),
        (fit(name, _FIRST - 2), ""),
        ("".join(fit(column.read(cell), column.width, "right") for column in columns), "bold"),
        (fit(f"  {word}", room).rstrip(), style),
    )


def _coming(moment: Moment, name: str, number: int, width: int) -> Content:
    under = moment.under
    if under is not None and under.number == number:
        speed = "" if under.warming else "starting"
        if under.tok_s is not None:
            speed = f"{words.rate(under.tok_s)} tok/s"
        doing = "warm-up " if under.warming else ""
        text = f"{doing}{under.done}/{under.requests} requests"
        return line(
            ("▶ ", "bold $primary"),
            (fit(name, _FIRST - 2), "bold"),
            pack([Field(0, text, "bold"), Field(1, speed, "bold $accent")], width - _FIRST),
        )
    passed = moment.over or (under is not None and number < under.number)
    glyph, text = ("–", "left out") if passed else ("○", "")
    return line((f"{glyph} {fit(name, _FIRST - 2)}{text}", "$quiet"))


def _doubts(cell: CellLine, width: int) -> Iterator[Content]:
    name = f"c={cell.concurrency} {cell.repeat + 1}: "
    if cell.why and cell.stopped != "cancelled":
        ended = "ended early" if cell.stopped else "in doubt"
        for part in _indented(f"{name}{ended}: {cell.why}", "▲ ", width):
            yield line((part, "bold $warning"))
    for text in cell.warnings:
        if text != cell.why:
            yield from (line(part) for part in _indented(name + text, "▲ ", width))


def _indented(text: str, mark: str, width: int) -> list[str]:
    if not text:
        return []
    first, *rest = wrap(text, width - len(mark))
    return [mark + first, *(" " * len(mark) + part for part in rest)]
