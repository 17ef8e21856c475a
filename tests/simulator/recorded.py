"""Recordings of real servers, and templates turned into what recognises their lines."""

from __future__ import annotations

import lzma
import re
import string
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "recordings" / "simulator"
RECORD = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?: (TP\d+))?\] (.*)")
_NUMBER = r"-?(?:\d+(?:\.\d+)?|nan|inf)"


def text(name: str) -> str:
    """A recording as it is, carriage returns kept."""
    return lzma.decompress((FOLDER / f"{name}.xz").read_bytes()).decode()


def records(name: str) -> list[tuple[str, str, str]]:
    """(stamp, rank, message) of every log record."""
    found = []
    for chunk in re.split(r"[\r\n]", text(name)):
        match = RECORD.fullmatch(chunk)
        if match is not None:
            found.append((match[1], match[2] or "", match[3]))
    return found


def pattern(template: str) -> re.Pattern[str]:
    """A regular expression for what a `str.format` template writes."""
    parts, seen = [], set()
    for literal, field, spec, _ in string.Formatter().parse(template):
        parts.append(re.escape(literal))
        if field is None:
            continue
        kind = _NUMBER if spec else r".*?"
        parts.append(f"(?P={field})" if field in seen else f"(?P<{field}>{kind})")
        seen.add(field)
    return re.compile("".join(parts))


def values(match: re.Match[str]) -> dict[str, Any]:
    """Parsed values, numbers as numbers where the template formats them."""
    parsed: dict[str, Any] = {}
    for name, value in match.groupdict().items():
        if value is None:
            continue
        parsed[name] = float(value) if re.fullmatch(_NUMBER, value) and "." in value else value
        if value in ("nan", "inf"):
            parsed[name] = float(value)
    return parsed
