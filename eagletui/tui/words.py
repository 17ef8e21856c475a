"""Numbers as a person reads them. None is always `–`."""

from __future__ import annotations

from eagletui.tui.draw import NOTHING


def seconds(value: float | None) -> str:
    """`0.4 s`, `12 s`, `3 min 05 s`, `2 h 14 min`, `3 d 4 h`."""
    if value is None:
        return NOTHING
    if value < 0:
        return "0 s"
    if value < 9.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def ago(value: float) -> str:
    """How long ago, without seconds where they say nothing: `12 s ago`, `3 min ago`, `2 h ago`."""
    if value < 100:
        return f"{max(0, round(value))} s ago"
    if value < 100 * 60:
        return f"{round(value / 60)} min ago"
    if value < 48 * 3600:
        return f"{round(value / 3600)} h ago"
    return f"{round(value / 86400)} d ago"


def clock(value: float | None) -> str:
    """A duration in a narrow column: `0:42`, `12:05`, `1:02:05`."""
    if value is None:
        return NOTHING
    whole = max(0, round(value))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{left:02d}" if hours else f"{minutes}:{left:02d}"


def beginning(text: str) -> str:
    """Text as the beginning of a sentence: `Target weights`, `KV cache`."""
    return f"KV{text[2:]}" if text.startswith("kv ") else text[:1].upper() + text[1:]


def milliseconds(value: float | None) -> str:
    """`0.37 ms`, `5.35 ms`, `27.4 ms`, `812 ms`, `4.1 s`."""
    if value is None:
        return NOTHING
    if value < 10:
        return f"{value:.2f} ms"
    if value < 100:
        return f"{value:.1f} ms"
    if value < 9_995:
        return f"{value:.0f} ms"
    return f"{value / 1000:.1f} s"


def number(value: float | None, digits: int = 0) -> str:
    """`1,722` or, with digits, `2.17`."""
    return NOTHING if value is None else f"{value:,.{digits}f}"


def rate(value: float | None) -> str:
    """Tokens per second: `9.4`, `344`, `1,722`."""
    if value is None:
        return NOTHING
    return f"{value:.1f}" if 0 < value < 10 else f"{value:,.0f}"


def percent(fraction: float | None) -> str:
    """`0.424` is `42 %`."""
    return NOTHING if fraction is None else f"{fraction * 100:.0f} %"


def gib(mib: float | None) -> str:
    """MiB as GiB: `139.1`."""
    return NOTHING if mib is None else f"{mib / 1024:.1f}"


def interval(value: float) -> str:
    """`0.2 s`, `1 s`."""
    return f"{value:g} s"


def count(value: int, one: str, many: str = "") -> str:
    """`1 request`, `4 requests`."""
    return f"{value:,} {one if value == 1 else many or one + 's'}"
