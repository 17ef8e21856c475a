"""The live screen: the ladder while a server loads, the charts while it serves."""

from __future__ import annotations

from collections.abc import Iterator

from textual import on
from textual.containers import Container
from textual.events import Click
from textual.widget import Widget

from eagletui.model.state import ServerState
from eagletui.tui.bindings import bindings_for
from eagletui.tui.screens.base import EagleScreen
from eagletui.tui.situation import came_up
from eagletui.tui.view import View
from eagletui.tui.widgets.chart import Chart
from eagletui.tui.widgets.charts import (
    ACCEPT,
    SPEED,
    VERIFY,
    ChartClock,
    ChartSpec,
    lines_of,
    markers_of,
    note_of,
    specs,
    title_of,
)
from eagletui.tui.widgets.gpus import Gpus
from eagletui.tui.widgets.ladder import Ladder
from eagletui.tui.widgets.log_holder import LogHolder
from eagletui.tui.widgets.log_view import LogView
from eagletui.tui.widgets.numbers import Numbers, is_stale
from eagletui.tui.widgets.panel import SUPERSCRIPTS
from eagletui.tui.widgets.verdicts import Verdicts

# Digit → id of the panel it focuses.
PANELS = {
    1: "chart-accept",
    2: "chart-verify",
    3: "chart-speed",
    4: "numbers",
    5: "gpus",
    6: "tail",
}
CHARTS = (1, 2, 3)
# Rows of screen below which the log has one line.
TIGHT = 24


def border_title(number: int, spec: ChartSpec, server: ServerState, width: int) -> str:
    """Digit and title, short where the long one would be cut; the chart itself says the value."""
    title = title_of(spec, server)
    title = title if len(title) + 9 <= width else spec.short
    return f"{SUPERSCRIPTS[number]} {title}"


