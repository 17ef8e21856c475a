"""Themes from `themes/*.toml`: ours and the person's own. A broken one is reported, never fatal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec
from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from eagletui.model.base import Data
from eagletui.model.errors import ConfigError, EagletuiError
from eagletui.model.near import nearest
from eagletui.store.places import themes_folder

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class ThemeFile(Data, frozen=True, forbid_unknown_fields=True):
    """One theme file. Colours are `#rrggbb` or CSS names; what is left out Textual derives."""

    name: str
    primary: str
    dark: bool = True
    secondary: str | None = None
    accent: str | None = None
    success: str | None = None
    warning: str | None = None
    error: str | None = None
    foreground: str | None = None
    background: str | None = None
    surface: str | None = None
    panel: str | None = None
    variables: dict[str, str] = {}


COLOURS = tuple(
    field.name
    for field in msgspec.structs.fields(ThemeFile)
    if field.name not in ("name", "dark", "variables")
)


class Themes(NamedTuple):
    """What was found, and what was wrong with the rest."""

    themes: dict[str, Theme]
    problems: tuple[ConfigError, ...]


def built_in_folder() -> Path:
    """`themes/` of the installed package, or of the checkout."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "themes"
    return installed if installed.is_dir() else package.parent / "themes"


def parse_theme(text: str, name: str) -> Theme:
    """A theme from its text; `name` is what errors call the file.

    Raises:
        ConfigError: with the key that is wrong.
    """
    try:
        theme = msgspec.convert(tomllib.loads(text), ThemeFile)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{name} is not valid TOML: {error}.") from error
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{name}: {error}.", advice=f"Known keys: name, dark, {', '.join(COLOURS)}, variables."
        ) from error
    colours: dict[str, str | None] = {key: getattr(theme, key) for key in COLOURS}
    for key, value in colours.items():
        if value is None:
            continue
        try:
            Color.parse(value)
        except ColorParseError as error:
            raise ConfigError(
                f'{name}: {key} = "{value}" is not a colour.',
                advice='Write "#rrggbb" or a CSS colour name.',
            ) from error
    return Theme(name=theme.name, dark=theme.dark, variables=dict(theme.variables), **colours)  # type: ignore[arg-type]


def _read(path: Path) -> Theme | ConfigError:
    try:
        return parse_theme(path.read_text(encoding="utf-8"), str(path))
    except ConfigError as error:
        return error
    except (OSError, UnicodeDecodeError) as error:
        return ConfigError(f"{path} cannot be read: {error}.")


def load_themes(folders: Iterable[Path]) -> Themes:
    """Every theme of these folders; a later one of the same name wins."""
    themes: dict[str, Theme] = {}
    problems: list[ConfigError] = []
    for folder in folders:
        for path in sorted(folder.glob("*.toml")) if folder.is_dir() else ():
            found = _read(path)
            if isinstance(found, ConfigError):
                problems.append(found)
            else:
                themes[found.name] = found
    return Themes(themes, tuple(problems))


def refuse_unknown(name: str, found: Themes, kind: type[EagletuiError], where: str = "") -> None:
    """Complain of a theme that is nowhere.

    Args:
        kind: the error to raise.
        where: the place that names the theme.

    Raises:
        EagletuiError: of this kind, with the name that was meant, perhaps.
    """
    known = sorted({*found.themes, *BUILTIN_THEMES})
    if name in known:
        return
    near = nearest(name, known, cutoff=0.4)
    what = f'there is no theme "{name}".'
    raise kind(
        f"{where}: {what}" if where else what[0].upper() + what[1:],
        meaning=" ".join(f"Left out: {problem.what}" for problem in found.problems),
        advice=(f'Did you mean "{near}"? ' if near else "") + f"Known: {', '.join(known)}.",
    )


def every_theme() -> Themes:
    """Ours and the person's own."""
    return load_themes((built_in_folder(), themes_folder()))


def own_variables(theme: Theme, variables: Mapping[str, str]) -> dict[str, str]:
    """Colours our style sheets use beside Textual's, for any theme.

    The terminal's sixteen colours know no blending, so ANSI themes name theirs.
    """
    if theme.ansi:
        quiet = "ansi_bright_black" if theme.dark else "ansi_black"
        return {"rule": quiet, "quiet": quiet, "bar": "ansi_default", "bar-text": "ansi_default"}
    background = Color.parse(variables["background"])
    foreground = Color.parse(variables["foreground"])
    return {
        "rule": background.blend(foreground, 0.30).hex6,
        "quiet": background.blend(foreground, 0.66).hex6,
        "bar": variables["panel"],
        "bar-text": variables["foreground"],
    }
