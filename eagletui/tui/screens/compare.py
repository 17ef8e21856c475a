"""Runs side by side: the verdicts first, then what explains them."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping

from textual import on
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from eagletui.model.compare import Comparison
from eagletui.model.errors import EagletuiError
from eagletui.model.keeping import OVERLAID, KeptSession, ReportForm, RunShelf
from eagletui.model.series import Window
from eagletui.model.text import visible
from eagletui.store.reports.sheets import name_of
from eagletui.tui import words
from eagletui.tui.bindings import bindings_for
from eagletui.tui.comparing import curve, curved, lines, named_runs, overlaid, session_lines
from eagletui.tui.draw import line, page, wrap
from eagletui.tui.keeping import session_name
from eagletui.tui.screens.base import EagleScreen
from eagletui.tui.screens.prompt import Prompt
from eagletui.tui.view import View
from eagletui.tui.widgets.chart_overlay import Overlay
from eagletui.tui.widgets.chart_steps import StepCurve

READ_FOR = 15.0
"""Seconds that a path stays on the screen, to be read and copied."""


class Compared(Message):
    """Runs side by side."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__()
        self.comparison = comparison


class Done(Message):
    """Something was written; `text` says where."""

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self.title, self.text = title, text


class NotCompared(Message):
    """The database did not say, or a file could not be written."""

    def __init__(self, error: EagletuiError) -> None:
        super().__init__()
        self.error = error


class SeriesRead(Message):
    """How the runs went, where that was kept."""

    def __init__(self, series: Mapping[str, Mapping[str, Window]]) -> None:
        super().__init__()
        self.series = series


# Series that are drawn over each other → title, unit.
TITLES = {
    "tok_s": ("tok/s over time", "tok/s"),
    "accept_length": ("accept length over time", ""),
}


