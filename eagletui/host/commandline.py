"""Which command lines are SGLang servers."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:t|d)?\Z")
_MODULES = {"sglang.launch_server", "sglang.srt.entrypoints.http_server"}
_COMMANDS = {"sglang", "sglang.cli.main"}
_WITH_VALUE = {"-X", "-W", "--check-hash-based-pycs"}


def is_server(argv: Sequence[str]) -> bool:
    """Whether a command line is a server itself, and not something that starts or watches one.

    `python [options] -m sglang.launch_server`, `python …/sglang/launch_server.py`,
    `python …/bin/sglang serve`, `sglang serve`.
    """
    if not argv:
        return False
    rest = list(argv[1:])
    if posixpath.basename(argv[0]) == "sglang":
        return rest[:1] == ["serve"]
    if not _PYTHON.match(posixpath.basename(argv[0])):
        return False
    while rest and rest[0].startswith("-") and not rest[0].startswith(("-m", "-c")):
        del rest[: 2 if rest[0] in _WITH_VALUE else 1]
    if not rest or rest[0].startswith("-c"):
        return False
    if rest[0].startswith("-m"):
        # `-m NAME` and `-mNAME` are the same.
        module, *arguments = ([rest[0][2:]] if len(rest[0]) > 2 else []) + rest[1:] or [""]
        return module in _MODULES or (module in _COMMANDS and arguments[:1] == ["serve"])
    script = rest[0]
    if posixpath.basename(script) == "sglang":
        return rest[1:2] == ["serve"]
    return script.endswith("sglang/launch_server.py")
