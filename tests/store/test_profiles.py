from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eagletui.engine.flagwords import same_flag
from eagletui.model.profile import Guard, Profile
from eagletui.store.profiles.file import ProfileError, read_profile
from eagletui.store.profiles.lines import key_lines
from eagletui.store.profiles.shelf import BaseMissing, ProfileCycle, ProfileNotFound, Profiles

BASE = """\
title = "Kimi"
note = '''
two lines
'''

[server]
model = "/models/Kimi-K2.5"
port = 30000

[server.flags]
tp-size = 8
trust-remote-code = true
mem-fraction-static = 0.85
cuda-graph-bs = [1, 2, 4]

[speculative]
algorithm = "EAGLE3"
draft-model-path = "/models/draft"
num-steps = 5

[environment]
NCCL_PROTO = "LL"
NCCL_ALGO = "Ring"
NCCL_MIN_NCHANNELS = 16
SGLANG_LOG_MS = 1

[guard]
drain-seconds = 5
roll-back = "always"
"""


class Folder:
    """Profiles that a test writes: the person's and ours."""

    def __init__(self, root: Path) -> None:
        self.own, self.ours = root / "own", root / "ours"
        self.own.mkdir()
        self.ours.mkdir()
        self.profiles = Profiles((self.own, self.ours), same_flag)

    def write(self, name: str, text: str, *, ours: bool = False) -> Path:
        path = (self.ours if ours else self.own) / f"{name}.toml"
        path.write_text(text, encoding="utf-8")
        return path

    def load(self, text: str, *over: str) -> Profile:
        self.write("x", text)
        return self.profiles.load("x", *over)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.write("base", BASE, ours=True)
    return made


def test_one_file_as_data(folder: Folder) -> None:
    profile = folder.profiles.load("base")
    assert (profile.name, profile.title, profile.note) == ("base", "Kimi", "two lines\n")
    assert profile.source == str(folder.ours / "base.toml")
    assert profile.server.flags == {
        "tp-size": 8,
        "trust-remote-code": True,
        "mem-fraction-static": 0.85,
        "cuda-graph-bs": ("1", "2", "4"),
    }
    assert profile.environment["NCCL_MIN_NCHANNELS"] == "16"
    assert profile.guard == Guard(drain_seconds=5.0, roll_back="always")


# --- what is wrong, and where ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[server]\nmodel = 'm'\nprot = 3\n", 3, ["`prot` in [server]", "`port`"]),
        ("titel = 'x'\n", 1, ["`titel`", "`title`"]),
        ("\n[servr]\nport = 1\n", 2, ["`servr`", "`server`"]),
        ("port = 3\n", 1, ["`port`", "belongs in [server]"]),
        ("[server]\ntp = 8\n", 2, ["`tp` in [server]", "[server.flags]"]),
        (
            "[server]\n# c\nport = '3'\n",
            3,
            ["`server.port`", "expected a whole number, got a text"],
        ),
        ("[server]\nport = 70000\n", 2, ["`server.port`", "65535"]),
        ("[server]\nport = true\n", 2, ["got true or false"]),
        ("server = 3\n", 1, ["`server`", "a table, got a whole number"]),
        ("[server]\nflags = 3\n", 2, ["`server.flags`", "a table"]),
        ("[server]\nrunner = 'k8s'\n", 2, ["'k8s'", "systemd"]),
        ("[server]\ncommand = 'x y'\n", 2, ["expected a list, got a text", "list of words"]),
        ("[server]\norder = [\n'tp']\n", 2, ['"tp"', '"--tp"']),
        ("[server.flags]\n--tp = 8\n", 2, ['"--tp"', "`tp`"]),
        ("[server.flags]\n'a b' = 8\n", 2, ['"a b"', "letters"]),
        ("[server.flags]\nx = 2020-01-01\n", 2, ["`server.flags.x`", "got a date"]),
        ("[server.flags]\nx = []\n", 2, ["`x`", "empty"]),
        ("[server.flags]\nx = [[1]]\n", 2, ["got a list"]),
        ("[server.flags.x]\ny = 1\n", 1, ["got a table"]),
        ("[server.flags]\nx = 'a\\u0000b'\n".replace("'", '"'), 2, ["NUL"]),
        ("[speculative]\nspeculative-num-steps = 2\n", 2, ["repeats", "`num-steps`"]),
        ("[speculative]\nnum-steps = 2\noff = true\n", 3, ["switched off", "off = true"]),
        ("[speculative]\noff = 1\n", 2, ["true or false, got a whole number"]),
        ("[environment]\nNCCL_PROTO = true\n", 2, ["`environment.NCCL_PROTO`", "true or false"]),
        ("[environment]\n'A-B' = 'x'\n", 2, ['"A-B"', "underscores"]),
        ("[environment.NCCL]\nPROTO = 'LL'\n", 1, ["`environment.NCCL`", "got a table"]),
        ("[guard]\nread_only = true\n", 2, ["`read_only` in [guard]", "`read-only`"]),
        ("[guard]\nstop-seconds = -1\n", 2, ["`guard.stop-seconds`", ">= 0"]),
        ("[guard]\nstop-seconds = inf\n", 2, ["`guard.stop-seconds`", "604800"]),
        ("[guard]\nroll-back = 'yes'\n", 2, ["'yes'", '"ask"']),
        ("include = 'a'\n", 1, ["`include`", "expected a list", '["A", "B"]']),
        ("extends = ['a']\n", 1, ["`extends`", "expected a text", "include"]),
        ("extends = '../a'\n", 1, ['"../a"', "without folder"]),
        ("unset = ['--a b']\n", 1, ['"--a b"']),
        ("title = 'x'\n\nport 3\n", 3, ["no valid TOML"]),
        ("a = " + "[" * 5000, None, ["x.toml"]),
    ],
)
def test_a_wrong_file_says_where_and_what_is_right(
    text: str, line: int | None, words: list[str]
) -> None:
    with pytest.raises(ProfileError) as error:
        read_profile(text, name="x", path="/p/x.toml")
    said = f"{error.value.what} {error.value.advice}"
    assert error.value.line == line or "[[[" in text
    assert said.startswith(f"/p/x.toml, line {line}: " if line else "/p/x.toml")
    for word in words:
        assert word in said


