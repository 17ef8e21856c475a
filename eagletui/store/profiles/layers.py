"""One file laid over what is below it. Pure.

A layer first removes what its `unset` names, then sets its own keys. Spellings of the same flag
(`tp`, `tp-size`) are one key here: the upper one takes the lower one's place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from msgspec import UNSET
from msgspec.structs import asdict, replace

from eagletui.model.profile import SPECULATIVE, FlagValue, Profile, SpeculativePart, speculative_key
from eagletui.store.profiles.file import ProfileFile

SameFlag = Callable[[str], str]
"""From a key to one name for all spellings, with dashes (`engine.flagwords.same_flag`)."""

MODEL, PORT = "--model-path", "--port"


def lay(below: Profile, layer: ProfileFile, same: SameFlag) -> Profile:
    """What is below, changed by one file. Name, source, title and note are the file's."""
    server = below.server
    flags = {
        **server.flags,
        **{SPECULATIVE + key: value for key, value in below.speculative.flags.items()},
    }
    environment = dict(below.environment)
    removed: list[str] = []
    for entry in layer.unset:
        if entry.startswith("-"):
            removed.append(entry)
        else:
            environment = {k: v for k, v in environment.items() if not fnmatchcase(k, entry)}
    if layer.off is True:
        removed.append(f"--{SPECULATIVE}*")
    keys = _given(layer.server)
    own = {same(key) for key in layer.flags}
    gone = [*removed, *(flag for flag, key in ((MODEL, "model"), (PORT, "port")) if key in keys)]
    flags = {k: v for k, v in flags.items() if not any(_named(k, flag, same) for flag in gone)}
    if MODEL in own or any(_named("model-path", flag, same) for flag in removed):
        keys.setdefault("model", "")
    if PORT in own or any(_named("port", flag, same) for flag in removed):
        keys.setdefault("port", None)
    flags = _merged(flags, layer.flags, same)
    speculates = any(
        same(key).startswith(f"--{SPECULATIVE}") and value is not False
        for key, value in layer.flags.items()
    )
    off = layer.off if layer.off is not UNSET else (below.speculative.off and not speculates)
    guard = _given(layer.guard)
    if guard.get("start_seconds") == "none":
        guard["start_seconds"] = None
    return replace(
        below,
        name=layer.name,
        source=layer.path,
        title=layer.title,
        note=layer.note,
        server=replace(
            server,
            **keys,
            flags={k: v for k, v in flags.items() if speculative_key(k) is None},
        ),
        speculative=SpeculativePart(
            off=off,
            flags={
                short: value
                for key, value in flags.items()
                if (short := speculative_key(key)) is not None
            },
        ),
        environment={**environment, **layer.environment},
        guard=replace(below.guard, **guard),
    )


def _given(part: Any) -> dict[str, Any]:
    return {key: value for key, value in asdict(part).items() if value is not UNSET}


def _named(key: str, flag: str, same: SameFlag) -> bool:
    """Whether `unset` means this key: `--tp`, `--speculative-*`."""
    if flag.endswith("*"):
        return same(key).startswith(flag[:-1].replace("_", "-"))
    return same(key) == same(flag[2:] if flag.startswith("--") else flag)


def _merged(
    below: Mapping[str, FlagValue], above: Mapping[str, FlagValue], same: SameFlag
) -> dict[str, FlagValue]:
    """Upper flags in the place of the lower ones they mean, new ones at the end."""
    of: dict[str, dict[str, FlagValue]] = {}
    for key, value in above.items():
        of.setdefault(same(key), {})[key] = value
    merged: dict[str, FlagValue] = {}
    for key, value in below.items():
        if (flag := same(key)) in of:
            merged.update(of[flag])
        else:
            merged[key] = value
    for group in of.values():
        merged.update(group)
    return {key: value for key, value in merged.items() if value is not False}
