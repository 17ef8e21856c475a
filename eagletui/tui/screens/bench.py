"""Measure what runs: what is asked, then the cells as they come."""

from __future__ import annotations

from collections.abc import Iterator

from textual import on
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from eagletui.model.benchmarking import Wish
from eagletui.model.text import visible
from eagletui.tui.bench_form import ENTRIES, complaint, cycled, entry_line, text_of, typed
from eagletui.tui.benching import load_words, moment_lines, plan_words, refusal
from eagletui.tui.bindings import bindings_for
from eagletui.tui.draw import line, page, wrap
from eagletui.tui.prompt_files import Looked, known
from eagletui.tui.screens.base import EagleScreen
from eagletui.tui.screens.prompt import Prompt
from eagletui.tui.view import View
from eagletui.tui.widgets.options import Options
from eagletui.tui.widgets.panel import Panel


class PromptsLooked(Message):
    """What became of what is named as prompts."""

    def __init__(self, looked: Looked) -> None:
        super().__init__()
        self.looked = looked


class Told(Panel):
    """What would be sent; once it goes on, how far it is."""

    asks: Wish | None = None
    """What is being chosen; None where a benchmark is shown."""
    looked: Looked | None = None
    """What is known of its prompts; None while they are looked at."""

    def draw(self, view: View, size: Size) -> Content:
        width = max(20, size.width)
        if self.asks is None and view.bench is not None:
            return page(moment_lines(view.bench, view, width))
        wish = self.asks or Wish()
        looked = self.looked
        if looked is None:
            texts = [(f"… looking at {visible(wish.prompts)}", "$quiet")]
        elif looked.prompts is None:
            texts = [(f"✖ {looked.said}", "bold $error")]
        else:
            texts = [(f"{plan_words(wish, looked.prompts)}.", "bold")]
        if load := load_words(view):
            texts.append((load, ""))
        if refused := refusal(view):
            texts.append((f"▲ {refused}", "bold $warning"))
        texts += [
            ("", ""),
            ("A warm-up before each concurrency is thrown away. A cell ends early, and says why,"
             " where outputs loop, others send requests, the KV cache is full, a GPU slows down or"
             " the server restarts. Each cell is kept as soon as it was measured.", "$quiet"),
        ]  # fmt: skip
        return page([line((part, style)) for text, style in texts for part in wrap(text, width)])


class BenchScreen(EagleScreen):
    """A form of few lines, and the benchmark that came of it."""

    KIND = "bench"
    BINDINGS = bindings_for("bench")

    def __init__(self, wish: Wish, *, choosing: bool) -> None:
        super().__init__(id="benching")
        self._wish = wish
        self._choosing = choosing
        self._looked: Looked | None = None
        self._starting = False
        """Whether it begins as soon as its prompts were looked at."""

    def body(self) -> Iterator[Widget]:
        form = Options(*(Option(entry.title) for entry in ENTRIES), id="wish", classes="panel")
        form.border_title = "what is asked"
        yield form
        with VerticalScroll(id="bench", classes="panel") as scroll:
            scroll.border_title = "benchmark"
            yield Told(id="told")

    def on_mount(self) -> None:
        """The form first, unless a benchmark goes on."""
        self._look()
        self._lay_out()
        super().on_mount()

    def _lay_out(self) -> None:
        form = self.query_one("#wish", Options)
        form.set_class(not self._choosing, "-off")
        if self._choosing:
            form.highlighted = form.highlighted or 0
            form.focus()
        else:
            self.query_one("#bench").focus()
        told = self.query_one(Told)
        told.asks, told.looked = self._wish if self._choosing else None, self._looked

    @property
    def own_facts(self) -> frozenset[str]:
        """Whether something is chosen, measured, or was."""
        moment = self.eagle.view.bench
        facts = {
            "choosing": self._choosing,
            "measured": not self._choosing and moment is not None and moment.over,
        }
        return super().own_facts | frozenset(fact for fact, holds in facts.items() if holds)

    def show(self, view: View) -> None:
        """The form's lines where they changed; the rest is the panel's."""
        super().show(view)
        form = self.query_one("#wish", Options)
        width = max(20, form.scrollable_content_region.width or self.size.width - 4)
        for index, entry in enumerate(ENTRIES):
            problem = self._looked.problem if entry.name == "prompts" and self._looked else ""
            chosen = index == form.highlighted
            drawn = entry_line(entry, self._wish, width, chosen=chosen, problem=problem)
            prompt = form.get_option_at_index(index).prompt
            if not isinstance(prompt, Content) or not prompt.is_same(drawn):
                form.replace_option_prompt_at_index(index, drawn)
        moment = view.bench
        title = "benchmark" if self._choosing or moment is None else moment.short
        scroll = self.query_one("#bench")
        if scroll.border_title != title:
            scroll.border_title = title

    @on(OptionList.OptionHighlighted, "#wish")
    def _moved(self) -> None:
        self.refresh_view()

    @on(OptionList.OptionSelected, "#wish")
    def _entered(self) -> None:
        self.action_start()

    def _take(self, wish: Wish) -> None:
        before = self._wish.prompts, self._wish.requests
        self._wish, self._starting = wish, False
        if (wish.prompts, wish.requests) != before:
            self._look()
        self._lay_out()
        self.refresh_view()

    # --- the prompts --------------------------------------------------------------------------

    def _look(self) -> None:
        """Look at what is named as prompts; a file was not looked at until a message says so."""
        self._looked = known(self._wish)
        if self._looked is None:
            self.run_worker(self._read_prompts(self._wish), group="prompts", exclusive=True)

    async def _read_prompts(self, wish: Wish) -> None:
        looked = await self.eagle.prompt_files.look(wish)
        self.post_message(PromptsLooked(looked))

    @on(PromptsLooked)
    def _prompts_looked(self, message: PromptsLooked) -> None:
        if not message.looked.of(self._wish):
            return
        self._looked = message.looked
        if self._choosing:
            self._lay_out()
        self.refresh_view()
        if self._starting and self.is_current:
            self._start()
        self._starting = False

    # --- actions ------------------------------------------------------------------------------

    def action_cycle(self, by: int) -> None:
        """Another choice for the marked line."""
        at = self.query_one("#wish", Options).highlighted
        if at is not None:
            self._take(cycled(self._wish, ENTRIES[at], by))

    def action_type(self) -> None:
        """Type a value for the marked line."""
        at = self.query_one("#wish", Options).highlighted
        if at is None:
            return
        entry = ENTRIES[at]

        def answered(text: str | None) -> None:
            if text is not None:
                self._take(typed(self._wish, entry, text))

        self.app.push_screen(
            Prompt(
                entry.title,
                entry.hint,
                text_of(entry, self._wish),
                lambda text: complaint(entry, text),
            ),
            answered,
        )

    def action_start(self) -> None:
        """Ask once, then measure; a file may have changed since it was looked at."""
        self._look()
        self._starting = True
        if self._looked is not None:
            self._start()

    def _start(self) -> None:
        looked, self._starting = self._looked, False
        if looked is not None and looked.prompts is not None:
            self.eagle.ask_bench(self._wish, looked.prompts, self._begun)
        elif looked is not None:
            self.notify(looked.said, title="Not measured", severity="warning", markup=False)

    def _begun(self) -> None:
        self._choosing = False
        self._lay_out()
        self.eagle.refresh_keys()

    def action_again(self) -> None:
        """The form again, as it was filled in."""
        self._choosing = True
        self._look()
        self._lay_out()
        self.eagle.refresh_keys()
