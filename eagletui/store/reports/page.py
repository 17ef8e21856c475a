"""A comparison as one HTML file: no script, nothing from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from eagletui.model.compare import Comparison
from eagletui.model.text import visible
from eagletui.store.reports.pictures import (
    line_pictures,
    speed_picture,
    step_picture,
    steps_picture,
)
from eagletui.store.reports.sheets import Sheet, names, sentences, sheets
from eagletui.store.reports.text import LEGEND
from eagletui.store.runs.buckets import Buckets

# Eight colours that keep apart for every eye (Okabe and Ito), then again.
COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a400", "#7f7f7f",
)  # fmt: skip

DRAWN = ("accept_length", "tok_s", "verify_ms", "step_ms")
"""The series worth drawing over each other."""

_STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --dim: #57606a; --line: #d0d7de; --back: #fff;
  --mark: #f6f8fa }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --dim: #9198a1; --line: #3d444d;
  --back: #0d1117; --mark: #151b23 } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--back);
  max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .7rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap }
th:first-child { text-align: left; font-weight: 500 }
thead th { background: var(--mark) }
svg { display: block; max-width: 100%; height: auto; margin: .5rem 0 }
svg text { font: 12px system-ui, sans-serif; fill: var(--text) }
svg .dim { fill: var(--dim) } svg .line { stroke: var(--line) } svg .mark { stroke: var(--text) }
"""


def page(comparison: Comparison, series: Mapping[str, Mapping[str, Buckets]] | None = None) -> str:
    """The whole file.

    Args:
        series: overviews by run id and name, drawn over each other from their beginnings.
    """
    return "\n".join(_lines(comparison, series or {})) + "\n"


def _lines(comparison: Comparison, series: Mapping[str, Mapping[str, Buckets]]) -> Iterator[str]:
    called = [visible(name) for name in names(comparison)]
    title = escape(f"eagletui: {', '.join(called[:4])}{', …' if len(called) > 4 else ''}")
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield (
        '<meta http-equiv="Content-Security-Policy"'
        " content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    )
    yield f"<title>{title}</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>{title}</h1>"
    whole = sheets(comparison)
    for sheet in whole[: len(whole) - len(comparison.concurrencies)]:
        yield from _table(sheet)
    if any(one.unlike for one in comparison.differences):
        yield f"<p>{escape(LEGEND)}</p>"
    for heading, picture in (
        ("tok/s, with 95 % intervals", speed_picture(comparison, called, COLOURS)),
        ("What a step is made of, ms", step_picture(comparison, called)),
        ("tok/s by number of draft steps", steps_picture(comparison, COLOURS)),
    ):
        if picture:
            yield f"<h2>{heading}</h2>"
            yield picture
    for heading, picture in line_pictures(comparison, series, called, COLOURS):
        yield f"<h2>{escape(visible(heading))}, from the beginning of each run</h2>"
        yield picture
    for sheet in whole[len(whole) - len(comparison.concurrencies) :]:
        yield from _table(sheet)
    lines = sentences(comparison)
    if lines:
        yield "<h2>In words</h2><ul>"
        for line in lines:
            yield f"<li>{escape(visible(line))}</li>"
        yield "</ul>"
    yield "</body></html>"


def _table(sheet: Sheet) -> Iterator[str]:
    yield f"<h2>{escape(sheet.title)}</h2>"
    yield '<div class="wide"><table><thead><tr>'
    yield "".join(f"<th>{escape(visible(text))}</th>" for text in sheet.header)
    yield "</tr></thead><tbody>"
    for label, *cells in sheet.rows:
        texts = "".join(f"<td>{escape(visible(text))}</td>" for text in cells)
        yield f"<tr><th>{escape(visible(label))}</th>{texts}</tr>"
    yield "</tbody></table></div>"
