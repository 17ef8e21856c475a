"""Writing profiles: new ones, and changes that are checked before they replace what was there."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from eagletui.cli.errors import SpokenError
from eagletui.engine.flagwords import same_flag
from eagletui.model.errors import ConfigError, EagletuiError, UsageError
from eagletui.store.files import write_whole
from eagletui.store.places import profiles_folder
from eagletui.store.profiles.file import NAME
from eagletui.store.profiles.shelf import ENDING, Profiles
from eagletui.store.profiles.text import text_of
from eagletui.store.profiles.writing import changed, template


def create(
    profiles: Profiles,
    name: str,
    *,
    extends: str = "",
    include: Sequence[str] = (),
    sets: Sequence[str] = (),
    edit: bool = False,
) -> Path:
    """Write a new profile into the person's folder.

    Raises:
        EagletuiError: there is one of that name, or what it extends is not there.
    """
    path = own_path(name)
    if os.path.lexists(path):
        raise EagletuiError(
            f"There is a profile called {name} already: {path}.",
            advice=f"Change it with `eagletui profiles edit {name}`, or choose another name.",
        )
    text = changed(template(extends=extends, include=include), _pairs(sets), same=same_flag)
    profiles.read(text, name=name, path=path)
    if edit:
        text = _edited(profiles, name, path, text)
    save(path, text)
    return path


def change(
    profiles: Profiles, name: str, *, sets: Sequence[str] = (), removes: Sequence[str] = ()
) -> Path:
    """Change a profile by hand or by key; one that ships becomes a file of the person's.

    Raises:
        ConfigError: the result says something impossible; the file is as it was.
        UsageError: a key that no profile has.
    """
    source, path = profiles.path(name), own_path(name)
    text = text_of(source)
    if sets or removes:
        # A file that is broken already is mended in an editor.
        profiles.read(text, name=name, path=source)
        text = changed(text, _pairs(sets), removes, same=same_flag)
        profiles.read(text, name=name, path=path)
    else:
        text = _edited(profiles, name, path, text)
    save(path, text)
    return path


def own_path(name: str) -> Path:
    """Where the person's profile of that name lies.

    Raises:
        UsageError: no profile can be called so.
    """
    if not NAME.fullmatch(name):
        raise UsageError(
            f"No profile can be called {name!r}.",
            advice="Use letters, digits, dots, dashes and underscores.",
        )
    return profiles_folder() / f"{name}{ENDING}"


def save(path: Path, text: str) -> None:
    """Write the file whole.

    Raises:
        EagletuiError: the disk is full or read-only; what was there is untouched.
        UsageError: there are bytes in it that are no text.
    """
    try:
        write_whole(path, text.encode("utf-8"))
    except OSError as error:
        raise EagletuiError(
            f"{path} cannot be written: {error.strerror}.",
            meaning="Nothing was changed.",
            advice=f"Make {path.parent} writable, or let XDG_CONFIG_HOME name another folder.",
        ) from error
    except UnicodeEncodeError as error:
        raise UsageError("A profile can only hold text in UTF-8.") from error


def _pairs(sets: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for entry in sets:
        key, equals, value = _split(entry)
        if not equals:
            raise UsageError(f"--set {entry} has no value.", advice="Write --set KEY=VALUE.")
        pairs[key] = value
    return pairs


def _split(entry: str) -> tuple[str, str, str]:
    """At the first "="; a flag's key may end with one of its own, `server.flags.tp==8`."""
    key, equals, value = entry.partition("=")
    if value.startswith("=") and key.startswith(("server.flags.", "speculative.")):
        return f"{key}=", "=", value[1:]
    return key, equals, value


def _edited(profiles: Profiles, name: str, path: Path, text: str) -> str:
    """The text after the person's editor; asked again as long as it does not hold together."""
    folder = Path(tempfile.mkdtemp(prefix="eagletui-"))
    draft = folder / f"{name}{ENDING}"
    draft.write_text(text, encoding="utf-8")
    while True:
        _open_editor(draft)
        try:
            text = text_of(draft)
            profiles.read(text, name=name, path=path)
        except ConfigError as error:
            SpokenError(error).show()
            if sys.stdin.isatty() and click.confirm("Edit again?", default=True, err=True):
                continue
            raise ConfigError(
                f"{name} was not saved.", advice=f"What was written is in {draft}."
            ) from error
        draft.unlink()
        folder.rmdir()
        return text


def _open_editor(path: Path) -> None:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        status = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode
    except (OSError, ValueError) as error:
        raise EagletuiError(
            f"The editor {editor} cannot be started: {error}.",
            advice="Export EDITOR, or change keys with --set and --remove.",
        ) from error
    if status != 0:
        raise EagletuiError(
            f"The editor {editor} ended with status {status}; nothing was changed.",
        )
