"""All profiles that can be named: the person's own over those that ship with eagletui."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from eagletui.model.base import Data
from eagletui.model.errors import ConfigError
from eagletui.model.near import nearest
from eagletui.model.profile import SPECULATIVE, Guard, Profile, ServerPart, SpeculativePart
from eagletui.store.profiles.file import NAME, ProfileError, ProfileFile, read_profile
from eagletui.store.profiles.layers import SameFlag, lay
from eagletui.store.profiles.text import text_of

ENDING = ".toml"
JOIN = "+"
"""Between the names of profiles that are laid over each other."""

MOST_FILES = 100
"""That one profile may be made of, a file counted as often as it is named."""


class ProfileNotFound(ConfigError):
    """There is no profile of that name."""


class ProfileCycle(ProfileError):
    """Profiles that extend or include each other in a ring."""


class TooManyParts(ProfileError):
    """A profile that is made of more files than anybody could follow."""


class BaseMissing(ProfileError):
    """A profile extends or includes one that is not there."""


class Misnamed(ConfigError):
    """A file that would be a profile, if one could be called so."""

    def __init__(self, path: Path) -> None:
        # As a literal: a line's end in it would make two lines of this one.
        super().__init__(
            f"{str(path)!r} is left out: no profile can be called {path.stem!r}.",
            advice=f"Name it of letters, digits, `_`, `-` and `.`, before {ENDING}.",
        )
        self.path = os.fsencode(path).decode("utf-8", "replace")


class Shelved(Data, frozen=True):
    """One profile in a list.

    Attributes:
        shipped: whether it came with eagletui and not from the person's folder.
        parts: which of `server`, `speculative`, `environment` and `guard` it sets, everything
            inherited included.
    """

    profile: Profile
    file: ProfileFile
    shipped: bool
    parts: tuple[str, ...]


class Shelf(Data, frozen=True):
    """Every profile that can be read, by name, and what is wrong with the rest."""

    profiles: tuple[Shelved, ...]
    problems: tuple[ConfigError, ...]


class Profiles:
    """Profiles of several folders.

    A file may extend its own name: then it extends the one it hides.

    Args:
        folders: where they lie; the first that has a name wins. The last one is ours.
        same_flag: `engine.flagwords.same_flag`.
    """

    def __init__(self, folders: Sequence[Path], same_flag: SameFlag) -> None:
        self._folders = tuple(folders)
        self._same = same_flag

    def names(self) -> tuple[str, ...]:
        """Every name there is, broken files included."""
        return tuple(sorted({p.stem for p in self._files() if NAME.fullmatch(p.stem)}))

    def _files(self) -> Iterator[Path]:
        """Every file that is meant to be a profile; a hidden one is an editor's own."""
        for folder in self._folders:
            if folder.is_dir():
                yield from (p for p in folder.glob(f"*{ENDING}") if not p.name.startswith("."))

    def path(self, name: str) -> Path:
        """The file of a name.

        Raises:
            ProfileNotFound: there is none.
        """
        if not name:
            raise ProfileNotFound(f"A name of a profile is missing beside the {JOIN}.")
        found = self._find(name)
        if found is None:
            raise ProfileNotFound(f"There is no profile called {name}.", advice=self._near(name))
        return found

    def shipped(self, name: str) -> bool:
        """Whether this name leads to one of ours.

        Raises:
            ProfileNotFound: there is none.
        """
        return self.path(name).parent == self._folders[-1]

    def file(self, name: str) -> ProfileFile:
        """What the file of a name says by itself.

        Raises:
            ConfigError: there is none, or it says something impossible.
        """
        return _file(self.path(name))

    def load(self, name: str, *over: str) -> Profile:
        """A profile with everything it inherits; further ones are laid over it, in order.

        `kimi+chain-2` names two in the same way, and the result is called so.

        Raises:
            ConfigError: one of the files cannot be read, says something impossible, or names
                another that is not there.
        """
        name, *parts = (part for names in (name, *over) for part in names.split(JOIN))
        return self.over(self._laid(Profile(name=name), self.path(name), (), []), *parts)

    def over(self, profile: Profile, *parts: str) -> Profile:
        """The same for a profile that has no file: that of a server that runs.

        Raises:
            ConfigError: as `load`.
        """
        for part in parts:
            upper = self._laid(profile, self.path(part), (), [])
            profile = _renamed(upper, profile, f"{profile.name}{JOIN}{part}")
        return profile

    def read(self, text: str, *, name: str, path: Path) -> Profile:
        """What a file would be with this text: the same as `load`, before it is written.

        Raises:
            ConfigError: as `load`.
        """
        file = read_profile(text, name=name, path=str(path))
        return self._over(Profile(name=name), file, path, (), [])

    def shelf(self) -> Shelf:
        """All of them; a broken one is among the problems and hides no other."""
        found: list[Shelved] = []
        problems: list[ConfigError] = [
            Misnamed(p) for p in sorted(self._files()) if not NAME.fullmatch(p.stem)
        ]
        for name in self.names():
            try:
                path = self.path(name)
                profile, file = self.load(name), _file(path)
            except ConfigError as error:
                problems.append(error)
                continue
            shipped = path.parent == self._folders[-1]
            found.append(
                Shelved(profile=profile, file=file, shipped=shipped, parts=parts_of(profile, file))
            )
        return Shelf(profiles=tuple(found), problems=tuple(problems))

    def _find(self, name: str, after: Path | None = None) -> Path | None:
        if not NAME.fullmatch(name):
            return None
        folders = self._folders
        if after is not None and after in folders:
            folders = folders[folders.index(after) + 1 :]
        return next(
            (p for folder in folders if os.path.lexists(p := folder / f"{name}{ENDING}")), None
        )

    def _near(self, name: str) -> str:
        near = nearest(name, self.names(), cutoff=0.6)
        return f"Did you mean {near}?" if near else "`eagletui profiles list` shows them all."

    def _laid(
        self, below: Profile, path: Path, around: tuple[Path, ...], laid: list[Path]
    ) -> Profile:
        return self._over(below, _file(path), path, around, laid)

    def _over(
        self,
        below: Profile,
        file: ProfileFile,
        path: Path,
        around: tuple[Path, ...],
        laid: list[Path],
    ) -> Profile:
        """A file with all it builds on, laid over what is below.

        Args:
            around: the files on the way to this one.
            laid: all that were taken so far; grows.
        """
        around = (*around, path)
        laid.append(path)
        for base in (*((file.extends,) if file.extends else ()), *file.include):
            found = self._find(base, path.parent if base == file.name else None)
            key = "extends" if base == file.extends else "include"
            if found is None and base == file.name:
                raise file.error(
                    ProfileCycle,
                    (key,),
                    f"`{key}` names the profile itself, and it hides no other of that name.",
                    advice=f"Take {base} out of `{key}`.",
                )
            if found is None:
                raise file.error(
                    BaseMissing,
                    (key,),
                    f"`{key}` names {base}, and there is no such profile.",
                    advice=self._near(base),
                )
            if found in around:
                ring = [*(p.stem for p in around[around.index(found) :]), found.stem]
                raise file.error(
                    ProfileCycle,
                    (key,),
                    f"these profiles build on each other in a ring: {' → '.join(ring)}.",
                    advice=f"Take {base} out of `{key}`.",
                )
            if len(laid) >= MOST_FILES:
                raise file.error(
                    TooManyParts,
                    (key,),
                    f"with what this builds on, the profile is made of more than {MOST_FILES} "
                    "files.",
                    advice="Name each part once, and build on fewer.",
                )
            below = self._laid(below, found, around, laid)
        return lay(below, file, self._same)


def parts_of(profile: Profile, file: ProfileFile | None = None) -> tuple[str, ...]:
    """Which parts a profile sets at all, or, in its own file, takes away from."""
    unset = file.unset if file is not None else ()
    speculative = [entry for entry in unset if entry.startswith(f"--{SPECULATIVE}")]
    flags = [entry for entry in unset if entry.startswith("-") and entry not in speculative]
    parts = {
        "server": profile.server != ServerPart() or flags,
        "speculative": profile.speculative != SpeculativePart() or speculative,
        "environment": profile.environment or len(unset) > len(flags) + len(speculative),
        "guard": profile.guard != Guard(),
    }
    return tuple(part for part, there in parts.items() if there)


def _renamed(upper: Profile, base: Profile, name: str) -> Profile:
    return replace(upper, name=name, source=base.source, title=base.title, note=base.note)


def _file(path: Path) -> ProfileFile:
    return read_profile(text_of(path), name=path.stem, path=str(path))
