"""`Match exec` of an SSH configuration, where its command is not the one OpenSSH would run.

OpenSSH puts the host's name, user and port in place of `%h`, `%r`, `%p` and so on; asyncssh runs
the command as it stands. We do not put them in either: that would paste names into a shell.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_DEEPEST = 16  # files in files, as OpenSSH's client allows
_KEYWORD = re.compile(r"\s*(?P<keyword>match|include)(?:\s+|\s*=\s*)(?P<rest>.*)", re.IGNORECASE)
_EXEC = re.compile(r"(?:^|\s)!?exec(?:\s+|\s*=\s*)(?:\"(?P<quoted>[^\"]*)|(?P<bare>\S+))", re.I)
_WORD = re.compile(r"\"([^\"]*)\"|(\S+)")


def unexpanded(files: Sequence[str]) -> tuple[str, ...]:
    """`FILE, line N` of each `Match exec` whose command has a `%` that OpenSSH would replace.

    Files that cannot be read are passed over: reading them in earnest tells why.
    """
    return tuple(dict.fromkeys(place for file in files for place in _of_file(file, 0)))


def _of_file(file: str, depth: int) -> Iterator[str]:
    try:
        lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for number, line in enumerate(lines, 1):
        found = _KEYWORD.match(line)
        if found is None:
            continue
        if found["keyword"].lower() == "include":
            if depth < _DEEPEST:
                for name in _included(found["rest"], file):
                    yield from _of_file(name, depth + 1)
        elif any("%" in (m["quoted"] or m["bare"] or "") for m in _EXEC.finditer(found["rest"])):
            yield f"{file}, line {number}"


def _included(rest: str, file: str) -> Iterator[str]:
    """Names are as seen from `~/.ssh`, or from `/etc/ssh` in the system's file."""
    base = Path("/etc/ssh") if file.startswith("/etc/ssh/") else Path("~/.ssh").expanduser()
    for quoted, bare in _WORD.findall(rest):
        yield from sorted(glob.glob(str(base / Path(quoted or bare).expanduser())))
