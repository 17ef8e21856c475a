"""`config.toml`: what a person may set, read strictly. No Textual in here."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import msgspec

from eagletui.model.base import Data
from eagletui.model.errors import ConfigError
from eagletui.model.near import nearest
from eagletui.store.places import CONFIG_VARIABLE, config_file
from eagletui.tui.actions import KEYS_ADVICE, BadKey, check_keys

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_T = TypeVar("_T")
INTERVALS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)

Marker = Literal["braille", "hd", "ascii"]
WindowName = Literal["1m", "5m", "15m", "1h", "all"]


class HostSettings(Data, frozen=True):
    """`[hosts.NAME]`: how one host is treated.

    Attributes:
        accent: colour of the header while this host is watched, like `#b3261e` or `red`.
        read_only: nothing changes the host, neither the screen nor a command.
        protected: a change asks for the host's name typed in full.
    """

    accent: str = ""
    read_only: bool = False
    protected: bool = False


class Settings(Data, frozen=True):
    """The whole file.

    Attributes:
        theme: name of one of our themes, of your own, or of Textual's.
        interval: seconds between scrapes, 0.2 to 30.
        marker: how charts are drawn; `ascii` also for bars.
        window: span of the charts at the start.
        keep_sessions: keep the series of what is watched; `C` shows them later.
        bell: ring the terminal's bell when a toast is shown.
        keys: action → keys, comma separated, like `"log.search" = "/"`.
        hosts: by the name used for `--host`.
    """

    theme: str = "eagle-dark"
    interval: float = 1.0
    marker: Marker = "braille"
    window: WindowName = "5m"
    keep_sessions: bool = True
    bell: bool = False
    keys: dict[str, str] = {}
    hosts: dict[str, HostSettings] = {}

    def host(self, name: str) -> HostSettings:
        """Settings of one host, the defaults where it is not named.

        `[hosts.gpu1]` also means `ann@gpu1` and `gpu1:2222`, unless those have their own.
        """
        machine = name.rpartition("@")[2]
        bare, colon, port = machine.rpartition(":")
        names = (name, machine, bare if colon and port.isdecimal() and ":" not in bare else machine)
        return next((self.hosts[n] for n in names if n in self.hosts), HostSettings())


def load_settings(path: Path | None = None) -> Settings:
    """Read the file; without one everything has its default.

    Args:
        path: this file, which must exist; None takes `config_file()`.

    Raises:
        ConfigError: naming file and line.
    """
    must_exist = path is not None or bool(os.environ.get(CONFIG_VARIABLE))
    path = config_file() if path is None else path
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        if must_exist:
            raise ConfigError(
                f"{path} is not there.", advice=f"Create it, or leave {CONFIG_VARIABLE} unset."
            ) from None
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.") from error
    return parse_settings(text, str(path))


def parse_settings(text: str, name: str = "config.toml") -> Settings:
    """The same for a text; `name` is what errors call it."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{name} is not valid TOML: {error}.", advice="Correct that line; nothing was changed."
        ) from error
    place = _Place(name, text)
    _refuse_unknown(data, Settings, (), place)
    hosts = data.get("hosts", {})
    if isinstance(hosts, Mapping):
        for host, table in hosts.items():
            if isinstance(table, Mapping):
                _refuse_unknown(table, HostSettings, ("hosts", host), place)
                _convert(table, HostSettings, ("hosts", host), place)
    settings = _convert(data, Settings, (), place)
    if not INTERVALS[0] <= settings.interval <= INTERVALS[-1]:
        raise place.error(("interval",), "`interval` must be between 0.2 and 30 seconds.")
    try:
        check_keys(settings.keys)
    except BadKey as bad:
        raise place.error(("keys", bad.action), f"{bad.what}.", bad.advice) from bad
    return settings


def where_set(key: str, path: Path | None = None) -> str:
    """`FILE, line N`: where the file sets this; the file alone where it does not."""
    path = config_file() if path is None else path
    line = _Place(str(path), path.read_text(encoding="utf-8")).line((key,))
    return f"{path}, line {line}" if line else str(path)


