"""The flags that one SGLang knows: of a release, or of the installation that was asked."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from eagletui.engine.flags.table import CHOICES, FLAGS, HIDDEN, Flag, Kind
from eagletui.engine.releases import Range, Version
from eagletui.model.finding import Option

LISTED_RELEASE = "0.5.23"
"""The release whose every flag is known."""


_CHOICES = {
    name: [choice for choice in CHOICES if choice.flag == name]
    for name in {choice.flag for choice in CHOICES}
}


class Known(NamedTuple):
    """One flag as a release has it.

    Attributes:
        names: every spelling.
        kind: what its value is.
        nargs: "" for one word, "+", "*" or "?".
        choices: () where any value is taken.
        sure: whether this very release is known to have it.
    """

    names: tuple[str, ...]
    kind: Kind = "text"
    nargs: str = ""
    choices: tuple[str, ...] = ()
    sure: bool = True


class KnownFlags:
    """The flags of one SGLang.

    Args:
        flags: its flags.
        likely: those by their names that it probably has; they come with `sure` False.
        complete: whether it has no other flags.
    """

    def __init__(
        self,
        flags: Iterable[Known],
        likely: Mapping[str, Known] = MappingProxyType({}),
        *,
        complete: bool,
    ) -> None:
        self.complete = complete
        self.by_name: Mapping[str, Known] = {**_by_name(flags), **likely}

    def exact(self, word: str) -> Known | None:
        """The flag that is spelt so."""
        return self.by_name.get(word)

    def beginning(self, word: str) -> tuple[str, ...]:
        """Spellings that begin so; those that are only likely just where there is no other."""
        found = [name for name in self.by_name if name.startswith(word)]
        sure = tuple(name for name in found if self.by_name[name].sure)
        return sure or tuple(found)

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)


def _by_name(flags: Iterable[Known]) -> dict[str, Known]:
    return {name: flag for flag in flags for name in flag.names}


def flags_of(release: Version, options: tuple[Option, ...] | None = None) -> KnownFlags:
    """The flags of a release; where the installation was asked, its own options count alone."""
    if options is None:
        return _flags_of(release.text)
    return KnownFlags(_asked(options), complete=True)


@functools.lru_cache(maxsize=64)
def _flags_of(release: str) -> KnownFlags:
    version = Version(release)
    if version == Version(LISTED_RELEASE):
        return KnownFlags(listed_flags(), complete=True)
    rows = [_known(row, version) for row in FLAGS if version in Range(row.since, row.until)]
    return KnownFlags(rows, _likely(), complete=False)


@functools.lru_cache(maxsize=1)
def _likely() -> dict[str, Known]:
    """What the table does not govern: most releases have it, none is known to."""
    governed = {name for row in FLAGS for name in row.names.split()}
    return _by_name(
        flag._replace(sure=False) for flag in listed_flags() if governed.isdisjoint(flag.names)
    )


def _known(row: Flag, version: Version) -> Known:
    names = tuple(row.names.split())
    choices = next(
        (
            choice.values
            for choice in _CHOICES.get(row.name, ())
            if version in Range(choice.since, choice.until)
        ),
        (),
    )
    return Known(names, row.kind, row.nargs, choices)


@functools.lru_cache(maxsize=1)
def listed_flags() -> tuple[Known, ...]:
    """Every flag of `LISTED_RELEASE`."""
    # Read only where flags are looked at: it is the larger half of a check's imports.
    from eagletui.engine.flags.listed_0_5_23 import LISTED

    return tuple(_listed(line) for line in LISTED.splitlines())


def _listed(line: str) -> Known:
    names, kind, nargs, choices = [*(cell.strip() for cell in line.split(" | ")), "", ""][:4]
    return Known(tuple(names.split()), kind, nargs, tuple(choices.split()))  # type: ignore[arg-type]


def _asked(options: tuple[Option, ...]) -> Iterator[Known]:
    kinds: dict[str, Kind] = {name: flag.kind for flag in listed_flags() for name in flag.names}
    kinds |= {name: row.kind for row in FLAGS for name in row.names.split()}
    for option in options:
        kind: Kind = "switch"
        if option.takes_value:
            kind = next((kinds[name] for name in option.flags if name in kinds), "text")
            # A switch of one release may take a value in another.
            kind = "text" if kind == "switch" else kind
        yield Known(option.flags, kind, option.nargs, option.choices)
    told = {name for option in options for name in option.flags}
    for name in HIDDEN - told:
        yield Known((name,), kinds.get(name, "text"), sure=False)
