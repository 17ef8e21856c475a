"""The GPUs' panel: whose they are is said in words."""

from __future__ import annotations

from textual.geometry import Size

from eagletui.model import events as ev
from eagletui.model.history import History
from eagletui.model.state import State, fold_all
from eagletui.tui.config import Settings
from eagletui.tui.help_text import help_page, legend_page
from eagletui.tui.view import View
from eagletui.tui.widgets.gpus import Gpus, marked, whose
from tests.tui.scenes import NOW, connected, found, gpus


def view(*mine: int, read: bool = True) -> View:
    events: list[ev.Event] = [*connected(), *found(gpus=mine)]
    if read:
        events.append(gpus(NOW))
    return View(fold_all(State(), events), History(), {}, NOW, Settings())


def test_a_mark_is_explained_beside_it() -> None:
    some = view(2, 3)
    assert whose(some) == "* used by this server"
    text = Gpus().draw(some, Size(44, 12)).plain
    assert [line[:2] for line in text.splitlines()[1:9]] == [
        *("2*", "3*", "0 ", "1 ", "4 ", "5 ", "6 ", "7 ")
    ]
    short = Gpus().draw(some, Size(78, 5)).plain.splitlines()
    assert short[-1] == "+ 4 more: 5   * used by this server"


def test_there_is_no_mark_where_it_would_be_on_every_line() -> None:
    every = view(*range(8))
    assert whose(every) == "all 8 used by this server"
    assert marked(every) == set()
    assert "*" not in Gpus().draw(every, Size(44, 12)).plain


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert whose(view()) is None
    assert whose(view(0, read=False)) is None
    assert "*" not in Gpus().draw(view(), Size(44, 12)).plain


def test_help_and_legend_explain_the_mark() -> None:
    for width in (56, 100):
        text = " ".join(help_page("main", {}, frozenset(), width).plain.split())
        assert "0* (a GPU) This server uses it" in text
    assert "A * marks the GPUs that this server uses" in " ".join(legend_page(100).plain.split())