class MainScreen(EagleScreen):
    """One server, everything that matters at a glance."""

    KIND = "main"
    BINDINGS = bindings_for("main")

    def __init__(self) -> None:
        super().__init__()
        self._clock = ChartClock()
        self._startup = False
        self._filled: int | None = None

    def body(self) -> Iterator[Widget]:
        marker = self.eagle.settings.marker
        with Container(id="top"):
            with Container(id="charts"):
                for spec in (ACCEPT, VERIFY, SPEED):
                    chart = Chart(spec.title, spec.unit, id=f"chart-{spec.key}", marker=marker)
                    chart.can_focus = True
                    chart.add_class("panel")
                    yield chart
            yield Ladder("start-up", id="ladder")
            with Container(id="side"):
                yield Numbers("requests and latencies", number=4, id="numbers")
                yield Gpus("GPUs", number=5, id="gpus")
        yield LogHolder(id="tail")

    def on_mount(self) -> None:
        """One chart is the chosen one where only one fits."""
        super().on_mount()
        for number in PANELS:
            self._panel(number).add_class("panel")
        self._panel(1).add_class("-chosen")
        self._panel(6).border_title = f"{SUPERSCRIPTS[6]} log"
        for panel in self.query("Numbers, Gpus, Ladder"):
            panel.can_focus = True

    def show(self, view: View) -> None:
        """Panels at once; charts when they are due."""
        server = view.server
        if server is None:
            return
        self.set_class(self._shows_ladder(view, server), "-loading")
        super().show(view)
        # The log's end makes room for what must be said and for six rows of plot.
        self.set_class(self.query_one(Verdicts).lines > 1, "-warned")
        self.set_class(self.app.size.height < TIGHT, "-tight")
        self.query_one("#tail", LogHolder).show(view)
        self._show_charts(view, server)

    def _shows_ladder(self, view: View, server: ServerState) -> bool:
        if "charts" not in view.facts:
            return True
        return self._startup or (not came_up(server) and server.metrics.at is None)

    def _show_charts(self, view: View, server: ServerState) -> None:
        series = view.series
        if self.has_class("-loading") or series is None:
            return
        begin, end = view.span
        chosen = specs(server, series, begin)
        for number, spec in enumerate(chosen, 1):
            chart = self._chart(number)
            title = border_title(number, spec, server, chart.size.width)
            if chart.border_title != title:
                chart.border_title = title
        if not self._clock.due(view, self.eagle.monotonic()):
            return
        markers = markers_of(series, begin, end)
        for number, spec in enumerate(chosen, 1):
            self._chart(number).show(
                lines_of(spec, series, begin, end),
                begin=begin,
                end=end,
                markers=markers,
                now=view.now,
                note=note_of(spec, server),
                old=is_stale(view, server),
            )

    def _panel(self, number: int) -> Widget:
        return self.query_one(f"#{PANELS[number]}")

    def _chart(self, number: int) -> Chart:
        return self.query_one(f"#{PANELS[number]}", Chart)

    @property
    def own_facts(self) -> frozenset[str]:
        """Whether there is anything to go back from."""
        held = self.eagle.view.paused_at is not None
        filled = self._filled is not None
        facts = {
            "filled": filled,
            "startup": self._startup,
            "back": filled or self._startup or self.focused is not None or held,
        }
        return frozenset(fact for fact, holds in facts.items() if holds)

    @on(LogView.Found)
    def _searched(self, event: LogView.Found) -> None:
        if event.line is None:
            what = "error" if event.what == "error" else "match"
            self.notify(f"The log that is kept has no {what}.", timeout=2, markup=False)

    # --- panels ------------------------------------------------------------------------------

    @property
    def focused_panel(self) -> int | None:
        """The digit of the panel that has the focus."""
        node = self.focused
        while node is not None and node is not self:
            for number, name in PANELS.items():
                if node.id == name:
                    return number
            parent = node.parent
            node = parent if isinstance(parent, Widget) else None
        return None

    def action_panel(self, number: int) -> None:
        """Focus a panel; a second time lets it fill the screen (the log: opens it)."""
        if self.focused_panel == number:
            if number == 6:
                self.eagle.action_log()
            else:
                self.action_fill()
            return
        if self._filled is not None:
            self._fill(number)
        if number in CHARTS:
            for chart in CHARTS:
                self._panel(chart).set_class(chart == number, "-chosen")
        if number == 6:
            view = self.query_one("#tail", LogHolder).log_view
            if view is not None:
                view.focus()
        else:
            self._panel(number).focus()

    def action_fill(self) -> None:
        """Let the focused panel fill the screen, or shrink it again."""
        if self._filled is not None:
            self._fill(None)
        elif (number := self.focused_panel) is not None:
            self._fill(number)

    def action_back(self) -> None:
        """First shrink, then leave the start-up, then drop the focus, then the pause."""
        if self._filled is not None:
            self._fill(None)
        elif self._startup:
            self.action_startup()
        elif self.focused is not None:
            self.set_focus(None)
        elif self.eagle.view.paused_at is not None:
            self.eagle.pause(False)

    def _fill(self, number: int | None) -> None:
        self._filled = number
        chosen = self._panel(number) if number is not None else None
        keep = {chosen, *chosen.ancestors} if chosen is not None else set()
        for widget in self.query("#charts, #side, #tail, #ladder, #top, #charts > *, #side > *"):
            widget.set_class(chosen is not None and widget not in keep, "-off")
            widget.set_class(chosen is not None and widget in keep, "-filled")
        self.call_after_refresh(self.refresh_view)

    @on(Click)
    def _double(self, event: Click) -> None:
        if event.chain == 2 and self.focused_panel is not None:
            self.action_fill()

    # --- time --------------------------------------------------------------------------------

    def action_window(self, by: int, around: bool = False) -> None:
        """A shorter or longer span of time."""
        self.eagle.change_window(by, around)

    def action_pause(self) -> None:
        """Hold the charts still, or let them run; of a replay, hold the whole."""
        if self.eagle.replay is not None:
            self.eagle.action_replay_pause()
            return
        self.eagle.pause(self.eagle.view.paused_at is None)

    def action_scrub(self, by: int) -> None:
        """Move the held charts by a quarter window."""
        self.eagle.scrub(by)

    def action_interval(self, by: int) -> None:
        """Scrape more or less often."""
        self.eagle.change_interval(by)

    def action_startup(self) -> None:
        """The phases of the start-up instead of the charts, and back."""
        self._startup = not self._startup
        self.refresh_view()
        self.call_after_refresh(self.refresh_view)