class _Place:
    """Finds the line of a key, which tomllib does not tell."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.lines = name, text.splitlines()

    def line(self, path: tuple[str, ...]) -> int | None:
        table: tuple[str, ...] = ()
        for number, line in enumerate(self.lines, 1):
            if header := re.match(r"\s*\[\s*([^\]]+?)\s*\]", line):
                table = _dotted(header[1])
                if table == path:
                    return number
            elif (key := re.match(r"\s*([^=#\[]+?)\s*=", line)) and (
                (*table, *_dotted(key[1]))[: len(path)] == path
            ):
                return number
        return None

    def error(self, path: tuple[str, ...], what: str, advice: str = "") -> ConfigError:
        line = self.line(path)
        where = f"{self.name}, line {line}" if line else self.name
        return ConfigError(f"{where}: {what}", advice=advice)


def _dotted(text: str) -> tuple[str, ...]:
    parts = re.findall(r'"([^"]*)"|\'([^\']*)\'|([^.\s"\']+)', text)
    return tuple(next(part for part in found if part or found[-1] == "") for found in parts)


def _refuse_unknown(
    data: Mapping[str, Any], kind: type[Data], path: tuple[str, ...], place: _Place
) -> None:
    known = [field.name for field in msgspec.structs.fields(kind)]
    for key in data:
        if key not in known:
            near = nearest(key, known, cutoff=0.4)
            advice = f'Did you mean "{near}"? ' if near else ""
            table = f" in [{'.'.join(path)}]" if path else ""
            raise place.error(
                (*path, key),
                f'there is no setting "{key}"{table}.',
                f"{advice}Known here: {', '.join(known)}.",
            )


# What a value must be, and an example, by the word msgspec has for it.
KINDS: Mapping[str, str] = {
    "bool": "true or false, without quotes",
    "str": 'a text in quotes, like "f3"',
    "float": "a number, like 0.5",
    "object": "a table",
}
# What msgspec calls the value that stands there.
GIVEN: Mapping[str, str] = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
# Settings with a choice of words.
CHOICES: Mapping[str, tuple[str, ...]] = {
    "marker": get_args(Marker),
    "window": get_args(WindowName),
}
_EXPECTED = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")


def _at_fault(data: Any, kind: Any) -> tuple[tuple[str, ...], Any]:
    """Where the first value of the wrong kind stands (msgspec hides keys of tables), and it."""
    if isinstance(data, Mapping):
        hints = (
            {field.name: field.type for field in msgspec.structs.fields(kind)}
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
            else dict.fromkeys(data, (get_args(kind) or (str, str))[-1])
        )
        for key, value in data.items():
            if not _fits(value, hints[key]):
                below, found = _at_fault(value, hints[key])
                return (key, *below), found
    return (), data


def _fits(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def _written(path: tuple[str, ...]) -> str:
    """A path as TOML writes it: `keys."log.search"`."""
    return ".".join(f'"{part}"' if "." in part else part for part in path)


def _given(value: Any) -> str:
    kind = type(value).__name__
    return GIVEN.get({"list": "array", "dict": "object"}.get(kind, kind), kind)


def _convert(data: Any, kind: type[_T], path: tuple[str, ...], place: _Place) -> _T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        at, value = _at_fault(data, kind)
        at = (*path, *at)
        name = _written(at) or "the file"
        what, advice = str(error).partition(" - at ")[0], ""
        choices = CHOICES.get(at[-1]) if at else None
        if choices is not None:
            shown = f'"{value}"' if isinstance(value, str) else _given(value)
            near = nearest(str(value), choices, cutoff=0.4)
            what = f"it cannot be {shown}"
            advice = f'Did you mean "{near}"? ' if near else ""
            advice += f"One of: {', '.join(choices)}."
        elif expected := _EXPECTED.match(what):
            wanted, given = expected.groups()
            what = f"it must be {KINDS.get(wanted, wanted)}, not {GIVEN.get(given, given)}"
            advice = KEYS_ADVICE if at[:1] == ("keys",) else ""
        raise place.error(at, f"{name}: {what}.", advice) from error
