"""A server as it was watched before: the three charts over all of that session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from textual import on
from textual.containers import Container
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from eagletui.model.errors import EagletuiError
from eagletui.model.keeping import KeptSession, RunShelf
from eagletui.model.series import Window
from eagletui.model.text import visible
from eagletui.tui import words
from eagletui.tui.bindings import bindings_for
from eagletui.tui.draw import line
from eagletui.tui.keeping import when
from eagletui.tui.screens.base import EagleScreen
from eagletui.tui.view import View
from eagletui.tui.widgets.chart import Chart, Line
from eagletui.tui.widgets.header import short_model

EMPTY = Window((), (), ())
# id, title, unit, and the series it draws: the first that there is.
CHARTS: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("was-accept", "accept length", "tokens/step", ("accept_length",)),
    ("was-step", "verify / step", "ms", ("verify_ms", "step_ms")),
    ("was-speed", "tok/s", "tok/s", ("tok_s",)),
)


class SeriesRead(Message):
    """What was kept of the session."""

    def __init__(self, series: Mapping[str, Window]) -> None:
        super().__init__()
        self.series = series


class NotRead(Message):
    """The database did not say."""

    def __init__(self, error: EagletuiError) -> None:
        super().__init__()
        self.error = error


class WatchedScreen(EagleScreen):
    """One session of before."""

    KIND = "watched"
    BINDINGS = bindings_for("watched")

    def __init__(self, shelf: RunShelf, session: KeptSession) -> None:
        super().__init__(id="watching")
        self._shelf, self._session = shelf, session
        self._series: Mapping[str, Window] | None = None
        self._problem = ""

    def body(self) -> Iterator[Widget]:
        yield Static("", id="was")
        with Container(id="were"):
            for name, title, unit, _ in CHARTS:
                chart = Chart(title, unit, id=name, marker=self.eagle.settings.marker)
                chart.add_class("panel")
                yield chart

    def on_mount(self) -> None:
        """Read the series."""
        super().on_mount()
        self.run_worker(self._read(), group="series", exclusive=True)

    async def _read(self) -> None:
        try:
            self.post_message(SeriesRead(await self._shelf.session(self._session.id)))
        except EagletuiError as error:
            self.post_message(NotRead(error))

    @on(SeriesRead)
    def _take(self, message: SeriesRead) -> None:
        self._series = message.series
        self.refresh_view()

    @on(NotRead)
    def _not_read(self, message: NotRead) -> None:
        self._problem = visible(message.error.sentences)
        self.refresh_view()

    def show(self, view: View) -> None:
        """What it was, and its charts."""
        super().show(view)
        self.query_one("#was", Static).update(self._words())
        series, session = self._series, self._session
        if series is None:
            return
        for name, _, _, wanted in CHARTS:
            known = next((one for one in wanted if one in series), wanted[-1])
            self.query_one(f"#{name}", Chart).show(
                [Line(known.removesuffix("_ms"), series.get(known, EMPTY), "main")],
                begin=session.began,
                end=max(session.ended, session.began + 1.0),
                now=view.now,
            )

    def _words(self) -> Content:
        session = self._session
        if self._problem:
            return line((f"✖ {self._problem}", "bold $error"))
        lasted = words.seconds(max(0.0, session.ended - session.began))
        return line(
            (f"{when(session.began)} for {lasted}", "bold"),
            f"  {session.host} {session.server}  {short_model(session.model)}"
            f"  {session.speculative}  SGLang {session.version or '?'}",
        ).truncate(max(1, self.size.width - 2), ellipsis=True)
