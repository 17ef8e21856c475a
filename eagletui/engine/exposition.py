"""The Prometheus text format, for scraping the same page again and again.

A server's page keeps its series from one scrape to the next and changes only the numbers. So the
first scrape is parsed in full and its *layout* is kept: what every line begins with, up to its
value. The next page is split into lines and every line is held against what it must begin with
(one C loop); when all agree, only the values of wanted series are read. Any other page (a line
more, less, moved or renamed) is parsed in full again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, NamedTuple

Labels = dict[str, str]

# A layout of a larger page is not kept: memory matters more there than time.
MAX_KEPT_BYTES = 8 << 20
MAX_KEPT_LINES = 200_000

_LINE = re.compile(
    rb"[ \t]*([a-zA-Z_:][a-zA-Z0-9_:]*)"
    rb'(?:(\{[^"}]*(?:"(?:[^"\\]|\\.)*"[^"}]*)*\})[ \t]*|[ \t]+)'
)
_LABEL = re.compile(rb'([a-zA-Z_][a-zA-Z0-9_.]*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_UNESCAPED = {"n": "\n", '"': '"', "\\": "\\"}
_NAN = float("nan")


class TooManySeries(ValueError):
    """The page has more wanted series than the reader was told to take."""


class Series(NamedTuple):
    """A name with its labels."""

    name: str
    labels: Labels


class Layout:
    """The lines of a page without their values.

    Attributes:
        series: wanted series in page order; a layout that is the same object as a page's before
            means that nothing derived from `series` has changed.
        samples: how many samples the page holds, wanted or not.
        malformed: lines that are neither sample, comment nor blank.
        prefixes: first word of each family's name (`sglang`, `vllm`), wanted or not.
    """

    __slots__ = (
        "_begins",
        "_cuts",
        "_exact",
        "_pick",
        "malformed",
        "prefixes",
        "samples",
        "series",
    )

    def __init__(
        self, lines: list[bytes], wanted: frozenset[bytes], most: int | None = None
    ) -> None:
        self.series: tuple[Series, ...]
        self.samples = 0
        self.malformed = 0
        self._begins: list[bytes] = []
        self._exact: list[tuple[int, bytes]] = []
        names: set[bytes] = set()
        series: list[Series] = []
        where: list[int] = []
        cuts: list[int] = []
        for index, line in enumerate(lines):
            sample = _LINE.match(line)
            if sample is None:
                self._other(index, line)
                continue
            self.samples += 1
            self._begins.append(sample[0])
            name = sample[1]
            names.add(name)
            if name in wanted:
                if len(series) == most:
                    raise TooManySeries
                series.append(Series(name.decode("ascii"), _labels(sample[2])))
                where.append(index)
                cuts.append(sample.end())
        self.series = tuple(series)
        self.prefixes = frozenset(
            re.split(r"[:_]", name.decode("ascii"), maxsplit=1)[0] for name in names
        )
        self._cuts = tuple(cuts)
        self._pick = _picker(where)

    def _other(self, index: int, line: bytes) -> None:
        text = line.lstrip()
        if text.startswith(b"#"):
            self._begins.append(line[: len(line) - len(text) + 1])
            return
        self.malformed += bool(text)
        self._begins.append(b"")
        self._exact.append((index, line))

    @property
    def lines(self) -> int:
        """Lines of the page, whatever they are."""
        return len(self._begins)

    def fits(self, lines: list[bytes]) -> bool:
        """Whether a full parse of these lines would give this very layout."""
        return (
            len(lines) == len(self._begins)
            and all(map(bytes.startswith, lines, self._begins))
            and all(lines[index] == line for index, line in self._exact)
        )

    def values(self, lines: list[bytes]) -> list[float]:
        """The wanted numbers of a page that fits, in the order of `series`."""
        picked = self._pick(lines)
        try:
            return [float(line[cut:]) for line, cut in zip(picked, self._cuts, strict=True)]
        except ValueError:
            return [_number(line[cut:]) for line, cut in zip(picked, self._cuts, strict=True)]


class Page(NamedTuple):
    """One scrape: `values[i]` belongs to `layout.series[i]`.

    Attributes:
        truncated: the last line had no end and was dropped, for its number may be cut.
    """

    layout: Layout
    values: list[float]
    truncated: bool


class PageReader:
    """Reads one server's page over and over; keeps the last layout and nothing else.

    Args:
        wanted: names of samples worth reading, `_bucket`, `_sum` and `_count` spelled out.
        most: wanted series of a page; more raise `TooManySeries`.
    """

    def __init__(self, wanted: Iterable[str], *, most: int | None = None) -> None:
        self._most = most
        self._wanted = frozenset(name.encode("ascii") for name in wanted)
        self._layout: Layout | None = None

    def looks_known(self, body: bytes) -> bool:
        """Whether the page has as many lines as the one before, whose layout was kept."""
        return self._layout is not None and body.count(b"\n") == self._layout.lines

    def read(self, body: bytes) -> Page:
        """The page's wanted numbers. Any bytes are accepted; garbage counts as malformed lines."""
        lines = body.split(b"\n")
        last = lines.pop()
        truncated = bool(last.strip())
        if last.strip() == b"# EOF":
            lines.append(last)
            truncated = False
        layout = self._layout
        if layout is None or not layout.fits(lines):
            layout = Layout(lines, self._wanted, self._most)
            keep = len(body) <= MAX_KEPT_BYTES and len(lines) <= MAX_KEPT_LINES
            self._layout = layout if keep else None
        return Page(layout, layout.values(lines), truncated)


def _picker(where: list[int]) -> Any:
    if not where:
        return lambda _: ()
    if len(where) == 1:
        only = where[0]
        return lambda lines: (lines[only],)
    return itemgetter(*where)


def _labels(text: bytes | None) -> Labels:
    if text is None:
        return {}
    return {
        name.decode("ascii"): _unescape(value.decode("utf-8", "replace"))
        for name, value in _LABEL.findall(text)
    }


def _unescape(value: str) -> str:
    if "\\" not in value:
        return value
    return _ESCAPED.sub(lambda m: _UNESCAPED.get(m[1], m[0]), value)


def _number(text: bytes) -> float:
    """A value that may be followed by a timestamp or an exemplar; NaN for what is no number."""
    words = text.split(None, 1)
    try:
        return float(words[0])
    except (IndexError, ValueError):
        return _NAN
