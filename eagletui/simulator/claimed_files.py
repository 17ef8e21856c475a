"""Runs inside a simulated host's Python: the models that its servers name lie in the host's folder.

`/models/…` is a path of this machine, where nothing may be written. What looks there finds
`FOLDER/files/models/…`. Imports nothing of ours: it is copied beside the stand-in's sglang.
"""

from __future__ import annotations

import builtins
import functools
import os
from collections.abc import Callable
from typing import Any

FOLDER = "EAGLETUI_SIMULATOR"
CLAIMED = "/models/"


def mapped(path: Any, root: str) -> Any:
    """Where a path of the simulated host really lies."""
    if isinstance(path, str) and (path + "/").startswith(CLAIMED):
        return f"{root}/files{path}"
    return path


def through(function: Callable[..., Any], root: str) -> Callable[..., Any]:
    """The same function for paths of the simulated host."""

    @functools.wraps(function)
    def asked(path: Any, *more: Any, **named: Any) -> Any:
        return function(mapped(path, root), *more, **named)

    return asked


def install(root: str) -> None:
    """Let this interpreter find them."""
    for name in ("stat", "access", "listdir"):
        setattr(os, name, through(getattr(os, name), root))
    builtins.open = through(builtins.open, root)


if os.environ.get(FOLDER):
    install(os.environ[FOLDER])
