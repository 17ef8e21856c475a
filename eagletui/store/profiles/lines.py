"""On which line of a TOML file a key stands; no TOML reader says."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Keys = tuple[str, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY = re.compile(r"""[ \t]*([A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*(\.?)""")
# What a value is made of, as far as it may hide a line end or a bracket.
_PIECE = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}|' + r"'''.*?'{3,5}" + r'|"(?:[^"\\\n]|\\.)*"' + r"|'[^'\n]*'"
    r"|\#[^\n]*|[\[{]|[\]}]|\n|[^\"'#\[{\]}\n]+",
    re.DOTALL,
)


def key_lines(text: str) -> dict[Keys, int]:
    """Line numbers, from 1, by the path of each table and key. `text` is valid TOML.

    Keys of inline tables are not told apart from the table.
    """
    return dict(reversed(list(_statements(text))))


def line_of(lines: dict[Keys, int], keys: Keys) -> int | None:
    """The line of a key, or of the nearest table around it."""
    for length in range(len(keys), 0, -1):
        if keys[:length] in lines:
            return lines[keys[:length]]
    return None


def _statements(text: str) -> Iterator[tuple[Keys, int]]:
    at, line = 0, 1
    table: Keys = ()
    while True:
        blank = _BLANK.match(text, at)
        assert blank is not None
        line += blank[0].count("\n")
        at = blank.end()
        if at >= len(text):
            return
        header = text.startswith("[", at)
        begin = at + (len(text[at : at + 2]) - len(text[at : at + 2].lstrip("[")) if header else 0)
        path, after = _path(text, begin)
        if header:
            table = path
        yield (path if header else (*table, *path)), line
        end = _end(text, after)
        if end <= at:
            return  # No TOML after all; rather no line than no end.
        line += text.count("\n", at, end)
        at = end


def _path(text: str, at: int) -> tuple[Keys, int]:
    keys: list[str] = []
    while match := _KEY.match(text, at):
        keys.append(_plain(match[1]))
        at = match.end()
        if not match[2]:
            break
    return tuple(keys), at


def _plain(key: str) -> str:
    if key[0] not in "\"'":
        return key
    try:
        return str(tomllib.loads(f"key = {key}")["key"])
    except tomllib.TOMLDecodeError:
        return key


def _end(text: str, at: int) -> int:
    """Where the statement ends that goes on here: at the line end outside every bracket."""
    depth = 0
    for piece in _PIECE.finditer(text, at):
        if piece[0] == "\n" and depth <= 0:
            return piece.end()
        depth += (piece[0] in ("[", "{")) - (piece[0] in ("]", "}"))
    return len(text)