PIECES = st.sampled_from(
    ["[server]", "[server.flags]", "[speculative]", "[guard]", "[[x]]", "port", "a.b", "'q r'", "=",
     "1", "true", '"t"', "[", "]", "{", "}", ",", "\n", "# c\n", '"""', "'''", "\\", "\r\n", "é",
     "off", "include", "unset", "['x']", "1979-05-27", "inf", " "]
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=40))
def test_any_text_is_a_profile_or_an_error_with_words(text: str) -> None:
    lines: list[int | None] = []
    try:
        lines += read_profile(text, name="x", path="x.toml").lines.values()
    except ProfileError as error:
        lines.append(error.line)
    assert all(line is None or 1 <= line <= text.count("\n") + 1 for line in lines)


def test_lines_of_keys_in_all_spellings() -> None:
    text = (
        "a = 1 # [b]\n'q.u' = \"x # y\"\n\n[t . \"k e\\ty\"]\nm = '''\n[no]\nn = 1'''\nd.e = [\n"
        '  1, # ]\n  \'[\',\n]\nz = { i = \'}\', j = 2 }\r\n[[arr]]\nlast = """x\\"""""\nend=1'
    )
    assert key_lines(text) == {
        ("a",): 1,
        ("q.u",): 2,
        ("t", "k e\ty"): 4,
        ("t", "k e\ty", "m"): 5,
        ("t", "k e\ty", "d", "e"): 8,
        ("t", "k e\ty", "z"): 12,
        ("arr",): 13,
        ("arr", "last"): 14,
        ("arr", "end"): 15,
    }


def test_a_broken_file_hides_no_other(folder: Folder) -> None:
    folder.write("bad", "[server]\nprot = 1\n")
    folder.write("orphan", '\nextends = "bse"\n')
    (folder.own / "latin.toml").write_bytes(b"title = 'x'\nnote = '\xe4'\n")
    folder.write("no name", "")
    folder.write("fine", 'title = "fine"\n')
    shelf = folder.profiles.shelf()
    assert [(row.profile.name, row.shipped) for row in shelf.profiles] == [
        ("base", True),
        ("fine", False),
    ]
    assert [row.parts for row in shelf.profiles] == [
        ("server", "speculative", "environment", "guard"),
        (),
    ]
    said = "\n".join(str(problem) for problem in shelf.problems)
    assert len(shelf.problems) == 4
    assert "no profile can be called 'no name'" in said
    assert "bad.toml, line 2" in said
    assert "latin.toml, line 2: this is no text in UTF-8" in said
    assert "orphan.toml, line 2: `extends` names bse" in said
    assert "Did you mean base?" in said


def test_an_unknown_name_suggests_the_nearest(folder: Folder) -> None:
    with pytest.raises(ProfileNotFound) as error:
        folder.profiles.load("bsae")
    assert error.value.advice == "Did you mean base?"
    with pytest.raises(ProfileNotFound):
        folder.profiles.load("../ours/base")


def test_a_ring_is_told_with_its_names(folder: Folder) -> None:
    folder.write("a", 'title = "a"\nextends = "b"\n')
    folder.write("b", 'include = ["c"]\n')
    folder.write("c", 'extends = "a"\n')
    with pytest.raises(ProfileCycle, match="a → b → c → a") as error:
        folder.profiles.load("a")
    assert (Path(error.value.path).name, error.value.line) == ("c.toml", 1)
    folder.write("d", 'extends = "d"\n')
    with pytest.raises(ProfileCycle, match="names the profile itself"):
        folder.profiles.load("d")
    folder.write("e", 'extends = "nobody"\n')
    with pytest.raises(BaseMissing, match="names nobody"):
        folder.profiles.load("e")


