"""The form of a benchmark: what can be wished, in one table. Pure; no widget in here."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import replace
from rich.cells import cell_len
from textual.content import Content

from eagletui.bench.promptsets import SETS
from eagletui.model.benchmarking import MOST_CONCURRENT, Wish
from eagletui.model.numerals import decimal, whole, wholes
from eagletui.model.text import visible
from eagletui.tui.draw import Piece, fit, line

AUTO = "auto"


class Entry(NamedTuple):
    """One line of the form.

    Attributes:
        name: the field of `Wish`.
        choices: what the arrows go through.
        read: the value that a text means; raises ValueError with what is wrong.
        hint: what may be typed.
    """

    name: str
    title: str
    choices: tuple[str, ...]
    read: Callable[[str], Any]
    hint: str


def _prompts(text: str) -> str:
    if not text.strip():
        raise ValueError("Name a set or a file.")
    return text.strip()


def _list(text: str) -> tuple[int, ...]:
    return wholes(text, 1, MOST_CONCURRENT)


def _whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        with contextlib.suppress(ValueError):
            if least <= (number := whole(text.strip())) <= most:
                return number
        raise ValueError(f"A number from {least} to {most}.")

    return read


def _requests(text: str) -> int | None:
    return None if text.strip() == AUTO else _whole(1, 1 << 20)(text)


def _temperature(text: str) -> float:
    try:
        value = decimal(text.strip())
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 2.0:
        raise ValueError("A number from 0 to 2.")
    return value


# fmt: off
ENTRIES: tuple[Entry, ...] = (
    Entry("prompts", "prompts", SETS, _prompts, "chat, code, maths, summary, or a file's path"),
    Entry("concurrencies", "concurrency", ("1", "1,8", "1,8,32", "1,4,16,64"), _list, "requests at once, such as 1,8,32"),  # noqa: E501
    Entry("output_tokens", "output tokens", ("64", "128", "256", "512", "1024"), _whole(2, 1 << 20), "of each request, exactly"),  # noqa: E501
    Entry("repeats", "repeats", ("1", "3", "5"), _whole(1, 100), "of all cells, interleaved"),
    Entry("requests", "requests a cell", (AUTO, "4", "8", "16", "64"), _requests, "a number, or auto: as many as make a result"),  # noqa: E501
    Entry("temperature", "temperature", ("0", "0.6", "1"), _temperature, "0 to 2"),
)
# fmt: on


def text_of(entry: Entry, wish: Wish) -> str:
    """An entry's value as it may be typed."""
    value = getattr(wish, entry.name)
    if value is None:
        return AUTO
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def cycled(wish: Wish, entry: Entry, by: int) -> Wish:
    """The wish with the entry's next choice."""
    text = text_of(entry, wish)
    at = entry.choices.index(text) + by if text in entry.choices else 0
    return typed(wish, entry, entry.choices[at % len(entry.choices)])


def typed(wish: Wish, entry: Entry, text: str) -> Wish:
    """The wish with what was typed.

    Raises:
        ValueError: saying what is wrong.
    """
    return replace(wish, **{entry.name: entry.read(text)})


def complaint(entry: Entry, text: str) -> str:
    """What is wrong with a text, "" where it is good."""
    try:
        entry.read(text)
    except ValueError as error:
        return str(error)
    return ""


def entry_line(entry: Entry, wish: Wish, width: int, *, chosen: bool, problem: str = "") -> Content:
    """One line of the form; the marked one shows that the arrows change it.

    Args:
        problem: what is wrong with its value; a long value makes room for it.
    """
    note, style = (f"✖ {problem}", "bold $error") if problem else (entry.hint, "$quiet")
    # One line whatever was typed: a second one would push the other entries out of the form.
    most = max(1, width - 18 - 4)
    if problem:
        most = max(most // 2, most - cell_len(note) - 3)
    value = fit(visible(text_of(entry, wish)), most).rstrip()
    left, right = ("‹", "›") if chosen else (" ", " ")
    pieces: list[Piece] = [
        (fit(entry.title, 18), "bold" if chosen else ""),
        (f"{left} ", "bold $accent"),
        (value, "bold"),
        (f" {right}", "bold $accent"),
    ]
    room = width - 18 - 4 - cell_len(value)
    if (chosen or problem) and room > 16:
        pieces.append((fit(f"   {note}", room).rstrip(), style))
    return line(*pieces)
