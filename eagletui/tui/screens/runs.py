"""What was measured and watched before: mark some, and put them side by side."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence

from textual import on
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from eagletui.model.errors import EagletuiError
from eagletui.model.keeping import Kept, KeptRun, KeptSession, RunShelf
from eagletui.model.text import visible
from eagletui.tui import words
from eagletui.tui.bindings import bindings_for
from eagletui.tui.draw import fit
from eagletui.tui.keeping import Entry, entries, run_words
from eagletui.tui.screens.base import EagleScreen
from eagletui.tui.screens.prompt import Prompt
from eagletui.tui.view import View
from eagletui.tui.widgets.options import Options

LOOK_EVERY = 5.0
"""Seconds after which it is asked again what there is: other programs keep runs too."""


class KeptRead(Message):
    """What there is."""

    def __init__(self, kept: Kept) -> None:
        super().__init__()
        self.kept = kept


class NotRead(Message):
    """The database did not say, or did not take it."""

    def __init__(self, error: EagletuiError) -> None:
        super().__init__()
        self.error = error


class RunsScreen(EagleScreen):
    """One list: runs, saved comparisons, servers that were watched."""

    KIND = "runs"
    BINDINGS = bindings_for("runs")

    def __init__(self, shelf: RunShelf) -> None:
        super().__init__(id="kept")
        self._shelf = shelf
        self._kept: Kept | None = None
        self._marked: list[str] = []
        self._baseline: str | None = None
        self._shown: list[Entry] = []
        self._made_of: object = None

    def body(self) -> Iterator[Widget]:
        runs = Options(id="runs", classes="panel")
        runs.border_title = "runs"
        runs.border_subtitle = "reading …"
        yield runs
        yield Static("", id="why", classes="-off")

    def on_mount(self) -> None:
        """Ask what there is."""
        super().on_mount()
        self.query_one("#runs").focus()
        self.read()
        self.set_interval(LOOK_EVERY, self._look_again)

    def on_screen_resume(self) -> None:
        """A run may have come while another screen was on top."""
        super().on_screen_resume()
        if self._kept is not None:
            self.read()

    def _look_again(self) -> None:
        if self.is_current and self._kept is not None:
            self.read()

    def read(self) -> None:
        """Ask again what there is."""
        self.run_worker(self._read(), group="kept", exclusive=True)

    # --- workers: they only post messages -----------------------------------------------------

    async def _read(self) -> None:
        try:
            self.post_message(KeptRead(await self._shelf.kept()))
        except EagletuiError as error:
            self.post_message(NotRead(error))

    async def _change(self, change: Awaitable[None]) -> None:
        try:
            await change
        except EagletuiError as error:
            # Not where the list says why it can't be read: that goes with the next reading.
            self.app.call_later(self.eagle.complain, error, "Not written")
        await self._read()

    # --- what they say ------------------------------------------------------------------------

    @on(KeptRead)
    def _take(self, message: KeptRead) -> None:
        self._kept = message.kept
        known = {run.id for run in message.kept.runs}
        known |= {session.id for session in message.kept.sessions}
        self._marked = [one for one in self._marked if one in known]
        if self._baseline not in known:
            self._baseline = None
        self._complain("")
        self.eagle.refresh_keys()

    @on(NotRead)
    def _not_read(self, message: NotRead) -> None:
        self._complain(visible(message.error.sentences))

    def _complain(self, text: str) -> None:
        why = self.query_one("#why", Static)
        why.update(Content(f"✖ {text}" if text else ""))
        why.set_class(not text, "-off")

    @property
    def own_facts(self) -> frozenset[str]:
        """What is marked, and what the cursor is on."""
        run = self._run()
        facts = {
            "run": run is not None,
            "sound": run is not None and not run.damaged,
            "markable": self._markable() != "",
            "openable": self._chosen() != "",
            "marked": bool(self._marked),
        }
        return super().own_facts | frozenset(fact for fact, holds in facts.items() if holds)

    # --- drawing ------------------------------------------------------------------------------

    def show(self, view: View) -> None:
        """Lines where they changed; the cursor keeps what it is on."""
        super().show(view)
        if self._kept is None:
            return
        runs = self.query_one("#runs", Options)
        width = max(20, (runs.scrollable_content_region.width or self.size.width - 4) - 1)
        run = self._run()
        subtitle = fit(run_words(run), max(1, width - 4)).rstrip() if run is not None else ""
        if runs.border_subtitle != subtitle:
            runs.border_subtitle = Content(subtitle)
        made_of = self._kept, width, tuple(self._marked), self._baseline
        if made_of == self._made_of:
            return
        self._made_of = made_of
        shown = list(entries(self._kept, width, self._marked, self._baseline))
        if [entry.id for entry in shown] != [entry.id for entry in self._shown]:
            chosen = self._chosen()
            runs.clear_options()
            runs.add_options(
                Option(entry.drawn, id=entry.id or None, disabled=not entry.id) for entry in shown
            )
            ids = [entry.id for entry in shown]
            first = next((index for index, name in enumerate(ids) if name), None)
            runs.highlighted = ids.index(chosen) if chosen in ids and chosen else first
        else:
            for index, (old, new) in enumerate(zip(self._shown, shown, strict=True)):
                if not old.drawn.is_same(new.drawn):
                    runs.replace_option_prompt_at_index(index, new.drawn)
        self._shown = shown
        title = words.count(len(self._kept.runs), "run")
        if self._marked:
            title += f", {len(self._marked)} marked"
        if runs.border_title != title:
            runs.border_title = title

    # --- the cursor ---------------------------------------------------------------------------

    def _chosen(self) -> str:
        """`run:ID`, `comparison:NUMBER` or `session:ID`; "" for nothing."""
        at = self.query_one("#runs", Options).highlighted
        return self._shown[at].id if at is not None and at < len(self._shown) else ""

    def _run(self) -> KeptRun | None:
        kind, _, name = self._chosen().partition(":")
        if kind != "run" or self._kept is None:
            return None
        return next((run for run in self._kept.runs if run.id == name), None)

    def _markable(self) -> str:
        """The id of the run or session that the cursor is on; "" where it can't be compared."""
        kind, _, name = self._chosen().partition(":")
        run = self._run()
        return name if kind == "session" or (run is not None and not run.damaged) else ""

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        self.eagle.refresh_keys()

    @on(OptionList.OptionSelected)
    def _entered(self) -> None:
        self.action_open()

    # --- actions ------------------------------------------------------------------------------

    def action_open(self) -> None:
        """Put what is marked side by side; without any, open what the cursor is on."""
        kind, _, name = self._chosen().partition(":")
        if self._kept is None:
            return
        if kind == "comparison":
            saved = self._kept.comparisons[int(name)]
            self._compare(saved.runs, saved.baseline, saved.name)
            return
        if not (here := self._markable()):
            return
        others = [one for one in self._marked if one != here]
        chosen = self._marked if len(self._marked) > 1 else [*others, here]
        sessions = tuple(one for one in self._kept.sessions if one.id in chosen)
        if kind == "session" and len(chosen) == 1:
            from eagletui.tui.screens.watched import WatchedScreen

            self.app.push_screen(WatchedScreen(self._shelf, sessions[0]))
            return
        watched = {one.id for one in sessions}
        runs = [one for one in chosen if one not in watched]
        self._compare(runs, self._baseline if others else None, sessions=sessions)

    def _compare(
        self,
        runs: Sequence[str],
        baseline: str | None,
        name: str = "",
        *,
        sessions: tuple[KeptSession, ...] = (),
    ) -> None:
        from eagletui.tui.screens.compare import CompareScreen

        chosen = baseline if baseline in runs else None
        self.app.push_screen(CompareScreen(self._shelf, tuple(runs), chosen, name, sessions))

    def action_mark(self) -> None:
        """Mark it, or take the mark away; the cursor stays, for Enter opens what it is on."""
        here = self._markable()
        if not here:
            return
        if here in self._marked:
            self._marked.remove(here)
            self._baseline = None if self._baseline == here else self._baseline
        else:
            self._marked.append(here)
        self.eagle.refresh_keys()

    def action_baseline(self) -> None:
        """Measure the others against this run; once more lets the runs choose."""
        run = self._run()
        if run is None or run.damaged:
            return
        self._baseline = None if self._baseline == run.id else run.id
        if self._baseline and run.id not in self._marked:
            self._marked.append(run.id)
        self.eagle.refresh_keys()

    def action_note(self) -> None:
        """Other notes for this run."""
        run = self._run()
        if run is not None:
            self._ask("notes of this run", run.notes, lambda text: self._annotate(run.id, text))

    def _annotate(self, run: str, text: str) -> Awaitable[None]:
        return self._shelf.annotate(run, notes=text)

    def action_tag(self) -> None:
        """Other tags for this run."""
        run = self._run()
        if run is not None:
            tagged = run.id
            self._ask(
                "tags of this run, with spaces between",
                " ".join(run.tags),
                lambda text: self._shelf.annotate(tagged, tags=text.replace("#", " ").split()),
            )

    def action_rename(self) -> None:
        """Another name for this run."""
        run = self._run()
        if run is not None:
            named = run.id
            self._ask(
                "name of this run",
                run.name,
                lambda text: self._shelf.annotate(named, name=text.strip()),
            )

    def _ask(self, title: str, value: str, change: Callable[[str], Awaitable[None]]) -> None:
        def answered(text: str | None) -> None:
            if text is not None:
                self.run_worker(self._change(change(text)), group="change")

        self.app.push_screen(Prompt(title, "", value), answered)