# --- layers ---------------------------------------------------------------------------------------


def test_the_order_is_base_then_parts_then_own_keys(folder: Folder) -> None:
    folder.write("p1", "[environment]\nA = '1'\nB = '1'\nC = '1'\n")
    folder.write("p2", "[environment]\nB = '2'\nC = '2'\n")
    text = (
        "extends = 'base'\ninclude = ['p1', 'p2']\n[environment]\nC = '3'\nNCCL_PROTO = 'Simple'\n"
    )
    profile = folder.load(text)
    environment = profile.environment
    assert [environment[name] for name in ("A", "B", "C")] == ["1", "2", "3"]
    assert environment["NCCL_PROTO"] == "Simple"
    assert (profile.server.model, profile.title) == ("/models/Kimi-K2.5", "")


def test_a_flag_replaces_any_spelling_of_itself_in_its_place(folder: Folder) -> None:
    profile = folder.load("extends = 'base'\n[server.flags]\ntp = 4\nnew = 'x'\n")
    assert list(profile.server.flags.items()) == [
        ("tp", 4),
        ("trust-remote-code", True),
        ("mem-fraction-static", 0.85),
        ("cuda-graph-bs", ("1", "2", "4")),
        ("new", "x"),
    ]


def test_model_and_port_are_one_with_their_flags(folder: Folder) -> None:
    flags = folder.load("extends = 'base'\n[server.flags]\n'port=' = 4\nmodel = 'other'\n")
    assert (flags.server.model, flags.server.port) == ("", None)
    assert (flags.server.flags["port="], flags.server.flags["model"]) == (4, "other")
    folder.write("flags", "extends = 'base'\n[server.flags]\n'port=' = 4\nmodel = 'other'\n")
    keys = folder.load("extends = 'flags'\n[server]\nport = 5\nmodel = 'm'\n")
    assert (keys.server.model, keys.server.port) == ("m", 5)
    assert not {"model", "port="} & set(keys.server.flags)


def test_false_takes_a_switch_away(folder: Folder) -> None:
    profile = folder.load("extends = 'base'\n[server.flags]\ntrust_remote_code = false\n")
    assert "trust-remote-code" not in profile.server.flags
    assert "trust_remote_code" not in profile.server.flags


def test_unset_removes_flags_and_variables_before_own_keys(folder: Folder) -> None:
    profile = folder.load(
        "extends = 'base'\n"
        "unset = ['--tp', '--speculative-num*', 'NCCL_*', '--port', '--nothing']\n"
        "[environment]\nNCCL_DEBUG = 'INFO'\n"
    )
    assert "tp-size" not in profile.server.flags
    assert list(profile.speculative.flags) == ["algorithm", "draft-model-path"]
    assert profile.environment == {"SGLANG_LOG_MS": "1", "NCCL_DEBUG": "INFO"}
    assert profile.server.port is None


def test_unset_of_a_part_reaches_what_it_is_laid_over(folder: Folder) -> None:
    folder.write("clean", "unset = ['NCCL_*']\n")
    assert folder.load("extends = 'base'\ninclude = ['clean']\n").environment == {
        "SGLANG_LOG_MS": "1"
    }


def test_off_and_on_again(folder: Folder) -> None:
    folder.write("off", "[speculative]\noff = true\n")
    folder.write("chain", "[speculative]\nnum-steps = 2\n")
    off = folder.profiles.load("base", "off")
    assert (off.speculative.off, off.speculative.flags, off.name) == (True, {}, "base+off")
    assert (off.title, off.source) == ("Kimi", str(folder.ours / "base.toml"))
    again = folder.profiles.load("base+off", "chain")
    assert again == folder.profiles.load("base+off+chain")
    assert (again.speculative.off, again.speculative.flags) == (False, {"num-steps": 2})
    chain = folder.profiles.load("base", "chain")
    assert chain.speculative.flags["num-steps"] == 2
    assert chain.speculative.flags["draft-model-path"] == "/models/draft"


def test_a_file_of_the_person_may_extend_the_one_it_hides(folder: Folder) -> None:
    folder.write("base", "extends = 'base'\n[server]\nport = 30009\n")
    profile = folder.profiles.load("base")
    assert (profile.server.port, profile.server.model) == (30009, "/models/Kimi-K2.5")
    assert not folder.profiles.shipped("base")


def test_a_limit_can_be_taken_away(folder: Folder) -> None:
    folder.write("limited", "[guard]\nstart-seconds = 600\nprotected = true\n")
    assert folder.profiles.load("limited").guard.start_seconds == 600.0
    profile = folder.load("extends = 'limited'\n[guard]\nstart-seconds = 'none'\n")
    assert profile.guard == Guard(protected=True)