class CompareScreen(EagleScreen):
    """One page that scrolls.

    Args:
        runs: their ids.
        baseline: the id of the one to measure against; None lets the runs choose.
        name: of a saved comparison, "" for none.
        sessions: servers that were watched, drawn beside the runs; without any run, alone.
    """

    KIND = "compare"
    BINDINGS = bindings_for("compare")

    def __init__(
        self,
        shelf: RunShelf,
        runs: tuple[str, ...],
        baseline: str | None,
        name: str = "",
        sessions: tuple[KeptSession, ...] = (),
    ) -> None:
        super().__init__(id="comparing")
        self._shelf, self._runs, self._baseline, self._saved_as = shelf, runs, baseline, name
        self._sessions = sessions
        self._comparison: Comparison | None = None
        self._problem: EagletuiError | None = None
        self._series: Mapping[str, Mapping[str, Window]] = {}
        self._made_of: object = None

    def body(self) -> Iterator[Widget]:
        with VerticalScroll(id="compared", classes="panel"):
            yield Static(id="figures")
            marker = self.eagle.settings.marker
            yield StepCurve(id="curve", marker=marker)
            for name in OVERLAID:
                title, unit = TITLES[name]
                yield Overlay(title, unit, id=f"over-{name}", marker=marker)

    def on_mount(self) -> None:
        """Read the runs."""
        super().on_mount()
        self.query_one("#compared").focus()
        self._show_curves()
        self._read()

    def _read(self) -> None:
        self.run_worker(self._compare(), group="compare", exclusive=True)

    # --- workers: they only post messages -----------------------------------------------------

    async def _compare(self) -> None:
        try:
            if self._runs:
                found = await self._shelf.compare(self._runs, self._baseline)
                self.post_message(Compared(found))
            if not self._series:  # another baseline changes nothing in them
                watched = [session.id for session in self._sessions]
                self.post_message(SeriesRead(await self._shelf.series(self._runs, watched)))
        except EagletuiError as error:
            self.post_message(NotCompared(error))

    async def _write(self, work: Awaitable[str | None], title: str, text: str = "") -> None:
        try:
            done = await work
        except EagletuiError as error:
            self.app.call_later(self.eagle.complain, error, "Not written")
        else:
            self.post_message(Done(title, done or text))

    # --- what they say ------------------------------------------------------------------------

    @on(Compared)
    def _take(self, message: Compared) -> None:
        self._comparison, self._problem = message.comparison, None
        self._baseline = message.comparison.baseline
        self._show_curves()
        self.eagle.refresh_keys()

    @on(SeriesRead)
    def _take_series(self, message: SeriesRead) -> None:
        self._series = message.series
        self._show_curves()
        self.refresh_view()

    @on(NotCompared)
    def _not_compared(self, message: NotCompared) -> None:
        self._problem = message.error
        self._show_curves()
        self.refresh_view()

    @on(Done)
    def _done(self, message: Done) -> None:
        self.notify(visible(message.text), title=message.title, timeout=READ_FOR, markup=False)

    @property
    def own_facts(self) -> frozenset[str]:
        """Whether there is something to write."""
        several = self._comparison is not None and len(self._comparison.sides) > 1
        return super().own_facts | frozenset({"compared"} if several else ())

    # --- drawing ------------------------------------------------------------------------------

    def show(self, view: View) -> None:
        """The page, where it changed."""
        super().show(view)
        scroll = self.query_one("#compared")
        width = max(30, scroll.scrollable_content_region.width or self.size.width - 4)
        title = self._title()
        if scroll.border_title != title:
            scroll.border_title = title
        made_of = self._comparison, self._problem, width, view.ascii_only
        if made_of != self._made_of:
            self._made_of = made_of
            text = self.query_one("#figures", Static)
            text.update(page(self._lines(view, width)))
            self.call_after_refresh(text.refresh, layout=True)

    def _title(self) -> str:
        watched = words.count(len(self._sessions), "session")
        if self._comparison is None:
            return "comparison" if self._runs else watched
        base = next(s for s in self._comparison.sides if s.run.id == self._comparison.baseline)
        beside = f", {watched} beside" if self._sessions else ""
        if len(self._comparison.sides) == 1:
            return f"{visible(name_of(base))}{beside}"
        name = f"{visible(self._saved_as)}: " if self._saved_as else ""
        count = len(self._comparison.sides)
        return f"{name}{count} runs against {visible(name_of(base))}{beside}"

    def _lines(self, view: View, width: int) -> list[Content]:
        if self._problem is not None:
            error = self._problem
            texts = ((f"✖ {error.what}", "bold $error"), (error.meaning, ""), (error.advice, ""))
            return [
                line((part, style))
                for text, style in texts
                if text
                for part in wrap(visible(text), width)
            ]
        beside = list(session_lines(self._sessions, width)) if self._sessions else []
        if self._comparison is None:
            return beside if not self._runs else [line(("… reading the runs", "$quiet"))]
        found = lines(self._comparison, width, ascii_only=view.ascii_only)
        if beside:
            found += [Content(""), *beside]
        at = curved(self._comparison)
        if at is not None:
            title = f"tok/s by draft steps (k), concurrency {at}"
            found += [Content(""), line((title, "bold $accent"))]
        return found

    def _show_curves(self) -> None:
        """Once what is compared, or how it went, is known: nothing of it changes with the view."""
        found = self._comparison if self._problem is None else None
        at = curved(found) if found is not None else None
        steps = self.query_one(StepCurve)
        steps.set_class(at is None, "-off")
        if found is not None and at is not None:
            steps.show(curve(found, at))
        named = [(session.id, session_name(session)) for session in self._sessions]
        named = [*(named_runs(found) if found is not None else ()), *named]
        for name in OVERLAID:
            curves = overlaid(named, self._series, name) if self._problem is None else ()
            widget = self.query_one(f"#over-{name}", Overlay)
            widget.set_class(not curves, "-off")
            widget.show(curves)

    # --- actions ------------------------------------------------------------------------------

    def action_baseline(self) -> None:
        """Measure against the next of the runs."""
        if self._comparison is not None:
            ids = [side.run.id for side in self._comparison.sides]
            self._baseline = ids[(ids.index(self._comparison.baseline) + 1) % len(ids)]
            self._read()

    def action_save(self) -> None:
        """Keep this comparison under a name."""
        found = self._comparison
        if found is None:
            return
        runs = tuple(side.run.id for side in found.sides)

        def answered(text: str | None) -> None:
            if text is not None and text.strip():
                self._saved_as = text.strip()
                work = self._shelf.save(self._saved_as, runs, found.baseline)
                self.run_worker(self._write(work, "Comparison kept", self._saved_as))
                self.refresh_view()

        self.app.push_screen(
            Prompt(
                "keep this comparison as",
                "name",
                self._saved_as,
                lambda text: "" if text.strip() else "Give it a name.",
            ),
            answered,
        )

    def action_report(self, form: ReportForm) -> None:
        """Write a report into the folder that eagletui was started in."""
        if self._comparison is not None:
            work = self._shelf.report(self._comparison, form)
            self.run_worker(self._write(work, "Report written"))
