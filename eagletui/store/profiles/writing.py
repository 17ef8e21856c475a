"""Profiles as TOML that a person goes on editing: what they wrote, comments included, survives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Item, Table

from eagletui.model.errors import ConfigError, UsageError
from eagletui.model.profile import SPECULATIVE, FlagValue, Guard, Profile, ServerPart
from eagletui.store.profiles.file import GUARD, SERVER, TABLES, TOP
from eagletui.store.profiles.layers import SameFlag

Keys = tuple[str, ...]

_LONG = 60
"""Characters from which a list is written one word a line."""

_TEMPLATE = """\
title = ""
note = ""

# [server]
# model = "/models/NAME"
# python = "/path/to/venv/bin/python"
# port = 30000
# log = "logs/{profile}-{time}.log"

# [server.flags]                # SGLang's flags without their dashes
# tp-size = 8
# enable-metrics = true

# [speculative]                 # flags without "speculative-"
# algorithm = "EAGLE3"
# draft-model-path = "/models/DRAFT"
# num-steps = 2
# eagle-topk = 1
# num-draft-tokens = 3

# [environment]
# NCCL_DEBUG = "INFO"

# [guard]
# protected = true              # the host's name has to be typed before a change
"""


def template(*, extends: str = "", include: Sequence[str] = ()) -> str:
    """A new profile to fill in: every part there as a comment."""
    document = tomlkit.parse(_TEMPLATE)
    lines = [f"extends = {tomlkit.item(extends).as_string()}"] if extends else []
    lines += [f"include = {tomlkit.item(list(include)).as_string()}"] if include else []
    text = document.as_string()
    return text.replace('note = ""\n', "\n".join(['note = ""', *lines, ""]), 1)


def profile_text(profile: Profile, *, heading: Sequence[str] = ()) -> str:
    """A whole profile as a file, with nothing inherited.

    Args:
        heading: lines of comment above it.
    """
    document = tomlkit.document()
    for line in heading:
        document.add(tomlkit.comment(line))
    for key in ("title", "note"):
        if text := getattr(profile, key):
            document[key] = _item(text)
    server = tomlkit.table()
    for field in msgspec.structs.fields(ServerPart):
        value = getattr(profile.server, field.name)
        if field.name != "flags" and value != field.default:
            server[field.name.replace("_", "-")] = _item(value)
    _put(document, "server", server)
    if profile.server.flags:
        flags = _table(profile.server.flags)
        if "server" not in document:
            document["server"] = tomlkit.table(is_super_table=True)
        server = document["server"]
        if len(server):
            server.add(tomlkit.nl())
        server["flags"] = flags
    if profile.speculative.off:
        _put(document, "speculative", _table({"off": True}))
    else:
        _put(document, "speculative", _table(profile.speculative.flags))
    _put(document, "environment", _table(profile.environment))
    guard = {
        field.name.replace("_", "-"): getattr(profile.guard, field.name)
        for field in msgspec.structs.fields(Guard)
        if getattr(profile.guard, field.name) != field.default
    }
    _put(document, "guard", _table(guard))
    return document.as_string()


def changed(
    text: str, sets: Mapping[str, str], removes: Sequence[str] = (), *, same: SameFlag
) -> str:
    """A file's text with some keys set or taken out, all else as it was.

    Args:
        sets: from a key with its tables (`server.port`, `server.flags.tp-size`,
            `speculative.num-steps`, `environment.NCCL_ALGO`) to its value: a TOML value where the
            key takes one, else the text itself.
        same: `engine.flagwords.same_flag`; a flag is found under any of its spellings.

    Raises:
        UsageError: a key that no profile has, or one to be taken out that is not there.
        ConfigError: the file has to be changed by hand.
    """
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise ConfigError(
            f"The file cannot be changed by key: {error}.", advice="Change it in an editor."
        ) from error
    for dotted in removes:
        keys = split_key(dotted)
        table: Any = document
        for key in keys[:-1]:
            table = table.get(key, {})
        there = _spelt(table, keys, same)
        if there not in table:
            raise UsageError(f"{dotted} is not set in this file.")
        del table[there]
    for dotted, value in sets.items():
        keys = split_key(dotted)
        table = document
        for key in keys[:-1]:
            if key not in table:
                table[key] = tomlkit.table()
            table = table[key]
        there = _spelt(table, keys, same)
        new, old = _item(value_for(keys, value)), table.get(there)
        if isinstance(old, Item):
            # The comment behind a value belongs to its key.
            new.trivia.comment_ws, new.trivia.comment = old.trivia.comment_ws, old.trivia.comment
        table[there] = new
    return document.as_string()


def _spelt(table: Mapping[str, Any], keys: Keys, same: SameFlag) -> str:
    """The last key as the file spells it."""
    lead = {("server", "flags"): "", ("speculative",): SPECULATIVE}.get(keys[:-1])
    if lead is None or keys[-1] in table:
        return keys[-1]
    wanted = same(lead + keys[-1])
    return next((key for key in table if same(lead + key) == wanted), keys[-1])


def split_key(dotted: str) -> Keys:
    """`server.flags.a.b` is the flag `a.b`: what follows a table's name is one key.

    Raises:
        UsageError: no profile has such a key.
    """
    first, _, rest = dotted.partition(".")
    if first in TOP and not rest:
        return (first,)
    if first == "server" and rest.startswith("flags.") and rest != "flags.":
        return ("server", "flags", rest[len("flags.") :])
    known = {"server": SERVER[:-1], "guard": GUARD}.get(first, ())
    if first in TABLES and rest and (not known or rest in known):
        return (first, rest)
    raise UsageError(
        f"No profile has a key {dotted}.",
        advice=f"Known in [{first}]: {', '.join(known)}."
        if known
        else "Write server.port, server.flags.tp-size, speculative.num-steps, "
        "environment.NCCL_ALGO, guard.protected, title, note, extends, include or unset.",
    )


def value_for(keys: Keys, text: str) -> Any:
    """What a value from a command line is: TOML where that is meant, else the text as it stands."""
    if keys[0] == "environment" or keys in _TEXTS:
        return text
    try:
        value = tomlkit.parse(f"value = {text}").unwrap()["value"]
    except (TOMLKitError, KeyError):
        return text
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    meant = str(value) == text if number else isinstance(value, (bool, str, list))
    return value if meant else text


_TEXTS = {
    ("title",), ("note",), ("extends",),
    ("server", "model"), ("server", "python"), ("server", "workdir"), ("server", "log"),
    ("server", "runner"), ("server", "unit"), ("server", "container"),
    ("guard", "roll-back"),
}  # fmt: skip


def _put(document: tomlkit.TOMLDocument, name: str, table: Table) -> None:
    if len(table):
        if len(document):
            document.add(tomlkit.nl())
        document[name] = table


def _table(values: Mapping[str, FlagValue]) -> Table:
    table = tomlkit.table()
    for key, value in values.items():
        table[key] = _item(value)
    return table


def _item(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        array = tomlkit.array()
        for word in value:
            array.append(_item(word))
        return array.multiline(sum(map(len, map(str, value))) > _LONG)
    return tomlkit.item(value)
