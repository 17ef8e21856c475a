"""Write down every flag and variable of the SGLang that runs this, as a module of ours.

    ~/.cache/sglang-lab/venv/bin/python tests/live/lab/dump_flags.py eagletui/engine/flags

It writes `listed_0_5_23.py` and `variables_0_5_23.py`, named after the release, into that folder.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import re
import sys
from collections.abc import Collection
from pathlib import Path

os.environ.setdefault("SGLANG_USE_CPU_ENGINE", "1")

KINDS = {
    "int": "int",
    "float": "float",
    "human_readable_int": "size",
    "loads": "json",
    "json_list_type": "json",
}
FLAGS = '''# ruff: noqa: E501
"""Every flag of SGLang {version}; `tests/live/lab/dump_flags.py` wrote it, do not edit.

A line a flag: its spellings | what it takes | how many words | its choices. `switch` takes nothing.
"""

from __future__ import annotations

LISTED = """\\
{lines}
"""
'''
VARIABLES = '''"""Every SGLANG_ variable of SGLang {version}, as `dump_flags.py` found them."""

from __future__ import annotations

VARIABLES = """\\
{lines}
"""
'''
_NAME = re.compile(r"\b(?:SGLANG|SGL)_[A-Z][A-Z0-9_]+[A-Z0-9]\b")


def _in_order(choices: Collection[object]) -> Collection[object]:
    return sorted(choices, key=str) if isinstance(choices, (set, frozenset)) else choices


def line(action: argparse.Action) -> str:
    """One flag's line."""
    switch = action.nargs == 0
    kind = "switch" if switch else KINDS.get(getattr(action.type, "__name__", ""), "text")
    nargs = "" if switch or action.nargs is None else str(action.nargs)
    choices = " ".join(map(str, _in_order(action.choices or ())))
    cells = [" ".join(action.option_strings), kind, nargs, choices]
    while not cells[-1]:
        cells.pop()
    return " | ".join(cells)


def main(folder: Path) -> None:
    """Write both modules."""
    import sglang
    from sglang.srt.server_args import ServerArgs

    version = importlib.metadata.version("sglang")
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    names = {
        name
        for path in Path(sglang.__file__).parent.rglob("*.py")
        for name in _NAME.findall(path.read_text("utf-8", "replace"))
    }
    suffix = version.replace(".", "_")
    for stem, template, lines in (
        ("listed", FLAGS, [line(action) for action in parser._actions]),
        ("variables", VARIABLES, sorted(names)),
    ):
        text = template.format(version=version, lines="\n".join(lines))
        (folder / f"{stem}_{suffix}.py").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
