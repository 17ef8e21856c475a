"""One profile file, read strictly: errors name the line and the nearest valid key."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from eagletui.model.base import Data
from eagletui.model.errors import ConfigError
from eagletui.model.near import nearest
from eagletui.model.profile import FLAG_KEY, SPECULATIVE, FlagValue, RollBack, Runner
from eagletui.store.profiles.lines import Keys, key_lines, line_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_E = TypeVar("_E", bound="ProfileError")

NAME = re.compile(r"(?a)[A-Za-z0-9][\w.-]*")
"""What a profile may be called."""

_FlagInFile = bool | int | float | str | list[int | float | str]
_MOST_DOTS = 1000
_Seconds = Annotated[float, Meta(ge=0.0, le=604800.0)]
_VARIABLE = re.compile(r"(?a)[A-Za-z_]\w*")
_AT = re.compile(r" - at `\$\.?(.*)`\Z", re.DOTALL)


class ProfileError(ConfigError):
    """A profile file says something impossible.

    Attributes:
        path: the file.
        line: from 1; None where it is about the whole file.
    """

    def __init__(
        self, what: str, *, path: str, line: int | None, meaning: str = "", advice: str = ""
    ) -> None:
        place = f"{path}, line {line}" if line is not None else path
        super().__init__(f"{place}: {what}", meaning=meaning, advice=advice)
        self.path = path
        self.line = line


class ServerKeys(Data, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """`[server]` but for its flags; what is not given is `UNSET`."""

    model: str | UnsetType = UNSET
    python: str | UnsetType = UNSET
    command: tuple[str, ...] | UnsetType = UNSET
    port: Annotated[int, Meta(ge=1, le=65535)] | UnsetType = UNSET
    workdir: str | UnsetType = UNSET
    log: str | UnsetType = UNSET
    runner: Runner | UnsetType = UNSET
    unit: str | UnsetType = UNSET
    user_unit: bool | UnsetType = UNSET
    container: str | UnsetType = UNSET
    order: tuple[str, ...] | UnsetType = UNSET


class GuardKeys(Data, frozen=True, rename="kebab", forbid_unknown_fields=True):
    """`[guard]`; `start-seconds = "none"` takes a limit away again."""

    read_only: bool | UnsetType = UNSET
    protected: bool | UnsetType = UNSET
    drain_seconds: _Seconds | UnsetType = UNSET
    stop_seconds: _Seconds | UnsetType = UNSET
    start_seconds: _Seconds | Literal["none"] | UnsetType = UNSET
    roll_back: RollBack | UnsetType = UNSET


class ProfileFile(Data, frozen=True):
    """What one file says, nothing inherited.

    Attributes:
        name: the file's without its ending.
        path: the file.
        extends: the profile below everything else, "" for none.
        include: what is laid over that, in this order.
        unset: flags (`--tp-size`, `--speculative-*`) and variables (`NCCL_*`) that are removed
            from what is below, before the file's own keys are laid over it.
        off: whether speculation is switched off; UNSET where the file does not say.
        flags: of the server and of its speculative part, by their whole keys; False for a flag
            that shall not be given.
        lines: on which line each key stands.
    """

    name: str
    path: str = ""
    title: str = ""
    note: str = ""
    extends: str = ""
    include: tuple[str, ...] = ()
    unset: tuple[str, ...] = ()
    server: ServerKeys = ServerKeys()
    off: bool | UnsetType = UNSET
    flags: dict[str, FlagValue] = {}
    environment: dict[str, str] = {}
    guard: GuardKeys = GuardKeys()
    lines: dict[Keys, int] = {}

    def error(self, kind: type[_E], keys: Keys, what: str, *, advice: str) -> _E:
        """An error about one of the file's keys."""
        line = line_of(self.lines, keys)
        return kind(what, path=self.path, line=line, advice=advice)


TOP = ("title", "note", "extends", "include", "unset")
TABLES = ("server", "speculative", "environment", "guard")
SERVER = (*ServerKeys.__struct_encode_fields__, "flags")
GUARD = GuardKeys.__struct_encode_fields__


