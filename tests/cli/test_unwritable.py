"""Every file that a command writes, refused in every way: the words follow the error."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from eagletui.cli.bench import _check_writable
from eagletui.cli.bench_out import OutFile
from eagletui.cli.run_export import write_export
from eagletui.model.errors import EagletuiError
from eagletui.model.refused import to_write
from eagletui.store.recording.codec import About
from eagletui.store.recording.writer import Writer


def _out(path: Path) -> None:
    OutFile(path, force=False)


def _export(path: Path) -> None:
    write_export(path, [b"x"], force=False)


def _record(path: Path) -> None:
    Writer(path, About(version="1", host="h", began=0.0, utc_offset=0))


WRITERS: tuple[Callable[[Path], None], ...] = (_out, _check_writable, _export, _record)
ERRORS = (
    errno.EACCES, errno.EROFS, errno.ENOENT, errno.ENOSPC, errno.EISDIR, errno.EDQUOT, errno.EIO,
)  # fmt: skip


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("number", ERRORS)
def test_what_is_advised_follows_the_error(
    write: Callable[[Path], None], number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def refuse(path: object, *rest: object, **named: object) -> int:
        if str(path).startswith(str(tmp_path)):
            raise OSError(number, os.strerror(number), str(path))
        return real(path, *rest, **named)  # type: ignore[arg-type]

    def refuse_opened(self: Path, *_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), str(self))

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(Path, "open", refuse_opened)
    with pytest.raises(EagletuiError) as caught:
        write(tmp_path / "file")
    monkeypatch.undo()
    assert os.strerror(number) in caught.value.what
    assert caught.value.advice == to_write(OSError(number, ""))


@pytest.mark.parametrize("write", WRITERS)
def test_a_folder_in_the_files_place_is_called_one(
    write: Callable[[Path], None], tmp_path: Path
) -> None:
    with pytest.raises(EagletuiError) as caught:
        write(tmp_path)
    assert "folder" in caught.value.sentences or "is there already" in caught.value.what
    assert "room" not in caught.value.advice


@pytest.mark.parametrize("write", [_out, _export, _record])
@pytest.mark.parametrize("leads", ["link", "nowhere"])
def test_a_link_that_leads_nowhere_is_there_and_stays(
    write: Callable[[Path], None], leads: str, tmp_path: Path
) -> None:
    """One that leads to itself as well."""
    link = tmp_path / "link"
    link.symlink_to(leads)
    with pytest.raises(EagletuiError) as caught:
        write(link)
    assert caught.value.what == f"{link} is there already."
    assert link.readlink() == Path(leads)
