"""What can lie in the profiles' folder in the place of a profile, and what is said of it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from eagletui.engine.flagwords import same_flag
from eagletui.model.errors import ConfigError
from eagletui.store.profiles.file import ProfileError
from eagletui.store.profiles.shelf import MOST_FILES, ProfileCycle, Profiles, TooManyParts
from eagletui.store.profiles.text import MOST_BYTES

SERVER = '[server]\nmodel = "m"\n'


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The person's folder, with one good profile in it."""
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "good.toml").write_text(SERVER)
    return folder


def profiles(own: Path) -> Profiles:
    shipped = own.parent / "shipped"
    shipped.mkdir(exist_ok=True)
    return Profiles((own, shipped), same_flag)


def problem(own: Path, name: str = "bad") -> str:
    """What is said of one profile; the good one beside it is listed all the same."""
    with pytest.raises(ConfigError) as caught:
        profiles(own).load(name)
    shelf = profiles(own).shelf()
    assert "good" in [shelved.profile.name for shelved in shelf.profiles]
    assert str(caught.value) in [str(error) for error in shelf.problems]
    said = str(caught.value)
    assert said.startswith(f"{own}{os.sep}")
    return said[len(f"{own}{os.sep}") :]


def a_folder(path: Path) -> None:
    path.mkdir()


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_loop(path: Path) -> None:
    path.symlink_to(path.name)


def a_link_to_nothing(path: Path) -> None:
    path.symlink_to("nowhere.toml")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (a_folder, "bad.toml: this is a folder, where a profile's file should be."),
        (a_pipe, "bad.toml: this is a pipe, where a profile's file should be."),
        (a_loop, "bad.toml: the file cannot be read: Too many levels of symbolic links."),
        (a_link_to_nothing, "bad.toml: this is a link that leads nowhere."),
    ],
)
def test_what_is_no_file(own: Path, make: Callable[[Path], None], said: str) -> None:
    make(own / "bad.toml")
    assert problem(own).partition("\n")[0] == said


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(own: Path) -> None:
    (own / "bad.toml").write_text(SERVER)
    (own / "bad.toml").chmod(0)
    assert problem(own) == "bad.toml: the file cannot be read: Permission denied."


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"[server]\nmodel = \"m\"\n\0\n", "bad.toml, line 3: this is no valid TOML"),
        (b"[server]\nmodel = \"\\u0000\"\n", "bad.toml, line 2: a text holds a NUL character"),
        (b"[server]\r\nport = 1\r\nmodle = \"m\"\r\n", "bad.toml, line 3: there is no key `modle`"),
        (b"[server]\rmodel = \"m\"\r", "bad.toml, line 1: this is no valid TOML"),
        ("[server]\nmodel = \"größe\"\n".encode("latin-1"), "bad.toml, line 2: this is no text"),
        (b"\xff\xfe[\0s\0", "bad.toml, line 1: this is no text in UTF-8."),
        (b"[server]\nport = " + b"9" * 5000, "bad.toml, line 2: this number is too long"),
        (b"a = " + b"[" * 9999 + b"]" * 9999, "bad.toml: brackets are nested too deeply."),
        (b"[server.flags]\na = " + b"{a=" * 900 + b"1" + b"}" * 900, "bad.toml: "),
        (b"[server.flags]\na = {" + b"a." * 990 + b"b=1}", "bad.toml"),
        (b"\n\na" + b".a" * 30_000 + b" = 1", "bad.toml, line 3: a line with more than 1000 dots"),
        (b"#" * (MOST_BYTES + 1), "bad.toml: this is no profile: it is larger than 64 kB."),
        (b"x = '" + b"y" * 10_000_000 + b"'", "bad.toml: this is no profile: it is larger"),
    ],
    ids=range(13),
)  # fmt: skip
def test_what_is_no_profile(own: Path, data: bytes, said: str) -> None:
    (own / "bad.toml").write_bytes(data)
    began = time.process_time()
    assert problem(own).startswith(said)
    assert time.process_time() - began < 5.0


def test_the_largest_file_is_read_and_in_time(own: Path) -> None:
    keys = "".join(f'V{number} = "1"\n' for number in range(4000))
    text = f"[environment]\n{keys}"
    (own / "large.toml").write_text(text + "#" * (MOST_BYTES - len(text)))
    began = time.process_time()
    assert len(profiles(own).load("large").environment) == 4000
    assert time.process_time() - began < 5.0


def test_the_mark_that_editors_put_before_utf_8_is_no_part_of_it(own: Path) -> None:
    (own / "marked.toml").write_bytes(b"\xef\xbb\xbf" + SERVER.encode())
    assert profiles(own).load("marked").server.model == "m"
    (own / "bad.toml").write_bytes(b"\xef\xbb\xbf[server]\nmodle = 1\n")
    assert problem(own).startswith("bad.toml, line 2: ")


@pytest.mark.parametrize("key", ["extends = 'bad'", "include = ['bad']"])
def test_a_profile_that_builds_on_itself(own: Path, key: str) -> None:
    (own / "bad.toml").write_text(f"title = 'x'\n{key}\n")
    said = problem(own)
    assert said.startswith(f"bad.toml, line 2: `{key.split()[0]}` names the profile itself")
    with pytest.raises(ProfileCycle):
        profiles(own).load("bad")


def test_a_ring_is_told_where_it_closes(own: Path) -> None:
    for name, base in (("one", "two"), ("two", "three"), ("three", "one")):
        (own / f"{name}.toml").write_text(f"extends = '{base}'\n")
    assert "one → two → three → one" in problem(own, "one")


def test_a_chain_too_long_and_a_bush_too_wide_are_refused(own: Path) -> None:
    (own / "c0.toml").write_text(SERVER)
    (own / "b0.toml").write_text(SERVER)
    for number in range(1, MOST_FILES + 1):
        (own / f"c{number}.toml").write_text(f"extends = 'c{number - 1}'\n")
        (own / f"b{number}.toml").write_text(f"include = ['b{number - 1}', 'b{number - 1}']\n")
    known = profiles(own)
    assert known.load(f"c{MOST_FILES - 1}").server.model == "m"
    for name in (f"c{MOST_FILES}", "b30", f"b{MOST_FILES}"):
        with pytest.raises(TooManyParts, match="line 1"):
            known.load(name)


def test_what_hides_a_shipped_one_is_told_and_not_passed_over(own: Path) -> None:
    known = profiles(own)
    shutil.copy(own / "good.toml", own.parent / "shipped" / "other.toml")
    assert known.load("other").server.model == "m"
    (own / "other.toml").symlink_to("nowhere")
    with pytest.raises(ProfileError, match="leads nowhere"):
        known.load("other")