def read_profile(text: str, *, name: str, path: str) -> ProfileFile:
    """A profile file's text as data.

    Args:
        path: what errors call the file.

    Raises:
        ProfileError: with the line, and what would have been right.
    """
    _refuse_deep_keys(text, path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r" \(at line (\d+), column (\d+)\)", str(error))
        what = str(error).replace(at[0], f" at column {at[2]}") if at else str(error)
        raise ProfileError(
            f"this is no valid TOML: {what}.", path=path, line=int(at[1]) if at else None
        ) from error
    except ValueError as error:
        # Python's own limit of 4300 digits: there is no number that long.
        number = re.search(r"[0-9_]{4000}", text)
        line = text.count("\n", 0, number.start()) + 1 if number else None
        raise ProfileError("this number is too long for any.", path=path, line=line) from error
    except RecursionError as error:
        raise ProfileError("brackets are nested too deeply.", path=path, line=None) from error
    try:
        return _Reader(text, path).profile(data, name)
    except RecursionError as error:
        raise ProfileError("tables are nested too deeply.", path=path, line=None) from error


def _refuse_deep_keys(text: str, path: str) -> None:
    """TOML's readers take time with the square of a dotted key's length: minutes for 60 kB."""
    for line, said in enumerate(text.split("\n"), 1):
        if said.count(".") > _MOST_DOTS:
            raise ProfileError(
                f"a line with more than {_MOST_DOTS} dots is no profile's.", path=path, line=line
            )


