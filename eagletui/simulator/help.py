"""What a simulated SGLang answers to `--help`: every option that is known of its release."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec

from eagletui.engine.flags.known import Known, flags_of
from eagletui.engine.flags.table import HIDDEN
from eagletui.engine.releases import Version
from eagletui.simulator.flags import Flags

_HELP = "--help"


def help_text(release: str) -> str:
    """The help of this release, in the form of argparse, which SGLang's own has."""
    parser = argparse.ArgumentParser(prog="launch_server.py")
    for flag in dict.fromkeys(flags_of(Version(release)).by_name.values()):
        if _HELP not in flag.names and HIDDEN.isdisjoint(flag.names):
            parser.add_argument(*flag.names, **_about(flag))
    return parser.format_help()


def _about(flag: Known) -> dict[str, Any]:
    if flag.kind == "switch":
        return {"action": "store_true"}
    about: dict[str, Any] = {"nargs": flag.nargs or None}
    if flag.choices and flag.sure:
        about["choices"] = flag.choices
    if flag.names[0] == "--model-path":
        about["required"] = True
    default = next((_DEFAULTS[name] for name in flag.names if name in _DEFAULTS), None)
    return about if default is None else {**about, "help": f"(default: {default})"}


_DEFAULTS = {
    f"--{field.name.replace('_', '-')}": field.default
    for field in msgspec.structs.fields(Flags)
    if isinstance(field.default, (int, str)) and not isinstance(field.default, bool)
}
"""Of the flags that the simulation obeys."""
