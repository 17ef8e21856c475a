"""A profile file's text: a small ordinary file of UTF-8, whatever lies in the folder."""

from __future__ import annotations

from pathlib import Path

from eagletui.model.filekinds import other_kind
from eagletui.store.profiles.file import ProfileError

MOST_BYTES = 64 << 10
"""What no profile reaches: a whole launch with its environment has some 5 kB. Readers of TOML take
minutes over megabytes of keys."""


def text_of(path: Path) -> str:
    """The file's text, without the mark that some editors put before it.

    Raises:
        ProfileError: it is no such file, or cannot be read.
    """
    try:
        if kind := other_kind(path.stat().st_mode):
            raise ProfileError(
                f"this is {kind}, where a profile's file should be.",
                path=str(path),
                line=None,
                advice="Move it away, or give it a name that does not end in .toml.",
            )
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise ProfileError(
            "this is a link that leads nowhere." if path.is_symlink() else "the file is gone.",
            path=str(path),
            line=None,
        ) from error
    except OSError as error:
        raise ProfileError(
            f"the file cannot be read: {error.strerror}.", path=str(path), line=None
        ) from error
    if len(data) > MOST_BYTES:
        raise ProfileError(
            f"this is no profile: it is larger than {MOST_BYTES >> 10} kB.",
            path=str(path),
            line=None,
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ProfileError(
            "this is no text in UTF-8.", path=str(path), line=line, advice="Save it as UTF-8."
        ) from error
