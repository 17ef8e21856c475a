"""Runs first on the host: makes the modules that came along importable, then serves requests.

Standard input begins with `{"sources": {name: text}, "main": name}`, as many bytes long as the
first argument says; what follows is `main`'s own. A module is compiled when it is imported, so
that what no request needs costs nothing.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


class Sent:
    """Finds modules in a table of texts."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:  # noqa: ARG002
        """The spec of a module that came along."""
        if name not in self._sources:
            return None
        package = any(other.startswith(name + ".") for other in self._sources)
        # The class by way of a spec that is there: importing importlib takes longer than all this.
        made: Any = type(sys.__spec__)
        return made(name, self, origin=f"<{name}>", is_package=package)

    def create_module(self, spec: Any) -> None:
        """Python's own will do."""

    def exec_module(self, module: Any) -> None:
        """Run its text."""
        name = module.__name__
        exec(compile(self._sources[name], f"<{name}>", "exec"), module.__dict__)


def received(size: int) -> bytes:
    """So many bytes of standard input and not one more: a request may follow at once."""
    parts = []
    while size:
        part = os.read(0, size)
        if not part:
            sys.exit("the modules broke off")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


if __name__ == "__main__":
    sent = json.loads(received(int(sys.argv[1])))
    sys.meta_path.insert(0, Sent(sent["sources"]))
    __import__(sent["main"])
    sys.modules[sent["main"]].serve()
