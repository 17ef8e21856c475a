"""The benchmark of this session: asked for, watched, cancelled. It goes on under every screen."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from functools import cached_property
from typing import TYPE_CHECKING

from textual import on

from eagletui.model.benchmarking import Benchmarker, Moment, Wish
from eagletui.tui.benching import bench_question, cancel_question, refusal, subject
from eagletui.tui.features.span import SpanActions
from eagletui.tui.messages import BenchMoved
from eagletui.tui.session import Toast

if TYPE_CHECKING:
    from eagletui.tui.prompt_files import PromptFiles


class BenchActions(SpanActions):
    """Actions around at most one benchmark.

    Attributes:
        benchmarker: who measures; None where nobody can.
        bench: where the benchmark stands, or how the last one ended.
    """

    benchmarker: Benchmarker | None
    bench: Moment | None

    @property
    def benching(self) -> Moment | None:
        """The benchmark that goes on; None where none does."""
        return self.bench if self.bench is not None and not self.bench.over else None

    @cached_property
    def prompt_files(self) -> PromptFiles:
        """Files of prompts that are looked at; one that hangs hangs for every form."""
        from eagletui.tui.prompt_files import PromptFiles

        return PromptFiles()

    def action_bench(self) -> None:
        """Measure what runs, or see how far that is, or what came of it on another screen."""
        from eagletui.tui.screens.bench import BenchScreen

        if self.benchmarker is None or isinstance(self.screen, BenchScreen):
            return
        last = self.bench.wish if self.bench is not None else Wish()
        self.push_screen(BenchScreen(last, choosing=self.bench is None))

    def ask_bench(self, wish: Wish, prompts: int, begun: Callable[[], object]) -> None:
        """Ask whether this is to be measured, and begin; `begun` hears that it was.

        Args:
            prompts: how many there are to choose from.
        """
        problem = refusal(self.view)
        if problem:
            self.notify(problem, title="Not measured", severity="warning", markup=False)
            return

        def begin() -> None:
            if self.benchmarker is None or self.benching is not None:
                return
            now = self.clock()
            chosen = subject(self.view)
            self.bench = Moment(wish=wish, subject=chosen, began=now, at=now)
            self.keep_interval()
            self.run_worker(self._watch_bench(self.benchmarker, self.bench), group="bench")
            begun()

        self.agreed(bench_question(wish, self.view, prompts), begin, no="Cancel")

    async def _watch_bench(self, benchmarker: Benchmarker, first: Moment) -> None:
        async with aclosing(benchmarker.begin(first.wish, first.subject)) as moments:
            async for moment in moments:
                self.post_message(BenchMoved(moment))

    @on(BenchMoved)
    def _bench_moved(self, message: BenchMoved) -> None:
        before, self.bench = self.bench, message.moment
        if message.moment.over and before is not None and not before.over:
            self.keep_interval()
            self.pop_up(_ended(message.moment))
            self.refresh_keys()
        self.draw_soon()

    def action_cancel_bench(self) -> None:
        """End it with what it has."""
        moment, benchmarker = self.benching, self.benchmarker
        if moment is not None and benchmarker is not None and not moment.cancelling:
            self.agreed(cancel_question(moment), benchmarker.cancel, no="Go on")


def _ended(moment: Moment) -> Toast:
    if moment.problem:
        return Toast("The benchmark ended", f"{moment.problem} {moment.advice}".strip(), "error")
    cells = f"{len(moment.measured)} of {moment.cells} cells are measured."
    if moment.partial and not moment.cancelling:
        why = next((cell.why for cell in reversed(moment.measured) if cell.why), "")
        return Toast("The benchmark ended early", f"{cells} {why}".strip(), "warning")
    return Toast("The benchmark is over", cells, "information")