class _Reader:
    def __init__(self, text: str, path: str) -> None:
        self._text = text
        self._path = path

    def profile(self, data: dict[str, Any], name: str) -> ProfileFile:
        self._texts(data, ())
        self._known(data, (), (*TOP, *TABLES))
        for table in TABLES:
            self._typed(data.get(table, {}), dict[str, Any], (table,))
        server = dict(data.get("server", {}))
        self._known(server, ("server",), SERVER)
        flags = self._typed(server.pop("flags", {}), dict[str, Any], ("server", "flags"))
        speculative = dict(data.get("speculative", {}))
        off = self._typed(speculative.pop("off", UNSET), bool | UnsetType, ("speculative", "off"))
        environment = data.get("environment", {})
        guard = data.get("guard", {})
        self._known(guard, ("guard",), GUARD)
        whole = self._flags(flags, ("server", "flags"))
        own = self._flags(speculative, ("speculative",))
        if off is True and any(value is not False for value in own.values()):
            self._wrong(
                ("speculative", "off"),
                "speculation is switched off, but its flags are set beside it.",
                advice="Take out `off = true`, or the other keys of [speculative].",
            )
        return ProfileFile(
            name=name,
            path=self._path,
            title=self._typed(data.get("title", ""), str, ("title",)),
            note=self._typed(data.get("note", ""), str, ("note",)),
            extends=self._name(self._typed(data.get("extends", ""), str, ("extends",)), "extends"),
            include=tuple(
                self._name(part, "include")
                for part in self._typed(data.get("include", []), list[str], ("include",))
            ),
            unset=self._unset(self._typed(data.get("unset", []), list[str], ("unset",))),
            server=self._server(server),
            off=off,
            flags={**whole, **{SPECULATIVE + key: value for key, value in own.items()}},
            environment=self._environment(environment),
            guard=self._typed(guard, GuardKeys, ("guard",)),
            lines=key_lines(self._text),
        )

    def _server(self, data: dict[str, Any]) -> ServerKeys:
        server: ServerKeys = self._typed(data, ServerKeys, ("server",))
        for word in server.order or ():
            if not word.startswith("-"):
                self._wrong(
                    ("server", "order"),
                    f'"{word}" in `order` is no flag.',
                    advice=f'Write flags with their dashes: "--{word}".',
                )
        return server

    def _flags(self, data: Mapping[str, Any], table: Keys) -> dict[str, FlagValue]:
        flags: dict[str, FlagValue] = {}
        for key, value in data.items():
            here = (*table, key)
            plain = key.lstrip("-")
            if table == ("speculative",) and plain.startswith(SPECULATIVE):
                self._wrong(
                    here,
                    f'"{key}" repeats what its table says.',
                    advice=f"In [speculative] write `{plain[len(SPECULATIVE) :]}`.",
                )
            if not FLAG_KEY.fullmatch(key):
                self._wrong(
                    here,
                    f'"{key}" is no flag.',
                    advice=f"Write flags without their dashes: `{plain}`."
                    if FLAG_KEY.fullmatch(plain)
                    else "A flag has letters, digits, dashes and underscores.",
                )
            found = self._typed(value, _FlagInFile, here)
            if found == []:
                self._wrong(
                    here,
                    f"`{key}` takes several words, but the list is empty.",
                    advice="Write the words, or true for a switch, or false to leave it out.",
                )
            flags[key] = tuple(map(str, found)) if isinstance(found, list) else found
        return flags

    def _environment(self, data: Mapping[str, Any]) -> dict[str, str]:
        environment: dict[str, str] = {}
        for name, value in data.items():
            here = ("environment", name)
            if not _VARIABLE.fullmatch(name):
                self._wrong(
                    here,
                    f'"{name}" is no name of an environment variable.',
                    advice="Use letters, digits and underscores.",
                )
            environment[name] = str(self._typed(value, str | int | float, here))
        return environment

    def _name(self, name: str, key: str) -> str:
        if name and not NAME.fullmatch(name):
            self._wrong(
                (key,),
                f'"{name}" is no name of a profile.',
                advice="Write its file's name without folder and without .toml.",
            )
        return name

    def _unset(self, entries: list[str]) -> tuple[str, ...]:
        for entry in entries:
            if not FLAG_KEY.fullmatch(entry.removesuffix("*").lstrip("-")) and entry != "*":
                self._wrong(
                    ("unset",),
                    f'"{entry}" names neither a flag nor a variable.',
                    advice='Write "--mem-fraction-static", "NCCL_ALGO", or "NCCL_*" for several.',
                )
        return tuple(entries)

    def _texts(self, value: Any, keys: Keys) -> None:
        """No text of a command line or an environment can hold a NUL."""
        if isinstance(value, str) and "\0" in value:
            self._wrong(keys, "a text holds a NUL character, which no command line can.")
        elif isinstance(value, dict):
            for key, item in value.items():
                self._texts(item, (*keys, key))
        elif isinstance(value, list):
            for item in value:
                self._texts(item, keys)

    def _known(self, data: Mapping[str, Any], table: Keys, known: Iterable[str]) -> None:
        valid = tuple(known)
        for key in data:
            if key in valid:
                continue
            where = f" in [{'.'.join(table)}]" if table else ""
            near = nearest(key, valid, cutoff=0.6)
            if near:
                advice = f"Did you mean `{near}`?"
            elif not table and any(key in keys for keys in (SERVER, GUARD)):
                advice = f"It belongs in [{'server' if key in SERVER else 'guard'}]."
            elif table == ("server",):
                advice = "SGLang's own flags stand in [server.flags]."
            else:
                advice = f"Known: {', '.join(valid)}."
            self._wrong((*table, key), f"there is no key `{key}`{where}.", advice=advice)

    def _typed(self, value: Any, kind: Any, keys: Keys) -> Any:
        try:
            return UNSET if value is UNSET else msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            message = str(error)
            if at := _AT.search(message):
                message = message[: at.start()]
                inner = at[1].partition("[")[0]
                keys = (*keys, *(inner.split(".") if inner else ()))
            self._wrong(
                keys, f"`{'.'.join(keys)}`: {_spoken(message)}.", advice=_ADVICE.get(keys, "")
            )

    def _wrong(self, keys: Keys, what: str, *, advice: str = "") -> NoReturn:
        line = line_of(key_lines(self._text), keys)
        raise ProfileError(what, path=self._path, line=line, advice=advice)


_ADVICE: dict[Keys, str] = {
    ("server", "runner"): "Known runners: process, docker, systemd, command.",
    ("guard", "roll-back"): 'Write "ask", "always" or "never".',
    ("server", "command"): 'Write a list of words: command = ["/path/to/script", "word"].',
    ("extends",): 'One name: extends = "NAME". Several parts go into include = ["A", "B"].',
    ("include",): 'A list of names: include = ["A", "B"].',
}
_WORDS = {
    "int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false",
    "array": "a list", "object": "a table", "datetime": "a date", "date": "a date",
    "time": "a time", "null": "nothing",
}  # fmt: skip


def _spoken(message: str) -> str:
    """msgspec's words, with TOML's names of the types."""

    def kinds(match: re.Match[str]) -> str:
        names = list(dict.fromkeys(_WORDS.get(k.strip(), k.strip()) for k in match[1].split("|")))
        return " or ".join(names)

    text = re.sub(r"`([\w |]+)`", kinds, message)
    return text[:1].lower() + text[1:]
